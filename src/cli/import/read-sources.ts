// Reads the files of the sources of an import from disk, within limits, and gives them to the reader of their kind. Follows no
// symbolic link out of a source.
import { isUtf8 } from 'node:buffer';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { countOf } from '../../base/wording.ts';
import { Inventory } from '../../import/inventory.ts';
import { readAnsible } from '../../import/read-ansible.ts';
import { type KnownNode, readHiera } from '../../import/read-hiera.ts';
import { readCsv, readNodes, readTerraform } from '../../import/read-tables.ts';
import { CommandFailure } from '../command-failure.ts';
import { fromUserDirectory } from '../user-directory.ts';

/** The kinds of sources. */
export const SOURCE_KINDS = ['hiera', 'ansible', 'terraform', 'csv'] as const;
/** One of these. */
export type SourceKind = (typeof SOURCE_KINDS)[number];

/** What to read. Paths are as the person gave them, and messages name files so. */
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

/** Returns the servers of all sources. Throws CommandFailure for a source that cannot be read, ImportError for one that cannot be used. */
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
    if (kind === 'ansible') await readHostsAt(source, reader, playbooks);
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

async function readHostsAt(source: string, reader: SourceReader, playbooks: string | undefined): Promise<void> {
  const files = new Map(isFolder(source) ? await reader.below(source) : [[source, reader.requiredText(source)]]);
  const beside = isFolder(source) ? [] : [dirname(source)];
  for (const folder of playbooks === undefined ? beside : [...beside, playbooks]) {
    const found = ['group_vars', 'host_vars'].map((name) => join(folder, name)).filter(isFolder);
    if (folder === playbooks && found.length === 0)
      throw new CommandFailure(`--playbooks ${playbooks}: neither group_vars nor host_vars is there`);
    for (const path of found) for (const [file, text] of await reader.below(path)) files.set(file, text);
  }
  const prefix = playbooks === undefined ? undefined : join(playbooks, '/').replace(/^\.\//, '');
  readAnsible(files, reader.inventory, prefix);
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

  /** Returns the text of a file that the person named. */
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

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
