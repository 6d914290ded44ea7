// Collects the requests to judge held deletes again: an approval, or changed rows, may lead to another judgement.

/** Counts requested and finished reviews. */
export class Reviews {
  #asked: number;
  #judged = 0;
  #onAsk: () => void = () => undefined;

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
  ask(): void {
    this.#asked += 1;
    this.#onAsk();
  }

  /** Calls `onAsk` on every request. */
  listen(onAsk: () => void): void {
    this.#onAsk = onAsk;
  }

  /** Notes that all reviews requested before {@link asked} was read are finished: later ones may be open. */
  judged(asked: number): void {
    this.#judged = asked;
  }
}
