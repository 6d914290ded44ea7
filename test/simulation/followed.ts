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
}

export class Followed {
  readonly #facts: Facts;
  readonly #onNew: () => void;
  /** Some instance has retained its servers. */
  everRetained = false;
  readonly #commits: FollowedCommit[] = [];
  #desired: unknown;

  /** `onNew` is called for each, before anybody looks at what follows from it. */
  constructor(facts: Facts, onNew: () => void) {
    this.#facts = facts;
    this.#onNew = onNew;
  }

  /** Notes the desired state in force, if it is another one. */
  note(): void {
    const desired = this.#facts.core?.current.get();
    if (desired === undefined || desired === this.#desired) return;
    this.#desired = desired;
    const { files } = this.#facts.git.at(desired.commit);
    const staying = new Set([...desired.invalid, ...desired.held.keys()]);
    const since = this.#facts.scheduler.now;
    this.#commits.push({ commit: desired.commit, files, since, staying, held: new Set(desired.held.keys()) });
    const words = [...staying].length === 0 ? '' : `; stay as they were: ${[...staying].join(', ')}`;
    this.#facts.tell('controller', () => `follows ${desired.commit}${words}`);
    this.everRetained ||= INSTANCES.some((instance) => validShape(files, instance)?.retain);
    for (const name of this.#facts.asked.retained) {
      if (desired.owners.has(name)) this.#facts.asked.retained.delete(name);
    }
    this.#onNew();
  }

  /** The store is lost: nobody knows any more what was in force. */
  forget(): void {
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
