// The answer of a provider to a call, and the result of a call as the reconciler gets it.
import type { JsonMap } from './json.ts';

/** `absent` answers `check` and `delete`; `replace` answers `update` and asks for delete and create instead. */
export type AnswerOutcome = 'done' | 'absent' | 'replace' | 'retryable' | 'failed';

export interface Answer {
  readonly outcome: AnswerOutcome;
  readonly message: string;
  /** What the server reports of itself (addresses, ids): becomes part of its record. */
  readonly outputs: JsonMap;
  /** What a look at the server showed, by property name. A property that is missing was not looked at. */
  readonly observed: JsonMap;
}

/** A call that has ended with an answer. */
export interface CallResult {
  readonly kind: 'check' | 'action';
  readonly provider: string;
  readonly answer: Answer;
}
