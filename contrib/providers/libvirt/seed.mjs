// Makes the seed of a machine: a disk with the label `cidata`, with the machine's certificate and the address of
// Treeline. It has the files of cloud-init's NoCloud, and a file for each value, for images without cloud-init.
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CallFailure } from '../exec-call/call-failure.mjs';
import { findProgram } from '../exec-call/environment.mjs';
import { runProgram } from '../exec-call/run-program.mjs';
import { fill } from './domain-xml.mjs';
import { seedOf } from './hypervisor.mjs';

const BYTES_MAX = 1024 * 1024;
const FILE_MODE = 0o600;
/** These programs take the same further arguments. */
const WRITERS = [
  { program: 'xorriso', first: ['-as', 'mkisofs'] },
  { program: 'genisoimage', first: [] },
  { program: 'mkisofs', first: [] },
];

/**
 * Replaces the seed in the pool by one with the current certificate and address. The machine must not run.
 * @param {import('./hypervisor.mjs').Hypervisor} hypervisor
 * @param {{ readonly name: string, readonly uuid: string, readonly folder: string }} machine `folder`: of its calls
 * @returns {Promise<string>} its path
 */
export async function provideSeed(hypervisor, { name, uuid, folder }) {
  const files = join(folder, 'seed');
  const image = join(folder, 'seed.iso');
  try {
    writeFiles(files, seedFiles(name, uuid));
    await writeImage(hypervisor, image, files);
    if ((await hypervisor.volume(hypervisor.pool, seedOf(name))) !== undefined) {
      await hypervisor.run('vol-delete', seedOf(name), '--pool', hypervisor.pool);
    }
    const size = `${statSync(image).size}B`;
    await hypervisor.run('vol-create-as', hypervisor.pool, seedOf(name), size, '--format', 'raw');
    await hypervisor.run('vol-upload', seedOf(name), image, '--pool', hypervisor.pool);
  } finally {
    rmSync(files, { recursive: true, force: true });
    rmSync(image, { force: true });
  }
  const volume = await hypervisor.volume(hypervisor.pool, seedOf(name));
  return volume?.path ?? '';
}

/**
 * @param {string} name
 * @param {string} uuid
 * @returns {Readonly<Record<string, string>>}
 */
function seedFiles(name, uuid) {
  const template = process.env.TREELINE_LIBVIRT_USER_DATA || join(import.meta.dirname, 'user-data.yaml');
  const values = { name, url: process.env.TREELINE_LIBVIRT_URL ?? '', ...certificateOf(name) };
  const { ca, cert, key, url } = values;
  return {
    'user-data': fill(readFileSync(template, 'utf8'), values, JSON.stringify),
    'meta-data': `instance-id: ${JSON.stringify(uuid)}\nlocal-hostname: ${JSON.stringify(name)}\n`,
    ...{ name, url, 'ca.crt': ca, 'node.crt': cert, 'node.key': key },
  };
}

/**
 * Returns the files that `treeline client new NAME --node NAME` has made; empty texts if the entry names no folder.
 * Throws CallFailure `retryable` if a file does not exist yet.
 * @param {string} name
 */
function certificateOf(name) {
  const folder = process.env.TREELINE_LIBVIRT_CERTIFICATES;
  if (folder === undefined || folder === '') return { ca: '', cert: '', key: '' };
  const [ca = '', cert = '', key = ''] = ['ca.crt', `${name}.crt`, `${name}.key`].map((file) => {
    const path = join(folder, file);
    if (existsSync(path) && statSync(path).size <= BYTES_MAX) return readFileSync(path, 'utf8');
    throw new CallFailure('retryable', `${path} is missing: make it with treeline client new ${name} --node ${name}`);
  });
  return { ca, cert, key };
}

/**
 * @param {string} folder
 * @param {Readonly<Record<string, string>>} files
 */
function writeFiles(folder, files) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o700 });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: FILE_MODE });
}

/**
 * @param {import('./hypervisor.mjs').Hypervisor} hypervisor
 * @param {string} image
 * @param {string} files
 */
async function writeImage(hypervisor, image, files) {
  const writer = WRITERS.find(({ program }) => canFind(program));
  if (writer === undefined)
    throw new CallFailure('failed', 'xorriso or genisoimage has to be installed, to make seeds');
  const args = [...writer.first, '-quiet', '-output', image, '-volid', 'cidata', '-joliet', '-rock', files];
  const { end, stderr } = await runProgram(findProgram(writer.program), args, hypervisor);
  if (end !== 0) throw new CallFailure('retryable', `${writer.program} ended with ${end}: ${stderr.slice(-500)}`);
}

/** @param {string} program */
function canFind(program) {
  try {
    return findProgram(program) !== '';
  } catch (error) {
    if (error instanceof CallFailure) return false;
    throw error;
  }
}
