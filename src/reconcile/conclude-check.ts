// Concludes a check for a server's row: the first one, the one before a create, the one after a failed create, and the one
// after a lost outcome. Pure; conclude.ts does the same for actions.
import type { Ended } from '../execute/executor.ts';
import { advance } from '../machine/advance.ts';
import { isSame, type JsonMap } from '../model/json.ts';
import type { RunningAction, ServerRow } from '../model/recorded.ts';
import type { Spec } from '../model/spec.ts';
import { differingProperties } from '../plan/difference.ts';
import type { Answer } from '../providers/provider.ts';
import {
  type Circumstances,
  catchUp,
  type Ending,
  fail,
  gone,
  isOutdated,
  moment,
  needsAction,
  overlay,
  waitForTry,
} from './ending.ts';
import { reasonOf } from './reasons.ts';

const EXISTS = reasonOf('exists_already', 'it is already there; adopt it, or remove it by hand');

/** Returns the row after a check has ended, or null where nothing is left to remember. */
export function concludeCheck(row: ServerRow, ended: Ended, at: Circumstances): ServerRow | null {
  const { outcome } = ended.answer;
  if (outcome === 'done' || outcome === 'absent') {
    return row.state === 'unknown' ? concludeLost(row, ended.answer, at) : concludeLook(row, ended, at);
  }
  // Where nothing depends on it, a check that fails is no failed try.
  if (row.state !== 'unknown' && (row.state !== 'pending' || row.wanted === null)) return row;
  const reason = reasonOf('check_failed', ended.answer.message || `the check answered "${outcome}"`);
  return fail(row, { isFinal: outcome === 'failed', reason, at });
}

/** A check has told whether the server is there, and no outcome was lost. */
function concludeLook(row: ServerRow, { answer, provider }: Ended, at: Circumstances): ServerRow {
  // Something of it is there by now, or nobody asks any more whether it is.
  if (row.applied !== null) return sighted(row);
  // Failed creates count on: only a check that was the first step of all has a count of its own.
  if (answer.outcome === 'absent') {
    const isKnown = row.seen && !row.mayExist && !row.adopting;
    // There is nothing to adopt: what is built under its name later is not what the person meant.
    const facts = { seen: true, mayExist: false, adopting: false, attempt: row.seen ? row.attempt : 0 };
    return isKnown ? row : { ...row, ...facts };
  }
  // A create of this building began, and no check has found it absent since: it is no stranger's.
  if (row.mayExist || row.wanted === null || row.state !== 'pending') return sighted(row);
  return row.policy.adopt || row.adopting
    ? adopt({ ...row, provider }, row.wanted, { answer, at })
    : advance(row, 'hold', { ...moment(at, EXISTS), seen: false });
}

function sighted(row: ServerRow): ServerRow {
  return row.seen ? row : { ...row, seen: true };
}

/** A check has told how things are after an outcome was lost. Every try counts, lost ones too. */
function concludeLost(row: ServerRow, answer: Answer, at: Circumstances): ServerRow | null {
  const { action } = row;
  if (answer.outcome === 'absent') {
    if (row.wanted === null) return null;
    const next = action?.operation === 'create' ? { action: null, seen: true, mayExist: false } : gone(row);
    const learned = advance(row, 'learn', { ...moment(at), ...next });
    return action?.operation === 'delete' ? learned : waitAfterLoss(learned, action, at);
  }
  const known = action === null ? {} : knownAfter(row, action, answer.observed);
  const learned = advance(row, 'learn', { ...moment(at), action: null, seen: true, ...known });
  return waitAfterLoss(catchUp(learned, at), action, at);
}

/** A lost try that did not succeed is followed by a wait, and given up in the end, like a failed one. */
function waitAfterLoss(row: ServerRow, action: RunningAction | null, at: Circumstances): ServerRow {
  // What is wanted by now has not been tried yet.
  if (!needsAction(row) || action === null || isOutdated(row, action)) return row;
  const isFinal = row.attempt >= at.retry.attempts;
  const words = isFinal ? 'the outcome was lost too often' : `nobody knows how the last ${action.operation} ended`;
  return waitForTry(row, { isFinal, reason: reasonOf('outcome_lost', words), at });
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

/**
 * Takes over a server that Treeline did not make: it never deletes or replaces, and shows what differs. What was begun
 * with an earlier building of it is over.
 */
function adopt(row: ServerRow, wanted: Spec, { answer, at }: Ending): ServerRow {
  const differing = differingProperties(wanted, answer.observed);
  const facts = {
    ...{ applied: overlay(wanted, answer.observed), outputs: answer.outputs, seen: true, attempt: 0 },
    ...{ adopting: false, gaveUp: false, replacing: false, touched: false },
  };
  if (differing.length === 0) return advance(row, 'settle', { ...moment(at), ...facts });
  return advance(row, 'drift', { ...moment(at, `differs in ${differing.join(', ')}`), ...facts });
}
