// The estate in force, and the newest commit if it is not followed, for everybody who reads them. The follower alone
// sets both, the estate only once it is durable.
import type { Estate } from '../estate/estate.ts';
import type { RefusedCommit } from '../estate/refused-commit.ts';

export class CurrentEstate {
  #estate: Estate | undefined;
  #refused: RefusedCommit | undefined;

  /** The estate in force, or undefined before the first good commit. */
  get(): Estate | undefined {
    return this.#estate;
  }

  /** The newest commit, if it is not followed. */
  get refused(): RefusedCommit | undefined {
    return this.#refused;
  }

  /** Takes an estate into force. That of the same commit, judged anew, does not make a newer one good. */
  set(estate: Estate): void {
    if (estate.commit !== this.#estate?.commit) this.catchUp();
    this.#estate = estate;
  }

  /** Notes that the newest commit is followed. */
  catchUp(): void {
    this.#refused = undefined;
  }

  /** Notes that a commit is not followed; the time of a commit that was refused for the same before stays. */
  refuse(refused: RefusedCommit): void {
    const isSame = this.#refused?.commit === refused.commit && this.#refused.hold?.kind === refused.hold?.kind;
    this.#refused = isSame ? { ...refused, since: this.#refused?.since ?? refused.since } : refused;
  }
}
