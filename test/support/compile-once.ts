// Compiles the program once before the first test, so that every process which tests start finds its compiled form. Those
// that are killed would not leave theirs behind, and in a fresh clone each one would compile the program again.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { ROOT } from './command-line.ts';

/** The folder in which Node keeps compiled modules during the tests. */
export const COMPILED = `${ROOT}/node_modules/.cache/compiled`;

/** Compiles the program unless this Node has done so already. Vitest calls it before the first test. */
export function setup(): void {
  const isCompiled = existsSync(COMPILED) && readdirSync(COMPILED).some((name) => name.startsWith(process.version));
  if (isCompiled) return;
  // The help loads every command.
  const env = { ...process.env, NODE_COMPILE_CACHE: COMPILED };
  execFileSync(process.execPath, [`${ROOT}/src/cli.js`, '--help'], { env, stdio: 'ignore' });
}
