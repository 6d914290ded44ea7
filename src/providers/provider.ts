// What makes, changes, removes and looks at servers. Implementations: simulated.ts; others join the registry.
import type { Answer } from '../model/call-result.ts';
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
