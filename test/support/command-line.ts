// Runs commands as an operator would, in a process of their own, and tells how they ended.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { isOnPath } from '../../src/base/on-path.ts';

const TIMEOUT_MS = 60_000;
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;

export interface ProcessResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** The working directory; default: the root folder. In the root of the repository, commands would find a demo that runs there. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The command is ended after this time. */
  readonly timeoutMs?: number;
}

/** The root of the repository. */
export const ROOT = join(import.meta.dirname, '..', '..');
/** The program as it is in the repository. */
export const SOURCE = `${ROOT}/src/cli.js`;
/** Where this user keeps what is made of the sources, as the program does. */
export const CACHE = `${ROOT}/node_modules/.cache-${process.getuid?.()}`;
/** The same in few files, which starts faster. See bundle-once.ts. */
export const BUNDLED = `${CACHE}/bundled/cli.js`;

const PRETENDED = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.1.0' } });`;
/** A module to import first, after which Node gives itself out for an old one. */
export const OLD_NODE = `data:text/javascript,${encodeURIComponent(PRETENDED)}`;

/**
 * Runs a program and resolves when it has ended, whatever its exit code; -1 where a signal ended it. What npm told the
 * tests in the environment is not passed on. Rejects where the program cannot be started.
 */
export function run(
  file: string,
  args: readonly string[],
  { cwd = '/', env = {}, timeoutMs = TIMEOUT_MS }: RunOptions = {},
): Promise<ProcessResult> {
  const options = {
    cwd,
    env: { ...plainEnvironment(), ...env },
    timeout: timeoutMs,
    maxBuffer: OUTPUT_BYTES_MAX,
  };
  return new Promise((resolve, reject) => {
    execFile(file, args, options, (error, stdout, stderr) => {
      if (typeof error?.code === 'string') reject(error);
      else resolve({ code: exitCodeOf(error), stdout, stderr });
    });
  });
}

/** Returns the environment of an operator's own shell: without what npm and the tests have added, but for the compile cache. */
export function plainEnvironment(): Record<string, string | undefined> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|INIT_CWD|TREELINE_|VITEST|NODE_(?!COMPILE_CACHE))/.test(name),
  );
  return Object.fromEntries(inherited);
}

function exitCodeOf(error: { readonly code?: unknown } | null): number {
  if (error === null) return 0;
  return typeof error.code === 'number' ? error.code : -1;
}

/** Runs `treeline` on the Node that runs the tests. */
export function treeline(args: readonly string[], options?: RunOptions): Promise<ProcessResult> {
  return run(process.execPath, [BUNDLED, ...args], options);
}

/** Returns the end of the title of tests that need programs of a Debian package: why they are skipped; empty where they are not. */
export function skippedWithout(debianPackage: string, ...programs: readonly string[]): string {
  const missing = programs.find((program) => !isOnPath(program));
  if (missing === undefined) return '';
  return ` (skipped: ${missing} is not installed here; Debian: apt-get install ${debianPackage})`;
}
