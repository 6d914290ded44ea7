// A stacks repository made of texts, followed commit by commit as the follower does it: each is derived upon the desired state
// that the one before left, and reads only what changed.

import { invariant } from '../../src/base/invariant.ts';
import { wantsBlob } from '../../src/catalog/load-catalog.ts';
import { type Before, type Derivation, derive } from '../../src/derive.ts';
import { type DesiredState, EMPTY_BASELINE } from '../../src/desired/desired-state.ts';
import type { Problem } from '../../src/model/problem.ts';
import type { Snapshot } from '../../src/model/snapshot.ts';
import { snapshotOf } from '../catalog/snapshots.ts';
import { describeProblems } from './entries.ts';

/** Texts by path; null removes a file. */
export type TextChanges = Readonly<Record<string, string | null>>;

/** The facts that decide whether a commit is followed, and how far. */
export type Judging = Pick<Before, 'safety' | 'isAccepted'>;

export class TextRepository {
  readonly #reuses: boolean;
  #texts: Readonly<Record<string, string>> = {};
  #desired: DesiredState | undefined;
  #count = 0;

  /** `reuses`: without it every commit is derived from nothing but what stands, as if no work could be used again. */
  constructor(reuses = true) {
    this.#reuses = reuses;
  }

  /** Commits a change that is followed, and returns the desired state after it. */
  commit(changes: TextChanges, judging?: Judging): DesiredState {
    const derivation = this.try(changes, judging);
    if (!derivation.isFollowed) throw new Error(`not taken: ${describeProblems(derivation.problems).join('\n')}`);
    return derivation.desired;
  }

  /** Commits a change that is not taken, and returns why. The next commit comes after it all the same. */
  refused(changes: TextChanges): readonly Problem[] {
    const derivation = this.try(changes);
    invariant(!derivation.isFollowed, 'the commit is taken');
    return derivation.problems;
  }

  try(changes: TextChanges, judging: Judging = {}): Derivation {
    this.#texts = textsAfter(this.#texts, changes);
    this.#count += 1;
    const earlier = this.#reuses ? this.#desired : undefined;
    const baseline = this.#desired ?? EMPTY_BASELINE;
    const derivation = derive(this.#snapshot(earlier), { ...judging, baseline, earlier });
    if (derivation.isFollowed) this.#desired = derivation.desired;
    return derivation;
  }

  /** Commits are called `commit 1`, `commit 2`, …, one a minute. */
  #snapshot(earlier: DesiredState | undefined): Snapshot {
    const time = new Date(Date.UTC(2026, 10, 20, 10, this.#count)).toISOString().replace('.000Z', 'Z');
    const snapshot = snapshotOf(this.#texts, { wants: wantsBlob(earlier?.catalog) });
    return { ...snapshot, commit: `commit ${this.#count}`, time };
  }
}

/** Returns the texts after a change. */
export function textsAfter(texts: TextChanges, changes: TextChanges): Readonly<Record<string, string>> {
  const after = Object.entries({ ...texts, ...changes });
  return Object.fromEntries(after.filter((entry): entry is [string, string] => entry[1] !== null));
}
