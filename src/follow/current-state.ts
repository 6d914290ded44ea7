// Holds the active desired state, and the newest commit where it is not followed. Only the follower sets them, the desired
// state once it is durable.
import type { DesiredState, RefusedCommit } from '../desired/desired-state.ts';

/** The desired state that readers see. */
export class CurrentState {
  #desired: DesiredState | undefined;
  #version = 0;
  #refused: RefusedCommit | undefined;
  readonly #watchers: (() => void)[] = [];

  /** Returns the active desired state, or undefined before the first valid commit. */
  get(): DesiredState | undefined {
    return this.#desired;
  }

  /** Increases with every desired state that is shown. */
  get version(): number {
    return this.#version;
  }

  /** Calls `watcher` after each change of the desired state or of the newest commit. It must not throw. */
  watch(watcher: () => void): void {
    this.#watchers.push(watcher);
  }

  /** The newest commit, if it is not followed. */
  get refused(): RefusedCommit | undefined {
    return this.#refused;
  }

  /** Sets the active desired state. That of the same commit, judged again, does not make a refused newer commit valid. */
  set(desired: DesiredState): void {
    if (desired.commit !== this.#desired?.commit) this.#refused = undefined;
    this.#desired = desired;
    this.#version += 1;
    this.#tell();
  }

  /** Notes that the newest commit is followed. */
  catchUp(): void {
    if (this.#refused === undefined) return;
    this.#refused = undefined;
    this.#tell();
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
    this.#tell();
  }

  #tell(): void {
    for (const watcher of this.#watchers) watcher();
  }
}
