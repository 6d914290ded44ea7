// Collects the requests to judge again what is held: an approval, or rows that changed, may give another answer.

export class Reviews {
  #asked: number;
  #judged = 0;
  #onAsk: () => void = () => undefined;

  /** `isOpen`: something was approved before this process started, and may not have been judged. */
  constructor(isOpen: boolean) {
    this.#asked = isOpen ? 1 : 0;
  }

  /** How many were asked for so far; see {@link judged}. */
  get asked(): number {
    return this.#asked;
  }

  /** Returns true where one was asked for that is not through. */
  get isOpen(): boolean {
    return this.#asked !== this.#judged;
  }

  /** Asks for a review. */
  ask(): void {
    this.#asked += 1;
    this.#onAsk();
  }

  /** Calls `onAsk` whenever a review is asked for. */
  listen(onAsk: () => void): void {
    this.#onAsk = onAsk;
  }

  /** Notes that all reviews are through that were asked for when {@link asked} was read: later ones may have come. */
  judged(asked: number): void {
    this.#judged = asked;
  }
}
