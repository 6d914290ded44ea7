// Computes the row of a server after an action or a check has ended. Pure; the counterpart of decide.ts.

import type { Answer, CallResult } from '../model/call-result.ts';
import { sharedOutputs } from '../model/outputs.ts';
import type { Reason, RunningAction, ServerRow } from '../model/rows.ts';
import type { Spec } from '../model/spec.ts';
import type { State } from '../model/state.ts';
import { advance, requeue } from './advance.ts';
import {
  type ConcludeContext,
  catchUp,
  type Ending,
  fail,
  gone,
  isOutdated,
  moment,
  waitForTry,
  withObserved,
} from './call-outcome.ts';
import { concludeCheck } from './conclude-check.ts';
import { differences, driftReason, missed } from './drift.ts';
import { isConverged } from './existence.ts';
import { lostText } from './reasons.ts';
import { withoutSecrets } from './secret-values.ts';
import { withoutForgotten } from './want.ts';

const RUNNING: ReadonlySet<State> = new Set(['creating', 'updating', 'deleting']);

/** Returns the row after a call has answered, or null if the row is to be removed. */
export function conclude(row: ServerRow, told: CallResult, at: ConcludeContext): ServerRow | null {
  const result = { ...told, answer: withoutSecrets(row, told.answer, at) };
  if (result.kind === 'check') return concludeCheck(row, result, at);
  // An answer that arrives after the outcome was declared lost is ignored: a check follows.
  if (row.action === null || !RUNNING.has(row.state)) return row;
  if (row.action.isForgotten) return withoutForgotten(row, at.now);
  return concludeAction(row, row.action, { answer: result.answer, at });
}

function concludeAction(row: ServerRow, action: RunningAction, { answer, at }: Ending): ServerRow | null {
  const { outcome } = answer;
  if (outcome === 'lost') return lost(row, action, { answer, at });
  if (action.operation === 'delete') {
    if (outcome === 'done' || outcome === 'absent') return concludeDelete(row, { answer, at });
  } else if (outcome === 'done') {
    return concludeDone(row, action, { answer, at });
  } else if (outcome === 'absent' && action.operation === 'update') {
    if (row.wanted === null || !at.hasOthers?.())
      return catchUp(advance(row, 'learn', { ...moment(at), ...gone(row) }), at);
    // It counts as a try: a server that checks find, and updates do not, would be asked for without end.
    const attempt = row.attempt + 1;
    if (attempt <= at.retry.attempts)
      return advance(row, 'learn', { ...moment(at, driftReason(null)), ...missed(row, at), attempt });
  } else if (outcome === 'replace' && action.operation === 'update') {
    // The spec wanted now may be reachable without a replacement; the provider is asked again.
    const replacing = !isOutdated(row, action);
    const reason: Reason = { code: 'must_replace', text: answer.message };
    const learned = advance(row, 'learn', { ...moment(at, reason), action: null, attempt: 0, replacing });
    return replacing ? learned : catchUp(learned, at);
  }
  const words = outcome === 'retryable' || outcome === 'failed' ? answer.message : `answered "${outcome}"`;
  const reason: Reason = { code: 'action_failed', text: `${action.operation}: ${words}` };
  // What a create may have left is looked up at once, whatever its next try waits for.
  const checked = row.checked && action.operation !== 'create';
  const failed = fail({ ...row, action: null, checked }, { isFinal: outcome === 'failed', reason, at });
  // The spec wanted now has not failed yet.
  return isOutdated(failed, action) ? requeue({ ...failed, gaveUp: row.gaveUp }, moment(at)) : failed;
}

/** The program itself does not know: whatever its provider's rule, something of the action may run until its deadline. */
function lost(row: ServerRow, action: RunningAction, { answer }: Ending): ServerRow {
  const text = `${lostText(action, answer.message || undefined)}; it is checked once its deadline has passed`;
  return { ...row, action: { ...action, ends: 'after its deadline' }, reason: { code: 'outcome_lost', text } };
}

/**
 * Concludes a successful create or update. A create that finds differing values counts as a try: otherwise a provider
 * that always reports differences would be called for ever.
 */
function concludeDone(row: ServerRow, action: RunningAction, { answer, at }: Ending): ServerRow {
  const applied = appliedBy(action, answer);
  const attempt = applied === action.spec ? 0 : row.attempt + 1;
  const facts = { applied, outputs: sharedOutputs(answer.outputs), action: null, attempt };
  const whole = { dirty: false, replacing: false, gaveUp: false };
  if (action.isRebuild && attempt > 0 && !isOutdated(row, action))
    return concludeRebuild({ ...row, ...facts, ...whole, applied: action.spec, attempt: 0 }, { answer, at });
  const after = catchUp(advance(row, 'succeed', { ...moment(at), ...facts, ...whole }), at);
  if (attempt <= at.retry.attempts || isConverged(after) || isOutdated(row, action)) return after;
  const reason: Reason = {
    code: 'action_failed',
    text: `${action.operation}: it is made otherwise than asked, each time`,
  };
  return waitForTry(after, { isFinal: true, reason, at });
}

/**
 * Concludes a create in place of a server that could not be updated, which is made otherwise than asked: another update would be
 * answered by another replacement, without end. What differs is drift.
 */
function concludeRebuild(row: ServerRow, { answer, at }: Ending): ServerRow {
  const made = advance(row, 'succeed', moment(at));
  const { wanted, applied } = made;
  if (wanted === null || applied === null) return catchUp(made, at);
  const observed = differences({ wanted, applied }, answer.observed, at.isSecret);
  if (Object.keys(observed).length === 0) return catchUp(made, at);
  return advance({ ...made, observed }, 'drift', moment(at, driftReason(observed)));
}

/**
 * Returns the spec that the action has applied. A create may find what an earlier try for another commit left; then an
 * update follows.
 */
function appliedBy({ operation, spec }: RunningAction, { observed }: Answer): Spec | null {
  return operation === 'create' && spec !== null ? withObserved(spec, observed) : spec;
}

/** Concludes a delete. A server that is wanted or is being replaced begins its next incarnation. */
function concludeDelete(row: ServerRow, { answer, at }: Ending): ServerRow | null {
  if (row.wanted === null) return null;
  // The answer of a delete alone does not allow a create: a check has to find the server absent first.
  const checked = answer.outcome === 'absent';
  return advance(row, 'succeed', { ...moment(at), ...gone(row), checked, attempt: 0 });
}
