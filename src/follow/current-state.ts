// The desired state in force, and the newest commit if it is not followed, for everybody who reads them. The follower alone
// sets both, the desired state only once it is durable.
import type { DesiredState } from '../desired/desired-state.ts';
import type { RefusedCommit } from '../desired/refused-commit.ts';

export class CurrentState {
  #desired: DesiredState | undefined;
  #refused: RefusedCommit | undefined;

  /** The desired state in force, or undefined before the first good commit. */
  get(): DesiredState | undefined {
    return this.#desired;
  }

  /** The newest commit, if it is not followed. */
  get refused(): RefusedCommit | undefined {
    return this.#refused;
  }

  /** Takes a desired state into force. That of the same commit, judged anew, does not make a newer one good. */
  set(desired: DesiredState): void {
    if (desired.commit !== this.#desired?.commit) this.catchUp();
    this.#desired = desired;
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
