// Defines the contract of a provider, which creates, updates, deletes and checks servers. Implementations:
// simulated.ts, exec/exec-provider.ts.
import type { Answer } from '../model/call-result.ts';
import type { JsonMap } from '../model/json.ts';
import type { Properties } from '../model/objects.ts';
import type { NodeRecord } from '../model/record.ts';
import type { LostActionEnds } from '../model/rows.ts';
import type { Spec } from '../model/spec.ts';
import type { Operation } from '../model/state.ts';

/** One call to a provider: an action or a check. */
export interface Call {
  readonly operation: Operation;
  /** Equal for repeated calls of the same step; a provider may use it to recognise them. */
  readonly action: string;
  /** The server's name. */
  readonly resource: string;
  readonly kind: string;
  readonly properties: Properties;
  /** The merged configuration. */
  readonly record: NodeRecord;
  /** The spec that the last success applied, or null. */
  readonly applied: Spec | null;
  readonly outputs: JsonMap | null;
  /** RFC 3339, with milliseconds. */
  readonly deadline: string;
}

/** The version of the JSON contract that every call names. */
const CONTRACT_VERSION = 1;

/** Returns a call as one line of JSON. */
export function encodeCall(call: Call): string {
  const { operation, action, resource, kind, properties, record, applied, outputs, deadline } = call;
  const facts = { operation, action, resource, kind, properties, record, applied, outputs, deadline };
  return `${JSON.stringify({ version: CONTRACT_VERSION, ...facts })}\n`;
}

/**
 * Every call may be repeated: `create` of an existing server and `delete` of a missing one answer as if they had
 * succeeded. A call that throws has a lost outcome: it may have succeeded, or may still run.
 */
export interface Provider {
  /**
   * See LostActionEnds. If it is `with its call`, {@link hasEnded} decides.
   */
  readonly lostActionEnds: LostActionEnds;

  /**
   * Returns true if certainly nothing of a lost action runs any more. Otherwise the action counts as running until its
   * deadline and the grace time. Omitted: never certain.
   */
  hasEnded?(call: Pick<Call, 'resource' | 'action' | 'deadline'>): boolean;

  /**
   * True if calls run elsewhere, when a proxy claims them: they take no capacity of this controller, and a stop does
   * not wait for them. Omitted: calls run here.
   */
  readonly isPulled?: boolean;

  /** Executes the call and returns the answer. `signal` fires at the deadline and when the controller stops waiting. */
  perform(call: Call, signal: AbortSignal): Promise<Answer>;

  close(): Promise<void>;
}

/** A provider whose calls are answered from elsewhere, one at a time for each server. */
export interface PulledProvider extends Provider {
  /** Returns the call that is in progress for a server; undefined if there is none. */
  callOf(server: string): Call | undefined;
  /** Ends the call that is in progress for a server with this answer. */
  answer(server: string, answer: Answer): void;
}
