// Collects requests to judge held deletes again, after an approval or a change of rows.
import { isMade } from '../machine/existence.ts';
import type { Change } from '../model/rows.ts';
import type { Ledger } from './ledger.ts';

/** Counts requested and finished reviews. */
export class Reviews {
  #asked: number;
  #judged = 0;
  #onRequest: () => void = () => undefined;

  /** `isOpen`: an approval from before the start of this process may not have been judged. */
  constructor(isOpen: boolean) {
    this.#asked = isOpen ? 1 : 0;
  }

  /** The number of requested reviews; see {@link judged}. */
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

  /** Requests a review when a server of a held instance is gone, or turns out never to have been created. */
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

  /** Records that reviews requested before {@link asked} was read are finished. Later ones may be open. */
  judged(asked: number): void {
    this.#judged = asked;
  }
}

/** Returns true if the server was or may have been created before the change, and does not exist after it. */
function isUnmadeBy({ kind, expected, value }: Change): boolean {
  if (kind !== 'server' || expected === undefined || !isMade(expected)) return false;
  return value === null || !isMade(value);
}
