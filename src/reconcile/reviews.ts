// Collects the requests to judge held deletes again: an approval, or changed rows, may lead to another judgement.
import { isMade } from '../machine/existence.ts';
import type { Change } from '../model/rows.ts';
import type { Ledger } from './ledger.ts';

/** Counts requested and finished reviews. */
export class Reviews {
  #asked: number;
  #judged = 0;
  #onRequest: () => void = () => undefined;

  /** `isOpen`: an approval was given before this process started, and may not have been judged. */
  constructor(isOpen: boolean) {
    this.#asked = isOpen ? 1 : 0;
  }

  /** Number of requested reviews so far; see {@link judged}. */
  get asked(): number {
    return this.#asked;
  }

  /** Returns true if a requested review is not finished. */
  get isOpen(): boolean {
    return this.#asked !== this.#judged;
  }

  /** Requests a review. */
  request(): void {
    this.#asked += 1;
    this.#onRequest();
  }

  /**
   * Requests a review whenever a server for which an instance is held turns out never to have been made, or is gone.
   */
  watch(ledger: Pick<Ledger, 'watch' | 'list'>): void {
    ledger.watch((change) => {
      if (!isUnmadeBy(change)) return;
      for (const { servers } of ledger.list('held').values()) {
        if (servers.includes(change.name)) return this.request();
      }
    });
  }

  /** Calls `onRequest` on every request. */
  listen(onRequest: () => void): void {
    this.#onRequest = onRequest;
  }

  /** Notes that all reviews requested before {@link asked} was read are finished: later ones may be open. */
  judged(asked: number): void {
    this.#judged = asked;
  }
}

/** Returns true for a server that was made, or may have been, and that after the change was not. */
function isUnmadeBy({ kind, expected, value }: Change): boolean {
  if (kind !== 'server' || expected === undefined || !isMade(expected)) return false;
  return value === null || !isMade(value);
}
