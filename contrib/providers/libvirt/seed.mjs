// Makes the seed of a machine: a disk with the label `cidata`, from which cloud-init, or any other program of the image, takes the machine's
// certificate and the address of Treeline at its start. Its files are those of cloud-init's NoCloud, and each value by itself.
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CallFailure } from '../exec-call/call-failure.mjs';
import { findProgram } from '../exec-call/environment.mjs';
import { runProgram } from '../exec-call/run-program.mjs';
import { fill } from './domain-xml.mjs';
import { seedOf } from './hypervisor.mjs';

const BYTES_MAX = 1024 * 1024;
const FILE_MODE = 0o600;
/** Each makes the same file of the same arguments. */
const WRITERS = [
  { program: 'xorriso', first: ['-as', 'mkisofs'] },
  { program: 'genisoimage', first: [] },
  { program: 'mkisofs', first: [] },
];

/**
 * Puts a seed with the present certificate and address into the pool, in the place of an earlier one. The machine must not run.
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
 * Returns what `treeline client new NAME --node NAME` has made; empty texts where the entry names no folder. Throws CallFailure
 * `retryable` where it is not there yet.
 * @param {string} name
 */
function certificateOf(name) {
  const folder = process.env.TREELINE_LIBVIRT_CERTIFICATES;
  if (folder === undefined || folder === '') return { ca: '', cert: '', key: '' };
  const [ca = '', cert = '', key = ''] = ['ca.crt', `${name}.crt`, `${name}.key`].map((file) => {
    const path = join(folder, file);
    if (existsSync(path) && statSync(path).size <= BYTES_MAX) return readFileSync(path, 'utf8');
    throw new CallFailure('retryable', `${path} is missing: make it by treeline client new ${name} --node ${name}`);
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
