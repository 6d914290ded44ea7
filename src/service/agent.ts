// Defines what proxies do: ask for actions, claim them, report how they ended. See docs/rest.md, agent.
import type { Answer } from '../model/call-result.ts';
import type { JsonMap } from '../model/json.ts';
import type { Client, Properties } from '../model/objects.ts';
import type { NodeRecord } from '../model/record.ts';
import type { Spec } from '../model/spec.ts';
import type { Operation } from '../model/state.ts';
import type { Caller } from './caller.ts';

/** An action or check, as a proxy is shown it. */
export interface AgentAction {
  /** Equal for repeated tries of the same step. */
  readonly id: string;
  readonly operation: Operation;
  /** The server's name. */
  readonly resource: string;
  readonly instance: string;
  /** The resource key of its template. */
  readonly group: string;
  readonly kind: string;
  readonly generation: number;
  /** Failed tries of this step. */
  readonly attempt: number;
  readonly properties: Properties;
  readonly record: NodeRecord;
  /** The spec that the last success applied, or null. */
  readonly applied: Spec | null;
  readonly outputs: JsonMap | null;
  readonly timeoutSeconds: number;
}

/** An action that belongs to a proxy until its deadline. */
export interface ClaimedAction {
  /** A secret of the proxy: heartbeats and the report name it. */
  readonly lease: string;
  /** RFC 3339, with milliseconds. */
  readonly deadline: string;
  /** The action to carry out: that of the newest commit, whatever was offered before. */
  readonly action: AgentAction;
}

/**
 * A proxy sees and takes the actions of servers whose tags it has. All others throw ServiceError `not_found`, as those
 * that do not exist.
 */
export interface Agent {
  /** Returns at most `limit` actions that the client may claim now. */
  actions(by: Client, limit: number): readonly AgentAction[];
  /**
   * Resolves once there may be actions for the client, after `ms` at the latest, or when `signal` fires. Throws
   * `too_many_requests` if it waits too often already, and `not_ready` when the controller stops.
   */
  wait(by: Client, ms: number, signal: AbortSignal): Promise<void>;
  /**
   * Resolves once the client may carry the action out; its intent is durable then. A repeat of the same `request` gets
   * the same answer. Throws `conflict` if a proxy holds it, or it is not to be done now.
   */
  claim(caller: Caller, id: string, request: string | null): Promise<ClaimedAction>;
  /** Notes that the client is at work. Throws `conflict` if it does not hold the action, or it was given up. */
  heartbeat(by: Client, id: string, lease: string): void;
  /**
   * Resolves once it is recorded how the action ended. A repeat of the same report succeeds as well. Throws `conflict`
   * if the client does not hold the action, or it was given up.
   */
  report(by: Client, id: string, result: { readonly lease: string; readonly answer: Answer }): Promise<void>;
}
