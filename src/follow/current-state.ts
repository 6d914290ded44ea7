// Holds the active desired state, and the newest commit where it is not followed. Only the follower sets them, the desired
// state once it is durable.
import type { DesiredState, RefusedCommit } from '../desired/desired-state.ts';

/** The desired state that readers see. */
export class CurrentState {
  #desired: DesiredState | undefined;
  #refused: RefusedCommit | undefined;

  /** Returns the active desired state, or undefined before the first valid commit. */
  get(): DesiredState | undefined {
    return this.#desired;
  }

  /** The newest commit, if it is not followed. */
  get refused(): RefusedCommit | undefined {
    return this.#refused;
  }

  /** Sets the active desired state. That of the same commit, judged anew, does not make a refused newer commit valid. */
  set(desired: DesiredState): void {
    if (desired.commit !== this.#desired?.commit) this.catchUp();
    this.#desired = desired;
  }

  /** Notes that the newest commit is followed. */
  catchUp(): void {
    this.#refused = undefined;
  }

  /** Returns true if that commit was refused for the same before. */
  isRefusedAlready({ commit, hold }: Pick<RefusedCommit, 'commit' | 'hold'>): boolean {
    return this.#refused?.commit === commit && this.#refused.hold?.kind === hold?.kind;
  }

  /** Notes that a commit is not followed; the time of a commit that was refused for the same before stays. */
  refuse(refused: RefusedCommit): void {
    this.#refused = this.isRefusedAlready(refused)
      ? { ...refused, since: this.#refused?.since ?? refused.since }
      : refused;
  }
}
