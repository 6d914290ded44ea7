// Finds the newest commit that changed a file, as `git log -1 -- <file>` does: it follows, from commit to commit, the first
// parent that has the file as it is. All files are searched together, since most of them share their commits.
import { DIRECTORY_MODE, type ParsedCommit, type TreeEntry } from './git-object.ts';
import type { ObjectReader } from './object-reader.ts';

/** A search in the history of one commit. */
interface ChangeSearch {
  readonly commit: string;
  /** From the root of the repository, with forward slashes. */
  readonly paths: readonly string[];
  /** The number of commits that are read. */
  readonly commitsMax: number;
  /** Returns true once the search has taken too long. */
  readonly isOver: () => boolean;
}

/** The commit that gave a file its content; null: it is older than the commits that were read. Files that are not there have none. */
export type LastChanges = ReadonlyMap<string, Pick<ParsedCommit, 'oid' | 'time'> | null>;

/** A tree larger than this is not kept for the next commit. */
const ENTRIES_KEPT_MAX = 2_000;
const TREES_KEPT_MAX = 500;
/** A larger directory is not searched: it would take a second for each commit. */
const ENTRIES_MAX = 100_000;

type Trees = Pick<ObjectReader, 'findCommit' | 'readTree'>;

/**
 * Returns the last change of each path. The search ends after `commitsMax` commits and when `isOver` says so; the paths that
 * are left are null. A commit that is not there, as in a shallow clone, counts as older. Throws like ObjectReader.
 */
export async function findLastChanges(objects: Trees, search: ChangeSearch): Promise<LastChanges> {
  const walk = new Walk(objects, search.isOver);
  const found = new Map<string, Pick<ParsedCommit, 'oid' | 'time'> | null>();
  const start = await objects.findCommit(search.commit);
  if (start === undefined) return new Map(search.paths.map((path) => [path, null]));
  for (const path of new Set(search.paths)) {
    const oid = await walk.blobAt(start, path);
    if (oid === undefined) continue;
    found.set(path, null);
    walk.add(start, { path, oid });
  }
  for (let read = 0; read < search.commitsMax && !search.isOver(); read++) {
    const next = walk.takeNewest();
    if (next === undefined) break;
    for (const path of await walk.step(next)) found.set(path, { oid: next.commit.oid, time: next.commit.time });
  }
  return found;
}

interface SearchedFile {
  readonly path: string;
  readonly oid: string;
}

/** A commit, and the files that it has as they are searched. */
interface Reached {
  readonly commit: ParsedCommit;
  readonly files: SearchedFile[];
}

class Walk {
  readonly #objects: Trees;
  readonly #isOver: ChangeSearch['isOver'];
  readonly #reached = new Map<string, Reached>();
  readonly #trees = new Map<string, ReadonlyMap<string, TreeEntry>>();

  constructor(objects: Trees, isOver: ChangeSearch['isOver']) {
    this.#objects = objects;
    this.#isOver = isOver;
  }

  add(commit: ParsedCommit, file: SearchedFile): void {
    const known = this.#reached.get(commit.oid);
    if (known === undefined) this.#reached.set(commit.oid, { commit, files: [file] });
    else known.files.push(file);
  }

  /** Returns the newest commit that is not searched yet: branches come together again before their common past is searched. */
  takeNewest(): Reached | undefined {
    let newest: Reached | undefined;
    for (const reached of this.#reached.values()) {
      if (newest === undefined || reached.commit.time > newest.commit.time) newest = reached;
    }
    if (newest !== undefined) this.#reached.delete(newest.commit.oid);
    return newest;
  }

  /** Returns the paths that this commit changed, and goes on at its parents with the others. */
  async step({ commit, files }: Reached): Promise<readonly string[]> {
    let left: readonly SearchedFile[] = files;
    let isWhole = true;
    for (const oid of commit.parents) {
      if (left.length === 0) break;
      // A commit may have thousands of parents.
      if (this.#isOver()) return [];
      const parent = await this.#objects.findCommit(oid);
      if (parent === undefined) {
        isWhole = false;
        continue;
      }
      const others: SearchedFile[] = [];
      for (const file of left) {
        if (await this.#hasSame(parent, commit, file)) this.add(parent, file);
        else others.push(file);
      }
      left = others;
    }
    return isWhole ? left.map(({ path }) => path) : [];
  }

  /** Returns the blob at a path; undefined where there is no file. */
  async blobAt({ tree }: ParsedCommit, path: string): Promise<string | undefined> {
    const steps = path.split('/');
    let oid = tree;
    for (const [index, name] of steps.entries()) {
      const entry = await this.#entry(oid, name);
      const isFolder = entry?.mode === DIRECTORY_MODE;
      if (entry === undefined || isFolder === (index === steps.length - 1)) return undefined;
      oid = entry.oid;
    }
    return oid;
  }

  /** Reads no further than to the first folder that both commits have alike. */
  async #hasSame(parent: ParsedCommit, commit: ParsedCommit, { path, oid }: SearchedFile): Promise<boolean> {
    let [before, after] = [parent.tree, commit.tree];
    for (const name of path.split('/')) {
      if (before === after) return true;
      const [earlier, later] = [await this.#entry(before, name), await this.#entry(after, name)];
      if (earlier === undefined || later === undefined) return false;
      [before, after] = [earlier.oid, later.oid];
    }
    return before === oid;
  }

  async #entry(tree: string, name: string): Promise<TreeEntry | undefined> {
    const known = this.#trees.get(tree);
    if (known !== undefined) return known.get(name);
    const entries = await this.#objects.readTree(tree, ENTRIES_MAX);
    const byName = new Map(entries.map((entry) => [entry.name, entry]));
    if (entries.length <= ENTRIES_KEPT_MAX) {
      if (this.#trees.size >= TREES_KEPT_MAX) this.#trees.clear();
      this.#trees.set(tree, byName);
    }
    return byName.get(name);
  }
}
