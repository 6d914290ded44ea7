// Runs the program terraform in the copy of a server's module. A failed run ends the call as `retryable`.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CallFailure } from '../exec-call/call-failure.mjs';
import { findProgram, USUAL_PATH } from '../exec-call/environment.mjs';
import { takeLock } from '../exec-call/file-lock.mjs';
import { runProgram } from '../exec-call/run-program.mjs';

/**
 * @typedef {import('./server-folder.mjs').ServerFolder} ServerFolder
 * @typedef {object} Workspace
 * @property {ServerFolder} folder
 * @property {string} copy the folder of the module's copy
 * @property {number} lockFd the server's lock
 * @property {number} deadline milliseconds since 1970
 */

const MESSAGE_CHARACTERS = 2_000;
const INITIALISED = '.treeline-initialised';

/**
 * Runs `terraform init` once for each copy of a module.
 * @param {Workspace} workspace
 */
export async function initialise(workspace) {
  const marker = join(workspace.copy, INITIALISED);
  if (existsSync(marker)) return;
  // Two runs at once would damage Terraform's cache of plugins.
  const lock = await takeLock(workspace.folder.initialiseLock, workspace.deadline);
  if (lock === undefined) throw new CallFailure('retryable', 'another server is being initialised');
  try {
    const plugins = process.env.TREELINE_TERRAFORM_PLUGINS;
    const options = plugins === undefined ? [] : [`-plugin-dir=${plugins}`];
    await runTerraform(workspace, ['init', '-input=false', '-no-color', ...options]);
  } finally {
    lock.release();
  }
  writeFileSync(marker, '');
}

/**
 * Runs Terraform and returns its output. At the deadline it is interrupted as with Ctrl-C: it finishes the running step
 * if it can, and saves its state. Throws CallFailure `retryable` if Terraform fails.
 * @param {Workspace} workspace
 * @param {readonly string[]} args
 * @returns {Promise<{ readonly stdout: string }>}
 */
export async function runTerraform({ folder, copy, lockFd, deadline }, args) {
  const { end, stdout, stderr, isLate } = await runProgram(
    process.env.TREELINE_TERRAFORM_PROGRAM || findProgram('terraform'),
    args,
    { deadline, lockFd, environment: environmentFor(folder), folder: copy, signal: 'SIGINT' },
  );
  if (end === 0) return { stdout };
  const reason = isLate ? 'was interrupted at the deadline' : `ended with ${end}`;
  throw new CallFailure('retryable', `terraform ${args[0]} ${reason}: ${firstErrorIn(stderr || stdout)}`);
}

/**
 * Returns the entry's variables, and those that Terraform needs to run without an operator.
 * @param {ServerFolder} folder
 */
function environmentFor({ path, pluginCache }) {
  const defaults = { PATH: USUAL_PATH, HOME: path, CHECKPOINT_DISABLE: '1', TF_PLUGIN_CACHE_DIR: pluginCache };
  return { ...defaults, ...process.env, TF_IN_AUTOMATION: '1', TF_INPUT: '0' };
}

/** @param {string} text */
function firstErrorIn(text) {
  const start = Math.max(text.indexOf('Error:'), 0);
  return text.slice(start, start + MESSAGE_CHARACTERS).trim();
}
