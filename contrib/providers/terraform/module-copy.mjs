// Chooses the module of a server and copies it. A server is checked and destroyed with the copy that made it, even if
// the operator has changed the original.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { CallFailure } from '../exec-call/call-failure.mjs';
import { requiredSetting } from '../exec-call/environment.mjs';

/**
 * @typedef {import('../exec-call/answer-call.mjs').Call} Call
 * @typedef {import('./server-folder.mjs').ServerFolder} ServerFolder
 * @typedef {{ readonly name: string, readonly path: string }} Module
 */

const FILES_MAX = 1_000;
const BYTES_MAX = 16 * 1024 * 1024;
const DIGEST_CHARACTERS = 16;
const DEFAULT_MODULE = 'default';
const MODULE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
/** Files that Terraform and Git leave in a module, for example after runs by hand. */
const NOT_COPIED = /^(\.terraform|\.git|.*\.tfstate(\..*)?|.*\.tfplan)$/;

/**
 * Returns the module that the property `shape`, or the one in TREELINE_TERRAFORM_MODULE_BY, names. Without this
 * property or module, returns the module `default`. Throws CallFailure `failed` if that does not exist either.
 * @param {Call} call
 * @returns {Module}
 */
export function moduleFor({ properties }) {
  const modules = requiredSetting('TREELINE_TERRAFORM_MODULES');
  if (!isAbsolute(modules)) throw new CallFailure('failed', `TREELINE_TERRAFORM_MODULES has to be an absolute path`);
  const property = process.env.TREELINE_TERRAFORM_MODULE_BY || 'shape';
  const value = properties[property];
  const named = value === undefined || value === '' ? DEFAULT_MODULE : String(value);
  const path = [named, DEFAULT_MODULE].map((name) => join(modules, name)).find((folder) => existsSync(folder));
  if (MODULE_NAME.test(named) && path !== undefined)
    return { name: path === join(modules, named) ? named : DEFAULT_MODULE, path };
  throw new CallFailure('failed', `there is no module "${named}" in ${modules}, and none called "${DEFAULT_MODULE}"`);
}

/**
 * Copies the module into the server's folder, unless it has a copy of this content. Returns the copy's folder.
 * @param {Module} module
 * @param {ServerFolder} folder
 * @returns {string}
 */
export function copyModule({ name, path }, { copies, state }) {
  const files = readModule(path);
  if (![...files.keys()].some((file) => /\.tf(\.json)?$/.test(file))) {
    throw new CallFailure('failed', `the module ${name} in ${path} has no files that end in .tf`);
  }
  // Each server has its own local state: this file overrides the module's backend.
  files.set(
    'treeline_override.tf.json',
    Buffer.from(JSON.stringify({ terraform: { backend: { local: { path: state } } } })),
  );
  const copy = join(copies, digestOf(files));
  if (existsSync(copy)) return copy;
  const draft = `${copy}.new`;
  rmSync(draft, { recursive: true, force: true });
  for (const [file, content] of files) {
    mkdirSync(dirname(join(draft, file)), { recursive: true, mode: 0o700 });
    writeFileSync(join(draft, file), content, { mode: 0o700, flush: true });
  }
  renameSync(draft, copy);
  return copy;
}

/**
 * @param {string} root
 * @returns {Map<string, Buffer>}
 */
function readModule(root) {
  const entries = readdirSync(root, { recursive: true, encoding: 'utf8' }).sort();
  const paths = entries.filter((path) => !path.split('/').some((part) => NOT_COPIED.test(part)));
  if (paths.length > FILES_MAX) throw new CallFailure('failed', `the module ${root} has more than ${FILES_MAX} files`);
  /** @type {Map<string, Buffer>} */
  const files = new Map();
  let bytes = 0;
  for (const path of paths) {
    const stat = statSync(join(root, path));
    if (!stat.isFile()) continue;
    bytes += stat.size;
    if (bytes > BYTES_MAX) throw new CallFailure('failed', `the module ${root} is larger than ${BYTES_MAX} bytes`);
    files.set(path, readFileSync(join(root, path)));
  }
  return files;
}

/** @param {ReadonlyMap<string, Buffer>} files */
function digestOf(files) {
  const hash = createHash('sha256');
  for (const [path, content] of files) hash.update(`${path}\0${content.length}\0`).update(content);
  return hash.digest('hex').slice(0, DIGEST_CHARACTERS);
}
