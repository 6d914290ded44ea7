// Runs the system's git to create the demo's repository. The controller does not use this file.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { CommandFailure } from '../command-failure.ts';

const TIMEOUT_MS = 60_000;
const OUTPUT_BYTES_MAX = 1024 * 1024;

/** The demo's commits must not depend on how the user has set up git. */
const ENVIRONMENT = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Treeline demo',
  GIT_AUTHOR_EMAIL: 'demo@treeline.example',
  GIT_COMMITTER_NAME: 'Treeline demo',
  GIT_COMMITTER_EMAIL: 'demo@treeline.example',
  GIT_TERMINAL_PROMPT: '0',
};

/** Runs git and returns what it printed. Throws CommandFailure with git's own words. */
export async function git(...args: readonly string[]): Promise<string> {
  try {
    const options = { env: { ...process.env, ...ENVIRONMENT }, timeout: TIMEOUT_MS, maxBuffer: OUTPUT_BYTES_MAX };
    const { stdout } = await promisify(execFile)('git', args, options);
    return stdout.trim();
  } catch (error) {
    throw new CommandFailure(`the demo needs git, and this failed: git ${args.join(' ')}\n${wordsOf(error)}`);
  }
}

function wordsOf(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'stderr' in error && error.stderr !== '')
    return String(error.stderr).trim();
  return String(error);
}
