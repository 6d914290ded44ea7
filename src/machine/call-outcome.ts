// Builds the row after the end of an action or check: retry after a delay, give up, or continue with the spec that is
// wanted now. Pure; used by conclude.ts and drift.ts.

import { toRfc3339 } from '../base/wording.ts';
import type { Answer } from '../model/call-result.ts';
import type { Json, JsonMap } from '../model/json.ts';
import type { DriftPolicy, Properties } from '../model/objects.ts';
import { NO_OUTPUTS } from '../model/outputs.ts';
import type { Reason, RunningAction, ServerRow } from '../model/rows.ts';
import type { RetryPolicy } from '../model/settings.ts';
import type { Spec } from '../model/spec.ts';
import { differingProperties, isConverged, needsNoAction } from './existence.ts';
import { advance, requeue } from './transitions.ts';

/** The rules of the followed commit for secrets. A missing function means that there are no secrets. */
export interface SecretRules {
  /** Returns true if a key is for a secret. */
  readonly isSecret?: (key: string) => boolean;
  /** Returns true if a value is a reference to a secret. */
  readonly isReference?: (value: Json) => boolean;
}

/** The facts that conclude a call, in addition to row and answer. */
export interface ConcludeContext extends SecretRules {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly retry: RetryPolicy;
  /** In [0, 1). */
  readonly random: () => number;
  /** Why the last action ended without an answer, if this process knows it. */
  readonly lostBecause?: string | undefined;
  /** The tags of the proxies that gave the answer; omitted if it is not from a proxy. */
  readonly proxyTags?: readonly string[] | undefined;
  /** Returns true if healing has reached its limit for recreating servers of this site within an hour. */
  readonly hasManyGone?: () => boolean;
  /** The drift policy of the provider entry; `report` if omitted. */
  readonly drift?: DriftPolicy;
}

/** The answer of a call, and the facts to conclude it with. */
export interface Ending {
  readonly answer: Answer;
  readonly at: ConcludeContext;
}

interface FailedTry {
  readonly isFinal: boolean;
  readonly reason: Reason;
  readonly at: ConcludeContext;
}

/** Returns the row after one more failed try: waiting for the next try, or given up for `failedSeconds`. */
export function fail(row: ServerRow, failure: FailedTry): ServerRow {
  return waitForTry({ ...row, attempt: row.attempt + 1 }, failure);
}

/**
 * Returns the row waiting for its next try after `attempt` tries, or given up if no try is left or the failure is
 * final.
 */
export function waitForTry(row: ServerRow, { isFinal, reason, at }: FailedTry): ServerRow {
  const isOver = isFinal || row.attempt >= at.retry.attempts;
  const waitMs = isOver ? at.retry.failedSeconds * 1000 : backoffMs(at.retry, Math.max(1, row.attempt), at.random);
  const facts = { attempt: isOver ? 0 : row.attempt, gaveUp: isOver || row.gaveUp, due: toRfc3339(at.now + waitMs) };
  return advance(row, isOver ? 'give up' : 'fail', { ...moment(at, reason), ...facts });
}

/**
 * Returns the row after an action. If a commit changed the wanted spec during the action, the server is queued again. A
 * spec that needs no action is recorded as applied, because deletes follow the applied dependencies.
 */
export function catchUp(row: ServerRow, at: ConcludeContext): ServerRow {
  return isConverged(row) ? { ...row, applied: row.wanted } : requeue(row, moment(at));
}

/** Returns true if the action was started for another spec than the one wanted now. */
export function isOutdated(row: ServerRow, action: RunningAction): boolean {
  if (row.wanted === null) return action.operation !== 'delete';
  return action.spec === null ? !row.replacing : !needsNoAction(row.wanted, action.spec);
}

/**
 * Returns the changes to a row whose server existed and is gone. A wanted server counts as away in its group until it
 * is created again.
 */
export function gone({ incarnation, wanted, applied, replacing }: ServerRow): Partial<ServerRow> {
  const nothing = { action: null, applied: null, outputs: NO_OUTPUTS, mayExist: false, dirty: false, approved: false };
  return {
    ...nothing,
    checked: true,
    incarnation: incarnation + 1,
    replacing: wanted !== null && (applied !== null || replacing),
  };
}

/** Returns the spec with the observed values in place of its own; the same object if none differs. */
export function withObserved(spec: Spec, observed: JsonMap): Spec {
  const differing = differingProperties(spec, observed);
  if (differing.length === 0) return spec;
  const checked = Object.fromEntries(differing.map((name) => [name, asProperty(observed[name])]));
  const properties: Properties = { ...spec.properties, ...checked };
  return { ...spec, properties };
}

function asProperty(value: unknown): string | readonly string[] {
  return Array.isArray(value) ? value.map(String) : String(value);
}

/** Returns the time and reason for a transition. */
export function moment(
  at: ConcludeContext,
  reason: Reason | null = null,
): { readonly now: string; readonly reason: Reason | null } {
  return { now: toRfc3339(at.now), reason };
}

/**
 * Returns the milliseconds until the next try after `attempt` failed ones (from 1): exponential with full jitter, so
 * that servers that failed together are not retried together. `random` is in [0, 1).
 */
export function backoffMs(policy: RetryPolicy, attempt: number, random: () => number): number {
  const ceilingSeconds = Math.min(policy.maxSeconds, policy.firstSeconds * 2 ** Math.min(attempt - 1, 30));
  return Math.round(ceilingSeconds * 1000 * random());
}
