// What the end of an action or a check means for a server's row. Pure; the counterpart of decide.ts.
import { momentOf } from '../clock.ts';
import type { Ended } from '../execute/executor.ts';
import { advance } from '../machine/advance.ts';
import { isSame, type JsonMap } from '../model/json.ts';
import type { Properties } from '../model/objects.ts';
import type { RunningAction, ServerRow } from '../model/recorded.ts';
import type { Spec } from '../model/spec.ts';
import { differingProperties, isApplied } from '../plan/difference.ts';
import type { Answer } from '../providers/provider.ts';
import type { RetrySettings } from '../settings.ts';
import { backoffMs } from './backoff.ts';
import { reasonOf } from './reasons.ts';

export interface Circumstances {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly retry: RetrySettings;
  /** In [0, 1). */
  readonly random: () => number;
}

/** Returns the row after a call has answered, or null where nothing is left to remember. */
export function conclude(row: ServerRow, ended: Ended, at: Circumstances): ServerRow | null {
  if (ended.kind === 'check') return concludeCheck(row, ended, at);
  return row.action === null ? row : concludeAction(row, row.action, { answer: ended.answer, at });
}

interface Ending {
  readonly answer: Answer;
  readonly at: Circumstances;
}

function concludeAction(row: ServerRow, action: RunningAction, { answer, at }: Ending): ServerRow | null {
  const { outcome } = answer;
  if (action.operation === 'delete') {
    if (outcome === 'done' || outcome === 'absent') return concludeDelete(row, { answer, at });
  } else if (outcome === 'done') {
    const facts = { applied: appliedBy(action, answer), outputs: answer.outputs, action: null, attempt: 0 };
    const whole = { touched: false, replacing: false, gaveUp: false };
    return catchUp(advance(row, 'succeed', { ...moment(at), ...facts, ...whole }), at);
  } else if (outcome === 'absent' && action.operation === 'update') {
    return catchUp(advance(row, 'learn', { ...moment(at), ...gone(row), attempt: 0 }), at);
  } else if (outcome === 'replace' && action.operation === 'update') {
    // What is wanted by now may be reached without; then the provider is asked again.
    const facts = { action: null, attempt: 0, replacing: !isOutdated(row, action) };
    return catchUp(advance(row, 'learn', { ...moment(at, answer.message), ...facts }), at);
  }
  const words = outcome === 'retryable' || outcome === 'failed' ? answer.message : `answered "${outcome}"`;
  const reason = reasonOf('action_failed', `${action.operation}: ${words}`);
  const failed = fail({ ...row, action: null }, { isFinal: outcome === 'failed', reason, at });
  // What is wanted by now has not failed yet.
  return isOutdated(failed, action) ? requeue({ ...failed, gaveUp: row.gaveUp }, at) : failed;
}

/** A create may find what an earlier try, for another commit, has left; then an update follows. */
function appliedBy({ operation, spec }: RunningAction, { observed }: Answer): Spec | null {
  return operation === 'create' && spec !== null ? overlay(spec, observed) : spec;
}

/** The server is gone. Where it is wanted, or is being replaced, another building of it begins. */
function concludeDelete(row: ServerRow, { answer, at }: Ending): ServerRow | null {
  if (row.wanted === null) return null;
  // Nothing is created on the word of a delete alone: a check has to find it absent first.
  const seen = answer.outcome === 'absent';
  return advance(row, 'succeed', { ...moment(at), ...gone(row), seen, attempt: 0 });
}

function concludeCheck(row: ServerRow, { answer, provider }: Ended, at: Circumstances): ServerRow | null {
  if (answer.outcome !== 'done' && answer.outcome !== 'absent') {
    const reason = reasonOf('check_failed', answer.message || `the check answered "${answer.outcome}"`);
    return fail(row, { isFinal: answer.outcome === 'failed', reason, at });
  }
  if (row.state === 'unknown') return concludeLost(row, answer, at);
  if (answer.outcome === 'absent') return { ...row, seen: true, attempt: 0 };
  return row.wanted !== null && (row.policy.adopt || row.adopting)
    ? adopt({ ...row, provider }, row.wanted, { answer, at })
    : advance(
        row,
        'hold',
        moment(at, reasonOf('exists_already', 'it is already there; adopt it, or remove it by hand')),
      );
}

/** A check has told how things are after an outcome was lost. Every try counts, lost ones too. */
function concludeLost(row: ServerRow, answer: Answer, at: Circumstances): ServerRow | null {
  const { action } = row;
  if (answer.outcome === 'absent') {
    if (row.wanted === null) return null;
    const next = action?.operation === 'create' ? { action: null, seen: true } : gone(row);
    return exhausted(advance(row, 'learn', { ...moment(at), ...next }), at);
  }
  const known = action === null ? {} : knownAfter(row, action, answer.observed);
  return exhausted(catchUp(advance(row, 'learn', { ...moment(at), action: null, seen: true, ...known }), at), at);
}

/**
 * What is applied after a lost action, as far as the check can tell. A create left what it was asked for, but for what
 * was seen to differ, and what was not seen is made sure of; an update counts only where every property it was to change
 * was seen changed.
 */
function knownAfter(row: ServerRow, { spec }: RunningAction, observed: JsonMap): Partial<ServerRow> {
  if (spec === null) return {};
  const isWholeSeen = Object.keys(spec.properties).every((name) => Object.hasOwn(observed, name));
  if (row.applied === null) return { applied: overlay(spec, observed), replacing: false, touched: !isWholeSeen };
  const before = row.applied.properties;
  const changed = Object.keys(spec.properties).filter((name) => !isSame(spec.properties[name], before[name]));
  const isSeen = changed.length > 0 && changed.every((name) => isSame(spec.properties[name], observed[name]));
  return isSeen && differingProperties(spec, observed).length === 0 ? { applied: spec, touched: false } : {};
}

/** Takes over a server that Treeline did not make: it never deletes or replaces, and shows what differs. */
function adopt(row: ServerRow, wanted: Spec, { answer, at }: Ending): ServerRow {
  const differing = differingProperties(wanted, answer.observed);
  const facts = {
    applied: overlay(wanted, answer.observed),
    outputs: answer.outputs,
    seen: true,
    attempt: 0,
    adopting: false,
    gaveUp: false,
  };
  if (differing.length === 0) return advance(row, 'settle', { ...moment(at), ...facts });
  return advance(row, 'drift', { ...moment(at, `differs in ${differing.join(', ')}`), ...facts });
}

/** Returns the spec with the values that were observed instead of its own. */
function overlay(spec: Spec, observed: JsonMap): Spec {
  const differing = differingProperties(spec, observed);
  if (differing.length === 0) return spec;
  const seen = Object.fromEntries(differing.map((name) => [name, asProperty(observed[name])]));
  const properties: Properties = { ...spec.properties, ...seen };
  return { ...spec, properties };
}

function asProperty(value: unknown): string | readonly string[] {
  return Array.isArray(value) ? value.map(String) : String(value);
}

/** It was there and is not. Where it is wanted, its group misses it until it is built anew. */
function gone({ incarnation, wanted, applied }: ServerRow): Partial<ServerRow> {
  const nothing = { action: null, applied: null, outputs: {}, touched: false, approved: false };
  return { ...nothing, seen: true, incarnation: incarnation + 1, replacing: wanted !== null && applied !== null };
}

interface Failure {
  readonly isFinal: boolean;
  readonly reason: string;
  readonly at: Circumstances;
}

function fail(row: ServerRow, { isFinal, reason, at }: Failure): ServerRow {
  const attempt = row.attempt + 1;
  const isOver = isFinal || attempt >= at.retry.attempts;
  const waitMs = isOver ? at.retry.failedSeconds * 1000 : backoffMs(at.retry, attempt, at.random);
  const facts = { attempt: isOver ? 0 : attempt, gaveUp: isOver || row.gaveUp, due: momentOf(at.now + waitMs) };
  return advance(row, isOver ? 'give up' : 'fail', { ...moment(at, reason), ...facts });
}

/** Lost tries that used up all attempts are given up like failed ones. */
function exhausted(row: ServerRow, at: Circumstances): ServerRow {
  if (row.state !== 'pending' || row.attempt < at.retry.attempts) return row;
  return fail(row, { isFinal: true, reason: reasonOf('outcome_lost', 'the outcome was lost too often'), at });
}

/**
 * After an action: a commit may have come meanwhile, and then its turn comes at once. What needs no action still has to
 * be remembered as applied: deletes follow what is applied.
 */
function catchUp(row: ServerRow, at: Circumstances): ServerRow {
  const isUpToDate = row.wanted !== null && row.applied !== null && isApplied(row.wanted, row.applied);
  return isUpToDate && !row.replacing && !row.touched ? { ...row, applied: row.wanted } : requeue(row, at);
}

function requeue(row: ServerRow, at: Circumstances): ServerRow {
  return advance(row, row.wanted === null ? 'unwant' : 'want', { ...moment(at), due: null, attempt: row.attempt });
}

/** Returns true where the action was not for what is wanted by now. */
function isOutdated(row: ServerRow, action: RunningAction): boolean {
  if (row.wanted === null) return action.operation !== 'delete';
  return action.spec === null ? !row.replacing : !isApplied(row.wanted, action.spec);
}

function moment(at: Circumstances, reason = ''): { readonly now: string; readonly reason: string } {
  return { now: momentOf(at.now), reason };
}
