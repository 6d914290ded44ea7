// Defines the answer of a provider to a call, and the result of a call that the reconciler receives.
import type { JsonMap } from './json.ts';

/**
 * `absent` answers `check` and `delete`. `replace` answers `update` and requests delete and create instead. `lost`: the
 * outcome is unknown, and the call may still run until its deadline.
 */
export type AnswerOutcome = 'done' | 'absent' | 'replace' | 'retryable' | 'failed' | 'lost';

/** The answer of a provider to one call. */
export interface Answer {
  readonly outcome: AnswerOutcome;
  readonly message: string;
  /** The values that the server reports, such as addresses and ids. They become part of its record. */
  readonly outputs: JsonMap;
  /** The observed values by property name. A missing property was not checked. */
  readonly observed: JsonMap;
  /** The identity of the storage that the program looks at. Omitted: the program names none. */
  readonly place?: string;
  /** The answer came from another place than the server's, and so is an error; see machine/place.ts. */
  readonly isElsewhere?: true;
  /** The provider entry of the proxy that answered. Omitted if no proxy answered, or if it named none. */
  readonly entry?: string;
}

/** A call that has ended with an answer. */
export interface CallResult {
  readonly kind: 'check' | 'action';
  readonly provider: string;
  readonly answer: Answer;
  /** The proxy tags of the server that the answering proxy also has; omitted if no proxy answered. */
  readonly tags?: readonly string[] | undefined;
}
