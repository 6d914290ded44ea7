// Counts, for each commit, the servers that it changed last: at rest, not at rest, deleted, or changed again by a later
// commit. Updated row by row, so that a status costs no walk over all servers.
import { isAtRest } from '../machine/drift.ts';
import { effectiveState } from '../machine/reasons.ts';
import type { ServerRow } from '../model/rows.ts';
import type { State } from '../model/state.ts';

/** The servers that a commit changed last. */
export interface Progress {
  /** Number of servers at rest. */
  readonly done: number;
  /** The states of the other servers, by name. */
  readonly open: ReadonlyMap<string, State>;
  /** Number of servers that are gone, since the process began. */
  readonly deleted: number;
  /** Number of servers that a later commit changed again, since the process began. */
  readonly takenOver: number;
}

interface Count {
  done: number;
  readonly open: Map<string, State>;
  deleted: number;
  takenOver: number;
}

/** The progress of all commits. */
export class CommitProgress {
  readonly #counts = new Map<string, Count>();

  /** Updates the progress for one row; undefined if there is none. */
  follow(name: string, before: ServerRow | undefined, after: ServerRow | undefined): void {
    if (before !== undefined) this.#remove(name, before, after);
    if (after === undefined) return;
    const count = this.#countOf(after.commit);
    if (isAtRest(after)) count.done += 1;
    else count.open.set(name, effectiveState(after));
  }

  /** Returns the progress of a commit. */
  of(commit: string): Progress {
    return this.#counts.get(commit) ?? { done: 0, open: new Map(), deleted: 0, takenOver: 0 };
  }

  /** Forgets commits that changed no recorded server last, but for these. */
  forgetOthers(commits: ReadonlySet<string>): void {
    for (const [commit, { done, open }] of this.#counts) {
      if (done === 0 && open.size === 0 && !commits.has(commit)) this.#counts.delete(commit);
    }
  }

  #remove(name: string, before: ServerRow, after: ServerRow | undefined): void {
    const count = this.#countOf(before.commit);
    if (isAtRest(before)) count.done -= 1;
    else count.open.delete(name);
    if (after === undefined) count.deleted += 1;
    else if (after.commit !== before.commit) count.takenOver += 1;
  }

  #countOf(commit: string): Count {
    const count = this.#counts.get(commit) ?? { done: 0, open: new Map(), deleted: 0, takenOver: 0 };
    this.#counts.set(commit, count);
    return count;
  }
}
