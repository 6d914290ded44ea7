// The type of a rule about the sources, and the text of its findings.
import type { SourceFile } from './source-file.ts';

/** One place that breaks a rule. */
export interface Finding {
  readonly path: string;
  readonly line: number;
  /** What is there, as the beginning of a sentence: `imports src/store/lock.ts`. */
  readonly what: string;
}

export interface Rule {
  /** As the title of a test. */
  readonly title: string;
  /** What to do where it is broken. */
  readonly instead: string;
  readonly find: (files: readonly SourceFile[]) => Iterable<Finding>;
}

/** Returns a rule that looks at one file at a time. */
export function ruleOfFile(
  rule: Omit<Rule, 'find'> & { readonly find: (file: SourceFile) => Iterable<Finding> },
): Rule {
  return { ...rule, find: (files) => files.flatMap((file) => [...rule.find(file)]) };
}

/** Returns a line for every place that breaks the rule; empty where none does. */
export function broken(rule: Rule, files: readonly SourceFile[]): readonly string[] {
  return [...rule.find(files)].map(({ path, line, what }) => `${path}:${line} ${what}. Instead: ${rule.instead}`);
}
