// Records the commits that the controller says it follows, in order, and the status of each instance then. Such a claim only
// excuses: an instance that is said to be held or invalid may stay as it was, never lose more.
import { validShape } from './edit-files.ts';
import type { ModelFiles } from './stacks.ts';
import { INSTANCES } from './themes/theme.ts';
import type { World } from './world.ts';

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

export class Followed {
  readonly #world: World;
  readonly #onNew: () => void;
  /** Some instance has retained its servers. */
  everRetained = false;
  readonly #commits: FollowedCommit[] = [];
  /** The one in force before the last. */
  before: FollowedCommit | undefined;
  #desired: unknown;

  /** `onNew` is called for each, before anybody looks at what follows from it. */
  constructor(world: World, onNew: () => void) {
    this.#world = world;
    this.#onNew = onNew;
  }

  /** Notes the desired state in force, if it is another one. */
  note(): void {
    const desired = this.#world.core?.current.get();
    if (desired === undefined || desired === this.#desired) return;
    this.#desired = desired;
    this.before = this.last;
    const { git, scheduler } = this.#world;
    const names = { held: new Set(desired.held.keys()), invalid: new Set(desired.invalid) };
    const staying = names.invalid.union(names.held);
    const { files } = git.at(desired.commit);
    this.#commits.push({ commit: desired.commit, files, since: scheduler.now, staying, ...names });
    const words = [...staying].length === 0 ? '' : `; stay as they were: ${[...staying].join(', ')}`;
    this.#world.tell('controller', () => `follows ${desired.commit}${words}`);
    this.everRetained ||= git
      .firstParents(desired.commit)
      .some((one) => INSTANCES.some((instance) => validShape(one.files, instance)?.retain));
    for (const name of this.#world.asked.retained) {
      if (desired.owners.has(name)) this.#world.asked.retained.delete(name);
    }
    this.#onNew();
  }

  /** The store is lost: nobody knows any more what was in force. */
  forget(): void {
    this.before = undefined;
    this.#commits.length = 0;
  }

  get last(): FollowedCommit | undefined {
    return this.#commits.at(-1);
  }

  /** Oldest first. */
  get all(): readonly FollowedCommit[] {
    return this.#commits;
  }
}
