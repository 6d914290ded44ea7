// Defines the answer of a provider to a call, and the result of a call that the reconciler receives.
import type { JsonMap } from './json.ts';

/**
 * `absent` answers `check` and `delete`; `replace` answers `update` and asks for delete and create instead. `lost`: it is
 * not known what has happened, and something of the call may run until its deadline.
 */
export type AnswerOutcome = 'done' | 'absent' | 'replace' | 'retryable' | 'failed' | 'lost';

/** The answer of a provider to one call. */
export interface Answer {
  readonly outcome: AnswerOutcome;
  readonly message: string;
  /** The values that the server reports (addresses, ids): part of its record. */
  readonly outputs: JsonMap;
  /** The observed values by property name. A missing property was not checked. */
  readonly observed: JsonMap;
  /** What the program looks at: the identity of its storage. Omitted: it names none. */
  readonly place?: string;
  /** It came from another place than its server was found at, and is an error by that alone; see machine/place.ts. */
  readonly isElsewhere?: true;
  /** The provider entry of the proxy that gave the answer. Omitted: no proxy did, or it did not say. */
  readonly entry?: string;
}

/** A call that has ended with an answer. */
export interface CallResult {
  readonly kind: 'check' | 'action';
  readonly provider: string;
  readonly answer: Answer;
  /** The proxy tags of the server that the proxy which answered has itself; omitted if no proxy did. */
  readonly tags?: readonly string[] | undefined;
}
