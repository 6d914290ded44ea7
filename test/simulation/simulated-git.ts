// A repository in memory: a branch, side branches, merges, rewritten history; and the two ends a controller has of it,
// source and publisher, which take time and fail.

import type { FollowedPlace } from '../../src/model/rows.ts';
import type { NewCommit, PreparedCommits, Publisher, PushOutcome } from '../../src/repository/publisher.ts';
import { type Commit, type Source, SourceError } from '../../src/repository/source.ts';
import { drawn } from './chance.ts';
import type { Life, Scheduler } from './scheduler.ts';
import type { WallTime } from './simulated-clock.ts';
import { firstFiles, type ModelFile, type ModelFiles, pathOf, textFile } from './stacks.ts';

export interface GitCommit extends Commit {
  readonly files: ModelFiles;
  /** The intention of the commit, for the story. */
  readonly words: string;
  /** The directory in which it has the layout. */
  readonly directory: string;
}

/** The place that is right until a layout is moved. */
const FIRST_PLACE: FollowedPlace = { url: 'simulated', branch: 'main', directory: '.' };
/** Another repository: no commit is in both. */
export const FOREIGN_URL = 'foreign';
/** A directory with something like the layout, in which instances are missing. */
export const PARTIAL_DIRECTORY = 'partial';

/** The faults between a controller and the repository, for now. */
export type RemoteMood = 'well' | 'gone' | 'slow' | 'refuses' | 'loses answers';

/** Returns what a file that a controller writes means, as its request said; undefined for one that nobody asked for. */
export type MeaningOf = (message: string, path: string, text: string) => ModelFile | undefined;

const GONE = 'the remote cannot be reached';
const LOST: PushOutcome = { is: 'unknown', reason: 'the answer was lost' };

type CommitFacts = Omit<GitCommit, 'oid' | 'time' | 'author' | 'directory'> & Partial<Pick<GitCommit, 'directory'>>;

export class SimulatedGit {
  readonly #scheduler: Scheduler;
  readonly #wall: WallTime;
  readonly #seed: number;
  readonly #commits = new Map<string, GitCommit>();
  /** Commits that were prepared and never pushed are nobody else's. */
  readonly #prepared = new Map<string, GitCommit>();
  readonly #lines = new Map<string, ReadonlySet<string>>();
  #asked = 0;
  head: string;
  /** The place in the settings. */
  place = FIRST_PLACE;
  /** The head of the other repository. */
  #foreign: string | undefined;
  mood: RemoteMood = 'well';
  /** Side branches by name. */
  readonly sides = new Map<string, string>();
  /** Commits that controllers were told are on the branch. */
  readonly acknowledged = new Set<string>();
  /** Told of every push of a controller that arrived. */
  onPushed: (commit: GitCommit) => void = () => undefined;

  constructor(scheduler: Scheduler, wall: WallTime, seed: number) {
    this.#scheduler = scheduler;
    this.#wall = wall;
    this.#seed = seed;
    this.head = this.#add({ parents: [], message: 'begin', files: firstFiles(), words: 'begin' }).oid;
  }

  /** Every commit that was ever pushed, on any branch. */
  get commits(): Iterable<GitCommit> {
    return this.#commits.values();
  }

  at(commit: string): GitCommit {
    const found = this.#commits.get(commit) ?? this.#prepared.get(commit);
    if (found === undefined) throw new SourceError(`there is no commit ${commit}`);
    return found;
  }

  /** Adds a commit to the branch. */
  commit(
    files: ModelFiles,
    text: { words: string; message?: string; parents?: readonly string[]; directory?: string },
  ): GitCommit {
    const { words, message = words, parents = [this.head], directory } = text;
    const commit = this.#add({ parents, message, files, words, ...(directory === undefined ? {} : { directory }) });
    this.head = commit.oid;
    return commit;
  }

  /** Adds a commit to a side branch, which begins at the head where it is new. */
  commitAside(side: string, files: ModelFiles, words: string): GitCommit {
    const commit = this.#add({ parents: [this.sides.get(side) ?? this.head], message: words, files, words });
    this.sides.set(side, commit.oid);
    return commit;
  }

  /** Returns the commit and everything before it. */
  historyOf(commit: string): ReadonlySet<string> {
    const known = this.#lines.get(commit);
    if (known !== undefined) return known;
    const seen = new Set([commit]);
    for (const each of seen) for (const parent of this.at(each).parents) seen.add(parent);
    this.#lines.set(commit, seen);
    return seen;
  }

  isAncestor(ancestor: string, descendant: string): boolean {
    return this.historyOf(descendant).has(ancestor);
  }

  /** Returns the commit and its first parents, newest first. */
  firstParents(commit: string): readonly GitCommit[] {
    const line: GitCommit[] = [];
    for (let next: string | undefined = commit; next !== undefined; next = this.at(next).parents[0]) {
      line.push(this.at(next));
    }
    return line;
  }

  /** Returns the source of one controller. `here` is what its local copy holds; it outlives a crash. */
  source(life: Life, here: Set<string>): Source {
    const find = (commit: string): GitCommit => {
      if (here.has(commit)) return this.at(commit);
      throw new SourceError(`the local copy does not have ${commit}`);
    };
    const { place } = this;
    return {
      place,
      fetch: async () => {
        if (!(await this.#isReached(life))) throw new SourceError(GONE);
        const head = this.at(place.url === FOREIGN_URL ? this.#foreignHead() : this.head);
        for (const commit of this.historyOf(head.oid)) here.add(commit);
        return head;
      },
      has: async (commit) => here.has(commit),
      snapshot: async (commit, wants, directory = place.directory) => {
        const { time } = find(commit);
        const files = this.#filesIn(find(commit), directory);
        await this.#read(life);
        return { commit, time, files, blobs: blobsIn(files, wants) };
      },
      describe: async (commit) => find(commit),
      commitsBetween: async (from, to, countMax) => this.#between(find(from), find(to)).slice(0, countMax),
      lastChanges: async () => new Map(),
      isAncestor: async (ancestor, descendant) => {
        find(descendant);
        return here.has(ancestor) && this.isAncestor(ancestor, descendant);
      },
      close: async () => undefined,
    };
  }

  /** Returns the publisher of one controller, which writes commits into its local copy. */
  publisher(life: Life, here: Set<string>, meaningOf: MeaningOf): Publisher {
    return {
      prepare: async (base, commits) => {
        const prepared = this.#prepare(base, commits, meaningOf);
        for (const commit of prepared.commits) here.add(commit);
        return prepared;
      },
      push: async (prepared) => {
        if (!(await this.#isReached(life))) return { is: 'not sent', reason: GONE };
        const sent = this.#drawn('push');
        if (this.mood === 'refuses') return { is: 'refused', reason: 'the repository refuses it' };
        if (this.mood === 'loses answers' && sent < 0.3) return LOST;
        const isPushed = this.#take(prepared);
        await this.#scheduler.pause(Math.floor(sent * 50), life);
        if (this.mood === 'loses answers' && sent < 0.7) return LOST;
        return { is: isPushed ? 'pushed' : 'moved' };
      },
    };
  }

  #take({ base, commits }: PreparedCommits): boolean {
    if (this.head !== base) return false;
    for (const id of commits) {
      const commit = this.at(id);
      this.#commits.set(id, commit);
      this.head = id;
      this.onPushed(commit);
    }
    return true;
  }

  #prepare(base: string, commits: readonly NewCommit[], meaningOf: MeaningOf): PreparedCommits {
    const ids: string[] = [];
    let parent = this.at(base);
    for (const { message, edits } of commits) {
      const files = new Map(parent.files);
      for (const { path, text } of edits) {
        if (text === null) files.delete(path);
        else files.set(path, meaningOf(message, path, text) ?? textFile(text, 'written'));
      }
      const words = message.split('\n', 1)[0] ?? '';
      parent = this.#made({ parents: [parent.oid], message, files, words });
      this.#prepared.set(parent.oid, parent);
      ids.push(parent.oid);
    }
    return { is: 'prepared', base, commits: ids };
  }

  #filesIn({ files, directory }: GitCommit, wanted: string): ModelFiles {
    if (wanted === directory) return files;
    return wanted === PARTIAL_DIRECTORY ? partOf(files) : new Map();
  }

  #foreignHead(): string {
    const { files, directory } = this.at(this.head);
    this.#foreign ??= this.#add({
      parents: [],
      message: 'foreign',
      files: partOf(files),
      words: 'foreign',
      directory,
    }).oid;
    return this.#foreign;
  }

  #add(facts: CommitFacts): GitCommit {
    const commit = this.#made(facts);
    this.#commits.set(commit.oid, commit);
    return commit;
  }

  #made(facts: CommitFacts): GitCommit {
    const [parent] = facts.parents;
    const directory = parent === undefined ? '.' : this.at(parent).directory;
    const oid = `c${this.#commits.size + this.#prepared.size}`;
    return {
      directory,
      author: 'A Person',
      ...facts,
      oid,
      time: `${new Date(this.#wall.now()).toISOString().slice(0, 19)}Z`,
    };
  }

  /** Returns the commits that come with `to` and were not there with `from`, newest first: a child always before its parents. */
  #between(from: GitCommit, to: GitCommit): readonly GitCommit[] {
    const old = this.historyOf(from.oid);
    const news = [...this.historyOf(to.oid)].filter((commit) => !old.has(commit));
    return news.sort((a, b) => Number(b.slice(1)) - Number(a.slice(1))).map((commit) => this.at(commit));
  }

  /** Takes the time that it takes; false where nobody answers. */
  async #isReached(life: Life): Promise<boolean> {
    const share = this.#drawn('travel');
    await this.#scheduler.pause(this.mood === 'slow' ? share * 30_000 : 5 + share ** 3 * 400, life);
    return this.mood !== 'gone';
  }

  async #read(life: Life): Promise<void> {
    await this.#scheduler.pause(1 + this.#drawn('read') ** 4 * 2_000, life);
  }

  #drawn(key: string): number {
    return drawn(this.#seed, `git ${key} ${this.#asked++}`);
  }
}

/** Returns the contents of the files that are wanted, by their ids. */
export function blobsIn(
  files: ModelFiles,
  wants: (path: string, oid: string) => boolean,
): ReadonlyMap<string, Uint8Array> {
  const isWanted = ([path, { oid, mode }]: [string, ModelFile]): boolean =>
    (mode === '100644' || mode === '100755') && wants(path, oid);
  return new Map([...files].filter(isWanted).map(([, { oid, bytes }]) => [oid, bytes]));
}

/** Two instances are not there. */
function partOf(files: ModelFiles): ModelFiles {
  const gone: readonly string[] = [pathOf('a'), pathOf('c')];
  return new Map([...files].filter(([path]) => !gone.includes(path)));
}
