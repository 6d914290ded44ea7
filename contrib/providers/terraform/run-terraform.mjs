// Runs the program terraform in the copy of a server's module. A run that fails ends the call as `retryable`, with what
// Terraform said.
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CallFailure } from '../exec-call/call-failure.mjs';
import { findProgram, USUAL_PATH } from '../exec-call/environment.mjs';
import { takeLock } from '../exec-call/file-lock.mjs';

/**
 * @typedef {import('./server-folder.mjs').ServerFolder} ServerFolder
 * @typedef {object} Workspace
 * @property {ServerFolder} folder
 * @property {string} copy the folder of the module's copy
 * @property {number} lockFd the server's lock
 * @property {number} deadline milliseconds since 1970
 */

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const MESSAGE_CHARACTERS = 2_000;
const INITIALISED = '.treeline-initialised';

/**
 * Makes Terraform install what the module needs, once for each copy of a module.
 * @param {Workspace} workspace
 */
export async function initialise(workspace) {
  const marker = join(workspace.copy, INITIALISED);
  if (existsSync(marker)) return;
  // The cache of plugins must not be written by two runs at once.
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
 * Runs Terraform and returns what it printed. At the deadline it is interrupted, as with Ctrl-C: it finishes what it has
 * begun where it can, and saves its state. Throws CallFailure `retryable` where it fails.
 * @param {Workspace} workspace
 * @param {readonly string[]} args
 * @returns {Promise<{ readonly stdout: string }>}
 */
export async function runTerraform({ folder, copy, lockFd, deadline }, args) {
  if (Date.now() >= deadline) throw new CallFailure('retryable', `no time was left for terraform ${args[0]}`);
  const program = process.env.TREELINE_TERRAFORM_PROGRAM || findProgram('terraform');
  const child = spawn(program, args, {
    cwd: copy,
    env: environmentFor(folder),
    stdio: ['ignore', 'pipe', 'pipe', lockFd],
  });
  let isInterrupted = false;
  const timer = setTimeout(() => {
    isInterrupted = true;
    child.kill('SIGINT');
  }, deadline - Date.now());
  const [stdout, stderr, end] = await Promise.all([
    readAll(child.stdout),
    readAll(child.stderr),
    endOf(child).finally(() => clearTimeout(timer)),
  ]);
  if (end === 0) return { stdout };
  const reason = isInterrupted ? 'was interrupted at the deadline' : `ended with ${end}`;
  throw new CallFailure('retryable', `terraform ${args[0]} ${reason}: ${firstErrorIn(stderr || stdout)}`);
}

/**
 * What the entry sets, and what Terraform needs beside it to run without a person.
 * @param {ServerFolder} folder
 */
function environmentFor({ path, pluginCache }) {
  const defaults = { PATH: USUAL_PATH, HOME: path, CHECKPOINT_DISABLE: '1', TF_PLUGIN_CACHE_DIR: pluginCache };
  return { ...defaults, ...process.env, TF_IN_AUTOMATION: '1', TF_INPUT: '0' };
}

/** @param {import('node:child_process').ChildProcess} child */
function endOf(child) {
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new CallFailure('failed', `terraform cannot be started: ${error.message}`)));
    child.once('exit', (code, signal) => resolve(code ?? signal));
  });
}

/** @param {import('node:stream').Readable | null} stream */
async function readAll(stream) {
  if (stream === null) return '';
  let text = '';
  stream.setEncoding('utf8');
  for await (const part of stream) {
    text += part;
    if (text.length > OUTPUT_BYTES_MAX) throw new CallFailure('retryable', 'terraform printed more than 64 MiB');
  }
  return text;
}

/** @param {string} text */
function firstErrorIn(text) {
  const start = Math.max(text.indexOf('Error:'), 0);
  return text.slice(start, start + MESSAGE_CHARACTERS).trim();
}
