// Reads the table of all problem codes, schemas/problem-codes.json. It is the source of docs/problems.md, `treeline
// validate --explain` and the type ProblemCode.
import table from '../../../schemas/problem-codes.json' with { type: 'json' };
import type { ProblemCode } from '../../model/problem.ts';

/** Files by path: their lines; lines of a longer file; a link; null: no file. */
export type ExampleFiles = Readonly<
  Record<string, readonly string[] | { readonly shown: readonly string[] } | { readonly linkTo: string } | null>
>;

/** The description of a problem code. */
export interface CodeEntry {
  /** `either`: the severity depends on the case, which `meaning` describes. */
  readonly severity: 'error' | 'warning' | 'either';
  /** The code always holds the whole commit. */
  readonly isWholeCommit?: true;
  /** One sentence in Markdown without its full stop, like `remedy`. */
  readonly meaning: string;
  readonly remedy: string;
  readonly example: RunExample | { readonly wrong: string; readonly right: string };
}

/** An example that a test runs: `wrong` produces the code, `right` does not. */
export interface RunExample {
  /** Files of the earlier commit, if the code compares two commits. */
  readonly before?: ExampleFiles;
  /** Further files of both. */
  readonly beside?: ExampleFiles;
  readonly wrong: ExampleFiles;
  readonly right: ExampleFiles;
}

/** Codes with a common heading in docs/problems.md; `intro` is a paragraph below the heading. */
interface CodeGroup {
  readonly heading: string;
  readonly intro?: string;
  readonly codes: Readonly<Record<string, CodeEntry>>;
}

/** The groups in the order of docs/problems.md. A test checks every entry: JSON has no literal types. */
export const CODE_GROUPS = Object.values(table.groups) as unknown as readonly CodeGroup[];

/** All codes with their descriptions. */
export const PROBLEM_CODES = Object.assign({}, ...CODE_GROUPS.map(({ codes }) => codes)) as Readonly<
  Record<ProblemCode, CodeEntry>
>;

/** Returns true for a code of the table. */
export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEM_CODES, code);
}

/** Returns true if a test can run the example. */
export function isRunExample(example: CodeEntry['example']): example is RunExample {
  return typeof example.wrong !== 'string';
}
