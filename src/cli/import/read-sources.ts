// Reads the files of the sources of an import from disk, within limits, and gives them to the reader of their kind. Follows no
// symbolic link out of a source.
import { type Dirent, existsSync, readFileSync, statSync } from 'node:fs';
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
  const inventory = new Inventory();
  const budget = { files: 0, bytes: 0 };
  const known = options.nodes === undefined ? [] : await readKnownNodes(options.nodes, inventory, budget);
  for (const source of sources) {
    const kind = options.kind ?? (await kindOf(source));
    const reader = new SourceReader(inventory, budget);
    await READERS[kind](source, reader, { ...options, known });
    options.progress(`${source} (${kind}): ${countOf(inventory.nodes.size, 'server')} so far`);
  }
  return inventory;
}

async function readKnownNodes(path: string, inventory: Inventory, budget: Budget): Promise<readonly KnownNode[]> {
  const reader = new SourceReader(inventory, budget);
  return readNodes(path, await reader.requiredText(path));
}

type Read = (
  source: string,
  reader: SourceReader,
  options: SourceOptions & { readonly known: readonly KnownNode[] },
) => Promise<void>;

const READERS: Readonly<Record<SourceKind, Read>> = {
  async hiera(source, reader, { known }) {
    const file = isFolder(source) ? join(source, HIERA_FILE) : source;
    await reader.requiredText(file);
    readHiera(file, await reader.below(dirname(file), (path) => HIERA_DATA.test(path)), reader.inventory, known);
  },
  async ansible(source, reader, { playbooks }) {
    const files = new Map(isFolder(source) ? await reader.below(source, () => true) : []);
    if (!isFolder(source)) files.set(source, await reader.requiredText(source));
    const beside = isFolder(source) ? [] : [dirname(source)];
    for (const folder of playbooks === undefined ? beside : [...beside, playbooks]) {
      for (const name of ['group_vars', 'host_vars']) {
        const found = isFolder(join(folder, name)) ? await reader.below(join(folder, name), () => true) : [];
        for (const [path, text] of found) files.set(path, text);
      }
    }
    readAnsible(
      files,
      reader.inventory,
      playbooks === undefined ? undefined : join(playbooks, '/').replace(/^\.\//, ''),
    );
  },
  async terraform(source, reader) {
    const states = isFolder(source)
      ? (await readdir(fromUserDirectory(source))).filter((name) => STATE.test(name))
      : [''];
    for (const name of states.sort()) {
      const path = join(source, name);
      readTerraform(path, await reader.requiredText(path), reader.inventory);
    }
  },
  async csv(source, reader) {
    readCsv(source, await reader.requiredText(source), reader.inventory);
  },
};

function isFolder(source: string): boolean {
  return statSync(fromUserDirectory(source), { throwIfNoEntry: false })?.isDirectory() ?? false;
}

async function kindOf(source: string): Promise<SourceKind> {
  const path = fromUserDirectory(source);
  if (!existsSync(path)) throw new CommandFailure(`${source} is not there`);
  if (basename(path) === HIERA_FILE || existsSync(join(path, HIERA_FILE))) return 'hiera';
  if (path.endsWith('.csv')) return 'csv';
  if (STATE.test(path)) return 'terraform';
  if (isFolder(source) && (await readdir(path)).some((name) => STATE.test(name))) return 'terraform';
  return 'ansible';
}

interface Budget {
  files: number;
  bytes: number;
}

class SourceReader {
  readonly inventory: Inventory;
  readonly #budget: Budget;

  constructor(inventory: Inventory, budget: Budget) {
    this.inventory = inventory;
    this.#budget = budget;
  }

  /** Returns the text of a file that the person named. */
  async requiredText(path: string): Promise<string> {
    if (!existsSync(fromUserDirectory(path))) throw new CommandFailure(`${path} is not there`);
    const text = this.#textOf(path);
    if (text === undefined) throw new CommandFailure(`${path} cannot be read: it is no text in UTF-8, or too large`);
    return text;
  }

  /** Returns the texts of the files below a folder, by path. What is no text is left out. */
  async below(folder: string, wants: (path: string) => boolean): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    const walk = async (at: string, depth: number): Promise<void> => {
      if (depth > DEPTH_MAX) return;
      const entries = await readdir(fromUserDirectory(at), { withFileTypes: true });
      for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
        const path = join(at, entry.name);
        if (entry.isDirectory() && !SKIPPED.has(entry.name)) await walk(path, depth + 1);
        if (!isReadable(entry) || !wants(path)) continue;
        const text = this.#textOf(path);
        if (text !== undefined) found.set(path, text);
      }
    };
    await walk(folder, 0);
    return found;
  }

  #textOf(path: string): string | undefined {
    const { size } = statSync(fromUserDirectory(path));
    this.#budget.files += 1;
    this.#budget.bytes += size;
    if (this.#budget.files > FILES_MAX || this.#budget.bytes > ALL_BYTES_MAX) {
      throw new CommandFailure(
        `the sources have more than ${FILES_MAX} files, or ${ALL_BYTES_MAX} bytes: name smaller ones`,
      );
    }
    const bytes = size > FILE_BYTES_MAX ? undefined : readFileSync(fromUserDirectory(path));
    const text = bytes === undefined ? undefined : decoded(bytes);
    if (text === undefined) this.inventory.leave({ file: path, line: 1 }, '', 'it is no text in UTF-8, or too large');
    return text;
  }
}

function isReadable(entry: Dirent): boolean {
  return entry.isFile();
}

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
