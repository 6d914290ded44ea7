// Defines the error that ends a call with an outcome of its own.

/** A call that cannot be answered with success. `retryable`: try again later; `failed`: an operator has to act. */
export class CallFailure extends Error {
  /**
   * @param {'retryable' | 'failed'} outcome
   * @param {string} message
   */
  constructor(outcome, message) {
    super(message);
    this.outcome = outcome;
  }
}
