// The one table of all problem codes. docs/problems.md and `treeline validate --explain` are written from it.
import { ACROSS_CODES } from './problem-codes/across-codes.ts';
import type { CodeEntry, CodeGroup } from './problem-codes/code-entry.ts';
import { FIELD_CODES } from './problem-codes/field-codes.ts';
import { FILE_CODES } from './problem-codes/file-codes.ts';
import { NODE_CODES } from './problem-codes/node-codes.ts';
import { SETTINGS_CODES } from './problem-codes/settings-codes.ts';
import { STACK_CODES } from './problem-codes/stack-codes.ts';
import { TREE_CODES } from './problem-codes/tree-codes.ts';
import { YAML_CODES } from './problem-codes/yaml-codes.ts';

const TABLE = {
  ...FILE_CODES.codes,
  ...YAML_CODES.codes,
  ...FIELD_CODES.codes,
  ...TREE_CODES.codes,
  ...STACK_CODES.codes,
  ...NODE_CODES.codes,
  ...ACROSS_CODES.codes,
  ...SETTINGS_CODES.codes,
};

/** A code of a problem: stable, snake_case. Another one does not compile. */
export type ProblemCode = keyof typeof TABLE;

/** All codes with their descriptions. */
export const PROBLEM_CODES: Readonly<Record<ProblemCode, CodeEntry>> = TABLE;

/** The groups in the order of docs/problems.md. */
export const CODE_GROUPS: readonly CodeGroup<Readonly<Record<string, CodeEntry>>>[] = [
  FILE_CODES,
  YAML_CODES,
  FIELD_CODES,
  TREE_CODES,
  STACK_CODES,
  NODE_CODES,
  ACROSS_CODES,
  SETTINGS_CODES,
];

/** Returns true for a code of the table. */
export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEM_CODES, code);
}
