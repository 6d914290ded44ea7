// A branch made of texts, for tests of what follows one: no Git, no disk, no waiting. Reads what it is asked for only.
import { invariant } from '../../src/base/invariant.ts';
import type { FollowedPlace } from '../../src/model/rows.ts';
import {
  type Commit,
  ContentError,
  type LastFileChanges,
  type Source,
  SourceError,
} from '../../src/repository/source.ts';
import { snapshotOf } from '../catalog/snapshots.ts';
import { PLACE } from './rows.ts';
import { type TextChanges, textsAfter } from './text-repository.ts';

/** A commit with a file of this name in the directory can never be read. */
export const TOO_MUCH = 'too-much';

interface TextCommit extends Commit {
  readonly texts: Readonly<Record<string, string>>;
}

export interface TextCommitOptions {
  readonly message?: string;
  /** First parent first; default: the head. */
  readonly parents?: readonly string[];
}

/** The branch, which several processes may follow. */
interface Branch {
  readonly commits: Map<string, TextCommit>;
  head: string | undefined;
}

export class TextSource implements Source {
  readonly #branch: Branch;
  /** The commits in the local copy; undefined: every commit. */
  #here: Set<string> | undefined;
  readonly #forgotten = new Set<string>();
  /** How often the remote was asked. */
  fetches = 0;
  /** How many files were read. */
  filesRead = 0;
  /** The remote cannot be reached. */
  isGone = false;
  /** What the settings name. */
  place: FollowedPlace = PLACE;

  constructor(branch: Branch = { commits: new Map(), head: undefined }) {
    this.#branch = branch;
  }

  /** Returns the source of another process, whose local copy has what it has fetched. */
  copy(): TextSource {
    const copy = new TextSource(this.#branch);
    copy.loseCopy();
    return copy;
  }

  /** Adds a commit to the branch; null removes a file. Returns its id: `commit-1`, `commit-2`, …, one a minute. */
  commit(changes: TextChanges, { message = 'change', parents = this.#heads() }: TextCommitOptions = {}): string {
    const number = this.#branch.commits.size + 1;
    const time = new Date(Date.UTC(2026, 10, 20, 10, number)).toISOString().replace('.000Z', 'Z');
    const before = this.#branch.commits.get(parents[0] ?? '')?.texts ?? {};
    const texts = textsAfter(before, changes);
    const commit = `commit-${number}`;
    this.#branch.commits.set(commit, { oid: commit, time, author: 'A Person', message, parents, texts });
    this.#branch.head = commit;
    return commit;
  }

  /** Moves the branch to a commit that is there. */
  reset(commit: string): void {
    this.#branch.head = this.#find(commit).oid;
  }

  /** Takes a commit out of what is here, as a lost local copy does after a rewritten history. */
  forget(commit: string): void {
    this.#forgotten.add(commit);
  }

  async fetch(): Promise<Commit> {
    this.fetches += 1;
    if (this.isGone || this.#branch.head === undefined) throw new SourceError('the remote cannot be reached');
    for (const commit of this.#ancestry(this.#branch.head)) this.#here?.add(commit);
    return this.#find(this.#branch.head);
  }

  /** Empties the local copy: only what is fetched again is there. */
  loseCopy(): void {
    this.#here = new Set();
  }

  async has(commit: string): Promise<boolean> {
    return this.#branch.commits.has(commit) && this.#here?.has(commit) !== false && !this.#forgotten.has(commit);
  }

  async snapshot(commit: string, wants: (path: string, oid: string) => boolean, directory = this.place.directory) {
    if (this.#forgotten.has(commit)) throw new SourceError(`the local copy does not have ${commit}`);
    const { texts, time } = this.#read(commit);
    const below = textsIn(texts, directory);
    if (TOO_MUCH in below) throw new ContentError('it holds more than is read');
    const snapshot = snapshotOf(below, { wants });
    this.filesRead += snapshot.blobs.size;
    return { ...snapshot, commit, time };
  }

  async describe(commit: string): Promise<Commit> {
    return this.#read(commit);
  }

  async commitsBetween(from: string, to: string, countMax: number): Promise<readonly Commit[]> {
    const known = new Set(this.#ancestry(this.#read(from).oid));
    const names = this.#ancestry(this.#read(to).oid).filter((name) => !known.has(name));
    return names.slice(0, countMax).map((name) => this.#find(name));
  }

  async lastChanges(commit: string, paths: readonly string[]): Promise<LastFileChanges> {
    const line = this.#ancestry(this.#read(commit).oid).map((name) => this.#find(name));
    const found = new Map<string, Commit | null>();
    for (const path of paths) {
      const text = line[0]?.texts[path];
      if (text === undefined) continue;
      const other = line.findIndex(({ texts }) => texts[path] !== text);
      found.set(path, line[other < 0 ? line.length - 1 : other - 1] ?? null);
    }
    return found;
  }

  async isAncestor(ancestor: string, descendant: string): Promise<boolean> {
    return this.#ancestry(this.#read(descendant).oid).includes(ancestor);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #heads(): readonly string[] {
    return this.#branch.head === undefined ? [] : [this.#branch.head];
  }

  /** The commit and all that it comes after, newest first. */
  #ancestry(commit: string): string[] {
    const names = new Set([commit]);
    // Grows while it is walked: a Set hands out members in the order in which they joined.
    for (const name of names) for (const parent of this.#find(name).parents) names.add(parent);
    return [...this.#branch.commits.keys()].filter((name) => names.has(name)).reverse();
  }

  #read(commit: string): TextCommit {
    if (this.#here?.has(commit) === false) throw new SourceError(`the local copy does not have ${commit}`);
    return this.#find(commit);
  }

  #find(commit: string): TextCommit {
    const found = this.#branch.commits.get(commit);
    invariant(found !== undefined, `there is no commit ${commit}`);
    return found;
  }
}

/** The texts below a directory, by their path in it. */
function textsIn(texts: Readonly<Record<string, string>>, directory: string): Readonly<Record<string, string>> {
  if (directory === '.') return texts;
  const below = Object.entries(texts).filter(([path]) => path.startsWith(`${directory}/`));
  return Object.fromEntries(below.map(([path, text]) => [path.slice(directory.length + 1), text]));
}
