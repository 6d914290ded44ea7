// What makes, changes, removes and looks at servers. Implementations: simulated.ts; others join the registry.
import type { JsonMap } from '../model/json.ts';
import type { Properties } from '../model/objects.ts';
import type { NodeRecord } from '../model/record.ts';
import type { Spec } from '../model/spec.ts';
import type { Operation } from '../model/state.ts';

export interface Call {
  readonly operation: Operation;
  /** The same for a repeated call of the same step; a provider may use it to recognise one. */
  readonly action: string;
  /** The server's name. */
  readonly resource: string;
  readonly kind: string;
  readonly properties: Properties;
  /** The merged configuration, as hiera serves it. */
  readonly record: NodeRecord;
  /** What the last success left, or null. */
  readonly applied: Spec | null;
  readonly outputs: JsonMap | null;
  /** RFC 3339, with milliseconds. */
  readonly deadline: string;
}

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

/**
 * Every call may be repeated, and `create` of what is there, `delete` of what is gone, answer as if they had done it.
 * A call that throws has a lost outcome: it may have happened, or may be happening still.
 */
export interface Provider {
  /**
   * When an action whose outcome was lost can no longer be running: with the controller's own end, or once its
   * deadline and the grace have passed. Before that nobody looks at it again.
   */
  readonly lostActionEnds: 'with the controller' | 'after its deadline';

  /** Does what the call asks, and answers. `signal` fires at the deadline and when the controller stops waiting. */
  perform(call: Call, signal: AbortSignal): Promise<Answer>;

  close(): Promise<void>;
}
