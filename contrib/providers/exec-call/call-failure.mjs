// Defines the error with which a handler ends its call.

/** Ends a call as `retryable` (try again later) or as `failed` (an operator must act). */
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
