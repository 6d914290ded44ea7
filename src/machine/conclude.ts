// What the end of an action or a check means for a server's row. Pure; the counterpart of decide.ts.

import type { Answer, CallResult } from '../model/call-result.ts';
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
import { isConverged } from './existence.ts';

const RUNNING: ReadonlySet<State> = new Set(['creating', 'updating', 'deleting']);

/** Returns the row after a call has answered, or null where nothing is left to remember. */
export function conclude(row: ServerRow, result: CallResult, at: ConcludeContext): ServerRow | null {
  if (result.kind === 'check') return concludeCheck(row, result, at);
  // An answer that comes when the outcome counts as lost comes too late: a check follows.
  if (row.action === null || !RUNNING.has(row.state)) return row;
  return concludeAction(row, row.action, { answer: result.answer, at });
}

function concludeAction(row: ServerRow, action: RunningAction, { answer, at }: Ending): ServerRow | null {
  const { outcome } = answer;
  if (action.operation === 'delete') {
    if (outcome === 'done' || outcome === 'absent') return concludeDelete(row, { answer, at });
  } else if (outcome === 'done') {
    return concludeDone(row, action, { answer, at });
  } else if (outcome === 'absent' && action.operation === 'update') {
    return catchUp(advance(row, 'learn', { ...moment(at), ...gone(row) }), at);
  } else if (outcome === 'replace' && action.operation === 'update') {
    // What is wanted by now may be reached without; then the provider is asked again.
    const facts = { action: null, attempt: 0, replacing: !isOutdated(row, action) };
    return catchUp(
      advance(row, 'learn', { ...moment(at, { code: 'must_replace', text: answer.message }), ...facts }),
      at,
    );
  }
  const words = outcome === 'retryable' || outcome === 'failed' ? answer.message : `answered "${outcome}"`;
  const reason: Reason = { code: 'action_failed', text: `${action.operation}: ${words}` };
  const failed = fail({ ...row, action: null }, { isFinal: outcome === 'failed', reason, at });
  // What is wanted by now has not failed yet.
  return isOutdated(failed, action) ? requeue({ ...failed, gaveUp: row.gaveUp }, moment(at)) : failed;
}

/**
 * The server is there. A create that finds it otherwise than asked counts as a try: else a provider that always says so
 * would be asked for ever.
 */
function concludeDone(row: ServerRow, action: RunningAction, { answer, at }: Ending): ServerRow {
  const applied = appliedBy(action, answer);
  const attempt = applied === action.spec ? 0 : row.attempt + 1;
  const facts = { applied, outputs: answer.outputs, action: null, attempt };
  const whole = { dirty: false, replacing: false, gaveUp: false };
  const after = catchUp(advance(row, 'succeed', { ...moment(at), ...facts, ...whole }), at);
  if (attempt <= at.retry.attempts || isConverged(after) || isOutdated(row, action)) return after;
  const reason: Reason = {
    code: 'action_failed',
    text: `${action.operation}: it is made otherwise than asked, each time`,
  };
  return waitForTry(after, { isFinal: true, reason, at });
}

/** A create may find what an earlier try, for another commit, has left; then an update follows. */
function appliedBy({ operation, spec }: RunningAction, { observed }: Answer): Spec | null {
  return operation === 'create' && spec !== null ? withObserved(spec, observed) : spec;
}

/** The server is gone. Where it is wanted, or is being replaced, another incarnation of it begins. */
function concludeDelete(row: ServerRow, { answer, at }: Ending): ServerRow | null {
  if (row.wanted === null) return null;
  // Nothing is created on the word of a delete alone: a check has to find it absent first.
  const checked = answer.outcome === 'absent';
  return advance(row, 'succeed', { ...moment(at), ...gone(row), checked, attempt: 0 });
}
