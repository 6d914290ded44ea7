// Reads the files of the sources of an import from disk, within limits, and gives them to the reader of their kind.
// Follows no symbolic link out of a source.
import { isUtf8 } from 'node:buffer';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { countOf } from '../../base/wording.ts';
import { Inventory } from '../../import/inventory.ts';
import { isInventoryJson, readAnsible } from '../../import/read-ansible.ts';
import { type KnownNode, readHiera } from '../../import/read-hiera.ts';
import { readCsv, readNodes, readTerraform } from '../../import/read-tables.ts';
import { CommandFailure } from '../command-failure.ts';
import { fromUserDirectory } from '../user-directory.ts';

/** The kinds of sources. */
export const SOURCE_KINDS = ['hiera', 'ansible', 'terraform', 'csv'] as const;
/** One of these. */
export type SourceKind = (typeof SOURCE_KINDS)[number];

/** What to read. Paths are as the user gave them, and messages name files so. */
export interface SourceOptions {
  readonly kind: SourceKind | undefined;
  readonly nodes: string | undefined;
  readonly playbooks: string | undefined;
  /** Called after each source. */
  readonly progress: (line: string) => void;
}

const HIERA_FILE = 'hiera.yaml';
const STATE = /\.tfstate$/;
const HIERA_DATA = /\.(?:ya?ml|eyaml|json)$/;
const SKIPPED: ReadonlySet<string> = new Set(['.git', 'node_modules', 'vendor', '.terraform', '__pycache__']);

const FILES_MAX = 100_000;
const FILE_BYTES_MAX = 64 * 1024 * 1024;
const ALL_BYTES_MAX = 512 * 1024 * 1024;
const DEPTH_MAX = 32;

/**
 * Returns the servers of all sources. Throws CommandFailure for a source that cannot be read, ImportError for one that
 * cannot be used.
 */
export async function readSources(sources: readonly string[], options: SourceOptions): Promise<Inventory> {
  const { nodes, playbooks, progress } = options;
  const read = sources.map((source) => [source, options.kind ?? kindOf(source)] as const);
  for (const [option, of] of [['nodes', 'hiera'] as const, ['playbooks', 'ansible'] as const]) {
    if (options[option] === undefined || read.some(([, kind]) => kind === of)) continue;
    throw new CommandFailure(`--${option} is for sources of the kind ${of}: leave it out, or say --kind ${of}`);
  }
  const inventory = new Inventory();
  const reader = new SourceReader(inventory);
  const known = nodes === undefined ? [] : readNodes(nodes, reader.requiredText(nodes));
  for (const [source, kind] of read) {
    if (kind === 'csv') readCsv(source, reader.requiredText(source), inventory);
    if (kind === 'hiera') await readTree(source, reader, known);
    if (kind === 'ansible') await readHosts(source, reader, playbooks);
    for (const path of kind === 'terraform' ? statesOf(source) : [])
      readTerraform(path, reader.requiredText(path), inventory);
    progress(`${source} (${kind}): ${countOf(inventory.nodes.size, 'server')} so far`);
  }
  return inventory;
}

async function readTree(source: string, reader: SourceReader, known: readonly KnownNode[]): Promise<void> {
  const file = isFolder(source) ? join(source, HIERA_FILE) : source;
  const files = new Map([[file, reader.requiredText(file)], ...(await reader.below(dirname(file), HIERA_DATA))]);
  readHiera(file, files, reader.inventory, known);
}

async function readHosts(source: string, reader: SourceReader, playbooks: string | undefined): Promise<void> {
  const text = isFolder(source) || !source.endsWith('.json') ? '' : reader.requiredText(source);
  if (isInventoryJson(text)) return readAnsible(source, text, reader.inventory);
  const args = ['-i', source, '--list', ...(playbooks === undefined ? [] : ['--playbook-dir', playbooks])];
  readAnsible(source, await runAnsible(source, args, reader.inventory), reader.inventory);
}

const ANSIBLE = 'ansible-inventory';
const ANSIBLE_SECONDS_MAX = 300;
const ANSIBLE_KIBIBYTES_MAX = 4 * 1024 * 1024;
const PROGRAM_MISSING = 127;

/**
 * Returns what Ansible prints of an inventory. It runs the programs that the inventory names, as every command of
 * Ansible does.
 */
async function runAnsible(source: string, args: readonly string[], inventory: Inventory): Promise<string> {
  const limited = ['-c', `ulimit -v ${ANSIBLE_KIBIBYTES_MAX} && exec "$0" "$@"`, ANSIBLE, ...args];
  const env = { ...process.env, ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED: 'true', ANSIBLE_NOCOLOR: 'true' };
  const timeout = ANSIBLE_SECONDS_MAX * 1_000;
  const options = {
    cwd: fromUserDirectory('.'),
    env,
    timeout,
    killSignal: 'SIGKILL',
    maxBuffer: ALL_BYTES_MAX,
  } as const;
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  execFile('sh', limited, options, (error, stdout, stderr) => {
    if (error === null) {
      const warnings = stderr.split(/^\[WARNING\]: /m).slice(1);
      for (const text of warnings) inventory.leave({ file: source, line: 0 }, '', text.replaceAll(/\s+/g, ' ').trim());
      resolve(stdout);
    } else if (error.code === PROGRAM_MISSING) {
      const words = args.map((word) => (/^[\w./@:-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`));
      const command = [ANSIBLE, ...words].join(' ');
      const advice = `run this with Ansible, and import the file: ${command} > inventory.json`;
      reject(new CommandFailure(`${ANSIBLE} is not installed: ${advice}`));
    } else {
      const reason = error.killed ? `it was stopped after ${ANSIBLE_SECONDS_MAX} seconds` : stderr.trim();
      reject(new CommandFailure(`${ANSIBLE} cannot read ${source}: ${reason || error.message}`));
    }
  });
  return await promise;
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
  if (!existsSync(path)) throw new CommandFailure(`${source} is not there`);
  if (basename(path) === HIERA_FILE || existsSync(join(path, HIERA_FILE))) return 'hiera';
  if (path.endsWith('.csv')) return 'csv';
  return STATE.test(path) || (isFolder(source) && statesOf(source).length > 0) ? 'terraform' : 'ansible';
}

/** Reads files, all sources together within limits. */
class SourceReader {
  readonly inventory: Inventory;
  #files = 0;
  #bytes = 0;

  constructor(inventory: Inventory) {
    this.inventory = inventory;
  }

  /** Returns the text of a file that the user named. */
  requiredText(path: string): string {
    if (!existsSync(fromUserDirectory(path))) throw new CommandFailure(`${path} is not there`);
    const text = this.#textOf(path);
    if (text === undefined) throw new CommandFailure(`${path} cannot be read: it is no text in UTF-8, or too large`);
    return text;
  }

  /** Returns the texts of the files below a folder whose names fit, by path. What is no text is left out. */
  async below(folder: string, names = /./, depth = 0): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    const entries = await readdir(fromUserDirectory(folder), { withFileTypes: true, encoding: 'buffer' });
    for (const entry of entries.sort((a, b) => Buffer.compare(a.name, b.name))) {
      const name = entry.name.toString();
      const path = join(folder, name);
      const isRead = entry.isFile() ? names.test(path) : entry.isDirectory() && !SKIPPED.has(name) && depth < DEPTH_MAX;
      if (!isRead) continue;
      // No other file names such a file or folder in UTF-8.
      if (!isUtf8(entry.name)) this.inventory.leave({ file: path, line: 1 }, '', 'its name is no text in UTF-8');
      else if (entry.isFile()) this.#addText(found, path);
      else for (const [below, text] of await this.below(path, names, depth + 1)) found.set(below, text);
    }
    return found;
  }

  #addText(texts: Map<string, string>, path: string): void {
    const text = this.#textOf(path);
    if (text !== undefined) texts.set(path, text);
  }

  #textOf(path: string): string | undefined {
    const { size } = statSync(fromUserDirectory(path));
    this.#files += 1;
    this.#bytes += size;
    if (this.#files > FILES_MAX || this.#bytes > ALL_BYTES_MAX) {
      throw new CommandFailure(
        `the sources have more than ${FILES_MAX} files, or ${ALL_BYTES_MAX} bytes: name smaller ones`,
      );
    }
    const text = size > FILE_BYTES_MAX ? undefined : decoded(readFileSync(fromUserDirectory(path)));
    if (text === undefined) this.inventory.leave({ file: path, line: 1 }, '', 'it is no text in UTF-8, or too large');
    return text;
  }
}

/** UTF-8, or the UTF-16 that spreadsheets write. */
function decoded(bytes: Uint8Array): string | undefined {
  const mark = Buffer.from(bytes.subarray(0, 2)).toString('hex');
  const encoding = { fffe: 'utf-16le', feff: 'utf-16be' }[mark] ?? 'utf-8';
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
