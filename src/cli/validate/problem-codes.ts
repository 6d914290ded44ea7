// Reads the table of all problem codes, schemas/problem-codes.json. docs/problems.md and `treeline validate --explain`
// are written from it, and the type ProblemCode is derived from it.
import table from '../../../schemas/problem-codes.json' with { type: 'json' };
import type { ProblemCode } from '../../model/problem.ts';

/**
 * The lines of a file in an example; lines that stand for a file that is too long to print; a link; or null for no
 * file.
 */
export type ExampleFile =
  | readonly string[]
  | null
  | { readonly shown: readonly string[] }
  | { readonly linkTo: string };

/** Files by path, laid over {@link EXAMPLE_REPOSITORY}. */
export type ExampleFiles = Readonly<Record<string, ExampleFile>>;

/** An example that a test runs: `wrong` gives the code, `right` does not. */
export interface RunExample {
  /** Files of the commit before, where the code compares two commits. */
  readonly before?: ExampleFiles;
  /** Files that stand beside both. */
  readonly beside?: ExampleFiles;
  readonly wrong: ExampleFiles;
  readonly right: ExampleFiles;
}

/** An example in words, where files alone do not bring the code about. */
export interface ToldExample {
  readonly wrong: string;
  readonly right: string;
}

/** The description of a problem code. */
export interface CodeEntry {
  /** `either`: the severity depends on the case, and `meaning` says on which. */
  readonly severity: 'error' | 'warning' | 'either';
  /** The code always holds the whole commit. */
  readonly isWholeCommit?: true;
  /** One sentence without its full stop, in Markdown. */
  readonly meaning: string;
  /** The correction: one sentence without its full stop, in Markdown. */
  readonly remedy: string;
  readonly example: RunExample | ToldExample;
}

/** Codes with a common heading in docs/problems.md. */
export interface CodeGroup {
  readonly heading: string;
  /** A paragraph below the heading. */
  readonly intro?: string;
  readonly codes: Readonly<Record<string, CodeEntry>>;
}

// A test checks every entry of the file: JSON has neither literal types nor absent fields.
const GROUPS = table.groups as unknown as Readonly<Record<keyof typeof table.groups, CodeGroup>>;

/** The groups in the order of docs/problems.md. */
export const CODE_GROUPS: readonly CodeGroup[] = Object.values(GROUPS);

/** All codes with their descriptions. */
export const PROBLEM_CODES = Object.assign({}, ...CODE_GROUPS.map(({ codes }) => codes)) as Readonly<
  Record<ProblemCode, CodeEntry>
>;

/** The codes of the operator's settings: no file of a stacks repository gives them. */
export const SETTINGS_CODES: readonly string[] = Object.keys(GROUPS.settings.codes);

/** A small repository without a problem, as the lines of its files. Every example changes files of it. */
export const EXAMPLE_REPOSITORY: Readonly<Record<string, readonly string[]>> = table.repository;

/** Returns true for a code of the table. */
export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEM_CODES, code);
}

/** Returns true if a test can run the example. */
export function isRunExample(example: RunExample | ToldExample): example is RunExample {
  return typeof example.wrong !== 'string';
}
