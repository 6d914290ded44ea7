// What the ends of actions and of checks have in common: waiting for the next try, catching up with what is wanted by now.
// Pure; conclude.ts and conclude-check.ts use it.

import type { Answer } from '../model/call-result.ts';
import type { JsonMap } from '../model/json.ts';
import { momentOf } from '../model/moment.ts';
import type { Properties } from '../model/objects.ts';
import type { Reason, RunningAction, ServerRow } from '../model/rows.ts';
import type { Spec } from '../model/spec.ts';
import { advance, requeue } from './advance.ts';
import { backoffMs, type RetryPolicy } from './backoff.ts';
import { differingProperties, needsNoAction } from './difference.ts';
import { isConverged } from './existence.ts';

export interface ConcludeContext {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly retry: RetryPolicy;
  /** In [0, 1). */
  readonly random: () => number;
}

export interface Ending {
  readonly answer: Answer;
  readonly at: ConcludeContext;
}

interface Failure {
  readonly isFinal: boolean;
  readonly reason: Reason;
  readonly at: ConcludeContext;
}

/** Returns the row after one more try that did not succeed: it waits for the next one, or gives up for a long while. */
export function fail(row: ServerRow, failure: Failure): ServerRow {
  return waitForTry({ ...row, attempt: row.attempt + 1 }, failure);
}

/** Returns the row that waits for its next try after `attempt` tries, or gives up where these are all or it is final. */
export function waitForTry(row: ServerRow, { isFinal, reason, at }: Failure): ServerRow {
  const isOver = isFinal || row.attempt >= at.retry.attempts;
  const waitMs = isOver ? at.retry.failedSeconds * 1000 : backoffMs(at.retry, Math.max(1, row.attempt), at.random);
  const facts = { attempt: isOver ? 0 : row.attempt, gaveUp: isOver || row.gaveUp, due: momentOf(at.now + waitMs) };
  return advance(row, isOver ? 'give up' : 'fail', { ...moment(at, reason), ...facts });
}

/**
 * Returns the row after an action: a commit may have come meanwhile, and then its turn comes at once. What needs no action
 * still has to be remembered as applied: deletes follow what is applied.
 */
export function catchUp(row: ServerRow, at: ConcludeContext): ServerRow {
  return isConverged(row) ? { ...row, applied: row.wanted } : requeue(row, moment(at));
}

/** Returns true where the action was not for what is wanted by now. */
export function isOutdated(row: ServerRow, action: RunningAction): boolean {
  if (row.wanted === null) return action.operation !== 'delete';
  return action.spec === null ? !row.replacing : !needsNoAction(row.wanted, action.spec);
}

/** Returns what changes where it was there and is not. Where it is wanted, its group misses it until it is built anew. */
export function gone({ incarnation, wanted, applied }: ServerRow): Partial<ServerRow> {
  const nothing = { action: null, applied: null, outputs: {}, mayExist: false, dirty: false, approved: false };
  return { ...nothing, checked: true, incarnation: incarnation + 1, replacing: wanted !== null && applied !== null };
}

/** Returns the spec with the values that were observed instead of its own; the same object where none differs. */
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

/** Returns when and why, as transitions take it. */
export function moment(
  at: ConcludeContext,
  reason: Reason | null = null,
): { readonly now: string; readonly reason: Reason | null } {
  return { now: momentOf(at.now), reason };
}
