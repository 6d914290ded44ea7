// Commits that wait to be walked, the newest first: a binary heap. A commit may have any number of parents, so finding the
// newest of many must not mean a look at each.
import type { ParsedCommit } from '../git/git-object.ts';

/** A commit without its message: a push may have a million of them. */
export type WalkedCommit = Pick<ParsedCommit, 'commit' | 'time' | 'parents'>;

interface Waiting {
  readonly walked: WalkedCommit;
  /** Of two commits of one time, the one that was added first comes first. */
  readonly order: number;
}

export class NewestFirst {
  /** The commit at `i` comes before those at `2i + 1` and `2i + 2`. */
  readonly #heap: Waiting[] = [];
  #added = 0;

  add(walked: WalkedCommit): void {
    let place = this.#heap.push({ walked, order: this.#added++ }) - 1;
    while (place > 0) {
      const above = (place - 1) >> 1;
      if (!this.#isBefore(place, above)) return;
      this.#swap(place, above);
      place = above;
    }
  }

  /** Takes out the newest commit and returns it; undefined where none is left. */
  take(): WalkedCommit | undefined {
    const newest = this.#heap[0];
    const last = this.#heap.pop();
    if (last !== undefined && last !== newest) {
      this.#heap[0] = last;
      this.#sink();
    }
    return newest?.walked;
  }

  #sink(): void {
    for (let place = 0; ; ) {
      const left = 2 * place + 1;
      const below = this.#isBefore(left + 1, left) ? left + 1 : left;
      if (!this.#isBefore(below, place)) return;
      this.#swap(place, below);
      place = below;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const [one, other] = [this.#heap[a], this.#heap[b]];
    if (one === undefined || other === undefined) return false;
    if (one.walked.time !== other.walked.time) return one.walked.time > other.walked.time;
    return one.order < other.order;
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#heap[a], this.#heap[b]];
    if (one === undefined || other === undefined) return;
    this.#heap[a] = other;
    this.#heap[b] = one;
  }
}
