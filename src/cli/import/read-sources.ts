// Reads the files of the sources of an import from disk, and passes them to the reader of their kind. Follows no
// symbolic link out of a source.
import { isUtf8 } from 'node:buffer';
import { type ExecFileException, execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Inventory } from '../../import/inventory.ts';
import { isInventoryJson, readAnsible } from '../../import/read-ansible.ts';
import { type KnownNode, readHiera } from '../../import/read-hiera.ts';
import { readCsv, readNodes, readTerraform } from '../../import/read-tables.ts';
import { CommandFailure } from '../command-failure.ts';
import { shellWord } from '../output.ts';
import { fromUserDirectory } from '../user-directory.ts';

/** The kinds of sources. */
export const SOURCE_KINDS = ['hiera', 'ansible', 'terraform', 'csv'] as const;
/** The kind of a source. */
export type SourceKind = (typeof SOURCE_KINDS)[number];

/** The options of an import. Paths are the user's, also in messages. */
export interface SourceOptions {
  readonly kind: SourceKind | undefined;
  readonly nodes: string | undefined;
  readonly playbooks: string | undefined;
}

const HIERA_FILE = 'hiera.yaml';
const STATE = /\.tfstate$/;
const HIERA_DATA = /\.(?:ya?ml|eyaml|json)$/;
const MIB = 1024 * 1024;
const FILE_MIB_MAX = 64;
const SKIPPED: ReadonlySet<string> = new Set(['.git', 'node_modules', 'vendor', '.terraform', '__pycache__']);

/**
 * Resolves with the servers of all sources. Throws CommandFailure for an unreadable source, ImportError for an unusable
 * one.
 */
export async function readSources(sources: readonly string[], options: SourceOptions): Promise<Inventory> {
  const { nodes, playbooks } = options;
  const read = sources.map((source) => [source, options.kind ?? kindOf(source)] as const);
  for (const [option, of] of [['nodes', 'hiera'] as const, ['playbooks', 'ansible'] as const]) {
    if (options[option] === undefined || read.some(([, kind]) => kind === of)) continue;
    throw new CommandFailure(`--${option} is for sources of the kind ${of}: leave it out, or say --kind ${of}`);
  }
  const inventory = new Inventory();
  const known = nodes === undefined ? [] : readNodes(nodes, requiredText(nodes));
  for (const [source, kind] of read) {
    if (kind === 'csv') readCsv(source, requiredText(source), inventory);
    if (kind === 'hiera') await readTree(source, inventory, known);
    if (kind === 'ansible') await readHosts(source, inventory, playbooks);
    for (const path of kind === 'terraform' ? statesOf(source) : []) readTerraform(path, requiredText(path), inventory);
  }
  return inventory;
}

async function readTree(source: string, inventory: Inventory, known: readonly KnownNode[]): Promise<void> {
  const file = isFolder(source) ? join(source, HIERA_FILE) : source;
  const files = new Map([[file, requiredText(file)]]);
  await addBelow(dirname(file), files, inventory);
  readHiera(file, files, inventory, known);
}

async function readHosts(source: string, inventory: Inventory, playbooks: string | undefined): Promise<void> {
  const text = isFolder(source) || !source.endsWith('.json') ? '' : requiredText(source);
  if (isInventoryJson(text)) return readAnsible(source, text, inventory);
  const args = ['-i', source, '--list', ...(playbooks === undefined ? [] : ['--playbook-dir', playbooks])];
  readAnsible(source, await runAnsible(source, args, inventory), inventory);
}

const ANSIBLE = 'ansible-inventory';
const ANSIBLE_SECONDS_MAX = 300;
const ANSIBLE_KIBIBYTES_MAX = 4 * 1024 * 1024;
const OUTPUT_MIB_MAX = 256;
const PROGRAM_MISSING = 127;

/**
 * Resolves with Ansible's output for an inventory. Like every command of Ansible, this runs the programs that the
 * inventory names.
 */
async function runAnsible(source: string, args: readonly string[], inventory: Inventory): Promise<string> {
  const options = {
    cwd: fromUserDirectory('.'),
    env: { ...process.env, ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED: 'true', ANSIBLE_NOCOLOR: 'true' },
    timeout: ANSIBLE_SECONDS_MAX * 1_000,
    killSignal: 'SIGKILL',
    maxBuffer: OUTPUT_MIB_MAX * MIB,
  } as const;
  const limited = ['-c', `ulimit -v ${ANSIBLE_KIBIBYTES_MAX} && exec "$0" "$@"`, ANSIBLE, ...args];
  try {
    const { stdout, stderr } = await promisify(execFile)('sh', limited, options);
    const warnings = stderr.split(/^\[WARNING\]: /m).slice(1);
    for (const text of warnings) inventory.leave({ file: source, line: 0 }, '', text.replaceAll(/\s+/g, ' ').trim());
    return stdout;
  } catch (error) {
    const { code, killed, stderr = '', message } = error as ExecFileException;
    if (code === PROGRAM_MISSING) {
      const command = [ANSIBLE, ...args.map(shellWord)].join(' ');
      const advice = `run this with Ansible, and import the file: ${command} > inventory.json`;
      throw new CommandFailure(`${ANSIBLE} is not installed: ${advice}`);
    }
    const limits = `it took more than ${ANSIBLE_SECONDS_MAX} seconds, or printed more than ${OUTPUT_MIB_MAX} MiB`;
    const reason = killed || code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER' ? limits : String(stderr).trim();
    throw new CommandFailure(`${ANSIBLE} cannot read ${source}: ${reason || message}`, { cause: error });
  }
}

function statesOf(source: string): readonly string[] {
  if (!isFolder(source)) return [source];
  const names = readdirSync(fromUserDirectory(source)).filter((name) => STATE.test(name));
  return names.sort().map((name) => join(source, name));
}

function isFolder(source: string): boolean {
  return statSync(fromUserDirectory(source), { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function kindOf(source: string): SourceKind {
  const path = fromUserDirectory(source);
  if (!existsSync(path)) throw new CommandFailure(`${source} does not exist`);
  if (basename(path) === HIERA_FILE || existsSync(join(path, HIERA_FILE))) return 'hiera';
  if (path.endsWith('.csv')) return 'csv';
  return STATE.test(path) || (isFolder(source) && statesOf(source).length > 0) ? 'terraform' : 'ansible';
}

/** Returns the text of a file that the user named. */
function requiredText(path: string): string {
  if (!existsSync(fromUserDirectory(path))) throw new CommandFailure(`${path} does not exist`);
  if (isFolder(path)) throw new CommandFailure(`${path} is a folder, not a file`);
  const text = textOf(path);
  if (text === undefined) throw new CommandFailure(`${path} cannot be read: it is not UTF-8 text`);
  return text;
}

/** Adds the texts of files with matching names below a folder, by path. Lists files that are not imported. */
async function addBelow(folder: string, texts: Map<string, string>, inventory: Inventory): Promise<void> {
  const entries = await readdir(fromUserDirectory(folder), { withFileTypes: true, encoding: 'buffer' });
  for (const entry of entries.sort((a, b) => Buffer.compare(a.name, b.name))) {
    const name = entry.name.toString();
    const path = join(folder, name);
    const isRead = entry.isFile() ? HIERA_DATA.test(name) : entry.isDirectory() && !SKIPPED.has(name);
    if (!isRead) continue;
    // Other files cannot refer to a name that is not UTF-8.
    if (!isUtf8(entry.name)) inventory.leave({ file: path, line: 1 }, '', 'its name is not UTF-8 text');
    else if (entry.isDirectory()) await addBelow(path, texts, inventory);
    else {
      const text = textOf(path);
      if (text === undefined) inventory.leave({ file: path, line: 1 }, '', 'it is not UTF-8 text');
      else texts.set(path, text);
    }
  }
}

/**
 * Returns the text of a file in UTF-8, or in the UTF-16 of spreadsheets; undefined for other bytes. Throws
 * CommandFailure if the file is too large.
 */
function textOf(path: string): string | undefined {
  if (statSync(fromUserDirectory(path)).size > FILE_MIB_MAX * MIB) {
    throw new CommandFailure(`${path} is too large: an import reads files of at most ${FILE_MIB_MAX} MiB`);
  }
  const bytes = readFileSync(fromUserDirectory(path));
  const encoding = { fffe: 'utf-16le', feff: 'utf-16be' }[bytes.toString('hex', 0, 2)] ?? 'utf-8';
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
