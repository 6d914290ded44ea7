// Records the commits that the controller says it follows, in order, and the status of each instance then. Such a claim only
// excuses: an instance that is said to be held or invalid may stay as it was, never lose more.
import { validShape } from './edit-files.ts';
import type { Facts } from './facts.ts';
import type { ModelFiles } from './stacks.ts';
import { INSTANCES } from './themes/theme.ts';

export interface FollowedCommit {
  readonly commit: string;
  readonly files: ModelFiles;
  /** When it came into force, in simulated time. */
  readonly since: number;
  /** Names of instances that are not at this commit's version: wrong beside the others, or held. */
  readonly staying: ReadonlySet<string>;
  /** Those of them that wait for an approval. */
  readonly held: ReadonlySet<string>;
  /** Those of them that are wrong beside the others, also where they wait for an approval besides. */
  readonly invalid: ReadonlySet<string>;
}

/** A commit, and what the controller says of instances at it. */
interface TakenCommit {
  readonly commit: string;
  readonly invalid: Iterable<string>;
  readonly held: Iterable<string>;
}

export class Followed {
  readonly #facts: Facts;
  readonly #onNew: () => void;
  /** Some instance has retained its servers. */
  everRetained = false;
  readonly #commits: FollowedCommit[] = [];
  /** Commits that were taken on the way to the one that comes into force next. */
  readonly #passed = new Map<string, FollowedCommit>();
  /** The one in force before the last. */
  #before: FollowedCommit | undefined;
  #desired: unknown;

  /** `onNew` is called for each, before anybody looks at what follows from it. */
  constructor(facts: Facts, onNew: () => void) {
    this.#facts = facts;
    this.#onNew = onNew;
  }

  /** Notes what the controller made of a commit that came together with later ones. */
  pass(taken: TakenCommit): void {
    this.#passed.delete(taken.commit);
    this.#passed.set(taken.commit, this.#entryOf(taken));
  }

  #entryOf({ commit, invalid, held }: TakenCommit): FollowedCommit {
    const { git, scheduler } = this.#facts;
    const names = { held: new Set(held), invalid: new Set(invalid) };
    const staying = names.invalid.union(names.held);
    return { commit, files: git.at(commit).files, since: scheduler.now, staying, ...names };
  }

  /** Notes the desired state in force, if it is another one. */
  note(): void {
    const desired = this.#facts.shown?.current.get();
    if (desired === undefined || desired === this.#desired) return;
    this.#desired = desired;
    this.#before = this.last;
    const passed = [...this.#passed.values()].filter(({ commit }) => this.#isOnTheWay(commit, desired.commit));
    this.#passed.clear();
    const entry = this.#entryOf({ commit: desired.commit, invalid: desired.invalid, held: [...desired.held.keys()] });
    this.#commits.push(...passed, entry);
    const { files, staying } = entry;
    const words = [...staying].length === 0 ? '' : `; stay as they were: ${[...staying].join(', ')}`;
    this.#facts.tell('controller', () => `follows ${desired.commit}${words}`);
    for (const one of [...passed, { files }])
      this.everRetained ||= INSTANCES.some((instance) => validShape(one.files, instance)?.retain);
    for (const name of this.#facts.asked.retained) {
      if (desired.owners.has(name)) this.#facts.asked.retained.delete(name);
    }
    this.#onNew();
  }

  /** Whether a commit is one of the branch itself between the two, and none that a merge brings, whatever the controller says. */
  #isOnTheWay(commit: string, to: string): boolean {
    const { git } = this.#facts;
    const from = this.#before?.commit;
    const isContinued = from !== undefined && git.isAncestor(from, to);
    // Another replica may take the one in force on its way to the next.
    if (commit === to || commit === from || (isContinued && !git.isAncestor(from, commit))) return false;
    return git.firstParents(to).some(({ oid }) => oid === commit);
  }

  /** The store is lost: nobody knows any more what was in force. */
  forget(): void {
    this.#before = undefined;
    this.#passed.clear();
    this.#commits.length = 0;
  }

  get last(): FollowedCommit | undefined {
    return this.#commits.at(-1);
  }

  /** The one in force before the last. */
  get before(): FollowedCommit | undefined {
    return this.#before;
  }

  /** Oldest first, also those that came together with later ones and were never in force by themselves. */
  get all(): readonly FollowedCommit[] {
    return this.#commits;
  }
}
