// Computes the row of a server after an action or a check: the first check, the checks before a create, after a failed
// create and after a lost outcome. drift.ts concludes the check of an idle server. Pure; the counterpart of decide.ts.
import type { Answer, CallResult } from '../model/call-result.ts';
import { isSame, type JsonMap } from '../model/json.ts';
import type { Reason, RunningAction, ServerRow } from '../model/rows.ts';
import type { Spec } from '../model/spec.ts';
import type { State } from '../model/state.ts';
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
import { concludeDrift, differences, driftReason, isIdle, isToBeConfirmed, missed, withoutObserved } from './drift.ts';
import { differingProperties, isConverged } from './existence.ts';
import { lostText } from './reasons.ts';
import { hasOtherTags } from './responsibility.ts';
import { withoutSecrets } from './secret-values.ts';
import { advance, requeue } from './transitions.ts';

const RUNNING: ReadonlySet<State> = new Set(['creating', 'updating', 'deleting']);

/** Returns the row after a call has answered, or null if the row is to be removed. */
export function conclude(row: ServerRow, reported: CallResult, at: ConcludeContext): ServerRow | null {
  const result = { ...reported, answer: withoutSecrets(row, reported.answer, at) };
  if (result.kind === 'check') return withReported(concludeCheck(row, result, at), result.answer);
  // An answer that arrives after the outcome was declared lost is ignored: a check follows.
  if (row.action === null || !RUNNING.has(row.state)) return row;
  return concludeAction(row, row.action, { answer: result.answer, at });
}

/**
 * A check may report outputs that were not known at the creation, such as an address. A check without outputs changes
 * nothing.
 */
function withReported(row: ServerRow | null, { outcome, outputs }: Answer): ServerRow | null {
  const hasOutputs = row !== null && row.applied !== null && outcome === 'done' && Object.keys(outputs).length > 0;
  return hasOutputs && !isSame(outputs, row.outputs) ? { ...row, outputs } : row;
}

function concludeAction(row: ServerRow, action: RunningAction, { answer, at }: Ending): ServerRow | null {
  const { outcome } = answer;
  if (outcome === 'lost') return lost(row, action, { answer, at });
  if (action.operation === 'delete') {
    if (outcome === 'done' || outcome === 'absent') return concludeDelete(row, { answer, at });
  } else if (outcome === 'done') {
    return concludeDone(row, action, { answer, at });
  } else if (outcome === 'absent' && action.operation === 'update') {
    if (row.wanted === null) return catchUp(advance(row, 'learn', { ...moment(at), ...gone(row) }), at);
    // Counts as a try. Otherwise a server that checks find but updates do not would be updated forever.
    const attempt = row.attempt + 1;
    if (attempt <= at.retry.attempts)
      return advance(row, 'learn', { ...moment(at, driftReason(null)), ...missed(row, at), attempt });
  } else if (outcome === 'replace' && action.operation === 'update') {
    // The spec wanted now may not need a replacement, so the provider is asked again.
    const replacing = !isOutdated(row, action);
    const reason: Reason = { code: 'must_replace', text: answer.message };
    const learned = advance(row, 'learn', { ...moment(at, reason), action: null, attempt: 0, replacing });
    return replacing ? learned : catchUp(learned, at);
  }
  const words = outcome === 'retryable' || outcome === 'failed' ? answer.message : `answered "${outcome}"`;
  const reason: Reason = { code: 'action_failed', text: `${action.operation}: ${words}` };
  // A failed create may have left a server, so a check follows before the next try.
  const checked = row.checked && action.operation !== 'create';
  const failed = fail({ ...row, action: null, checked }, { isFinal: outcome === 'failed', reason, at });
  // The spec wanted now has not failed yet.
  return isOutdated(failed, action) ? requeue({ ...failed, gaveUp: row.gaveUp }, moment(at)) : failed;
}

/** The provider itself reported the outcome as lost, so the action may run until its deadline, whatever `ends` says. */
function lost(row: ServerRow, action: RunningAction, { answer }: Ending): ServerRow {
  const text = `${lostText(action, answer.message || undefined)}; it is checked once its deadline has passed`;
  return { ...row, action: { ...action, ends: 'after its deadline' }, reason: { code: 'outcome_lost', text } };
}

/**
 * Concludes a successful create or update. A create that finds differing values counts as a try: otherwise a provider
 * that always reports differences would be called forever.
 */
function concludeDone(row: ServerRow, action: RunningAction, { answer, at }: Ending): ServerRow {
  const applied = appliedBy(action, answer);
  const attempt = applied === action.spec ? 0 : row.attempt + 1;
  const facts = { applied, outputs: answer.outputs, action: null, attempt };
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
 * Concludes a create that replaced a server and made it differ from the spec. An update could lead to another
 * replacement, and so on forever, so the differences count as drift.
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
 * Returns the spec that the action has applied. A create may find the server of an earlier try for another commit; then
 * an update follows.
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

const EXISTS: Reason = { code: 'exists_already', text: 'it is already there; adopt it, or remove it by hand' };

/** Returns the row after a check has ended, or null if the row is to be removed. */
function concludeCheck(row: ServerRow, result: CallResult, at: ConcludeContext): ServerRow | null {
  const { outcome } = result.answer;
  if (outcome === 'done' || outcome === 'absent') {
    if (row.state === 'unknown') return concludeLost(row, result.answer, at);
    if (isIdle(row) || isToBeConfirmed(row)) return concludeDrift(row, result.answer, at);
    return concludePresence(row, result, at);
  }
  // A failed check counts as a failed try only if an action waits for it.
  if (row.state !== 'unknown' && (row.state !== 'pending' || row.wanted === null)) return row;
  const reason: Reason = { code: 'check_failed', text: result.answer.message || `the check answered "${outcome}"` };
  return fail(row, { isFinal: outcome === 'failed', reason, at });
}

type ProviderAnswer = Pick<CallResult, 'answer' | 'provider'>;

/** The check has determined whether the server exists, and no outcome was lost. */
function concludePresence(row: ServerRow, { answer, provider }: ProviderAnswer, at: ConcludeContext): ServerRow {
  const isOfOthers = row.adopting && answer.outcome === 'absent' && mayBeElsewhere(row, provider, at);
  if ((row.adopting && row.applied !== null) || isOfOthers) return takeOver(row, { answer, provider }, at);
  // A server with an applied spec does not need the answer.
  if (row.applied !== null) return sighted(row);
  // Failed creates keep their count of tries. Only a check that is the first step starts at 0.
  if (answer.outcome === 'absent') {
    const isKnown = row.checked && !row.mayExist && !row.adopting;
    // There is nothing to adopt or delete. The request was not about a server that is created later under this name.
    const requests = { adopting: false, approved: false };
    const facts = {
      checked: true,
      mayExist: false,
      ...requests,
      attempt: row.checked || row.mayExist ? row.attempt : 0,
    };
    return isKnown ? row : { ...row, ...facts, ...freed(row) };
  }
  // A create began and no check has found the server absent since, so it is Treeline's own.
  if ((row.mayExist && !row.adopting) || row.wanted === null || row.state !== 'pending') return sighted(row);
  return row.policy.adopt || row.adopting
    ? adopt({ ...row, provider }, row.wanted, { answer, at })
    : advance(row, 'hold', { ...moment(at, EXISTS), checked: false });
}

/**
 * Returns true if a create by another entry, or by proxies of another site, may have left a server that `provider`
 * cannot see.
 */
function mayBeElsewhere(row: ServerRow, provider: string, { proxyTags }: ConcludeContext): boolean {
  if (!row.mayExist || row.provider === null) return false;
  // A commit removed it during the check, so it is no longer known which entry carried out the create.
  if (row.wanted === null) return true;
  return row.provider !== provider || hasOtherTags({ ...row, adopting: false }, proxyTags ?? []);
}

/**
 * Another provider entry takes the server over, as an operator requested. If it does not find the server, the row stays
 * blocked.
 */
function takeOver(row: ServerRow, { answer, provider }: ProviderAnswer, at: ConcludeContext): ServerRow {
  if (row.wanted === null || row.state !== 'pending') return { ...row, adopting: false, checked: true };
  if (answer.outcome === 'done') return adopt({ ...row, provider }, row.wanted, { answer, at });
  const reason: Reason = { code: 'provider_changed', text: notFoundText(row.provider, provider) };
  return advance(row, 'hold', { ...moment(at, reason), adopting: false, checked: true });
}

function notFoundText(maker: string | null, provider: string): string {
  if (maker === provider)
    return 'the proxies that would get it now do not find it; those that made it have another tag';
  return `the provider entry "${maker}" of the settings made it, and "${provider}" does not find it`;
}

/** If a server to adopt is absent, the entry that matches now creates it, even if another entry was asked before. */
function freed({ adopting }: ServerRow): Partial<ServerRow> {
  return adopting ? { provider: null } : {};
}

function sighted(row: ServerRow): ServerRow {
  return row.checked ? row : { ...row, checked: true };
}

/** Concludes the check after a lost outcome. Every try counts, including lost ones. */
function concludeLost(row: ServerRow, answer: Answer, at: ConcludeContext): ServerRow | null {
  const { action } = row;
  if (answer.outcome === 'absent') {
    if (row.wanted === null) return null;
    if (action?.operation === 'update' && row.applied !== null)
      return advance(row, 'learn', { ...moment(at, driftReason(null)), ...missed(row, at) });
    const next = action?.operation === 'create' ? { action: null, checked: true, mayExist: false } : gone(row);
    const learned = advance(row, 'learn', { ...moment(at), ...next });
    return action?.operation === 'delete' ? learned : waitAfterLoss(learned, action, at);
  }
  const known = action === null ? {} : knownAfter(row, action, answer.observed);
  const learned = advance(row, 'learn', { ...moment(at), action: null, checked: true, ...known });
  return waitAfterLoss(catchUp(learned, at), action, at);
}

/** A lost try that did not succeed is retried after a delay, and finally given up, like a failed one. */
function waitAfterLoss(row: ServerRow, action: RunningAction | null, at: ConcludeContext): ServerRow {
  // The spec wanted now has not been tried yet.
  if (isConverged(row) || action === null || isOutdated(row, action)) return row;
  const isFinal = row.attempt >= at.retry.attempts;
  const words = isFinal ? tooOften(at.lostBecause) : lostText(action, at.lostBecause);
  return waitForTry(row, { isFinal, reason: { code: 'outcome_lost', text: words }, at });
}

function tooOften(because: string | undefined): string {
  return `the outcome was lost too often${because === undefined ? '' : `: ${because}`}`;
}

/**
 * Returns the facts that are known after a lost action and a check. A create has applied its spec except for observed
 * differences; properties that were not observed are verified later. An update counts only if all properties that it
 * changes were observed with the new value.
 */
function knownAfter(row: ServerRow, { spec }: RunningAction, observed: JsonMap): Partial<ServerRow> {
  if (spec === null) return {};
  const isWholeSeen = Object.keys(spec.properties).every((name) => Object.hasOwn(observed, name));
  if (row.applied === null) return { applied: withObserved(spec, observed), replacing: false, dirty: !isWholeSeen };
  const before = row.applied.properties;
  const changed = Object.keys(spec.properties).filter((name) => !isSame(spec.properties[name], before[name]));
  const isSeen = changed.length > 0 && changed.every((name) => isSame(spec.properties[name], observed[name]));
  return isSeen && differingProperties(spec, observed).length === 0 ? { applied: spec, dirty: false } : {};
}

/**
 * Adopts a server that Treeline did not create: starts no action, and shows the differences. Earlier incarnations no
 * longer count.
 */
function adopt(row: ServerRow, wanted: Spec, { answer, at }: Ending): ServerRow {
  const observed = differences({ wanted, applied: wanted }, answer.observed, at.isSecret);
  const facts = {
    applied: withObserved(wanted, answer.observed),
    checked: true,
    attempt: 0,
    outputs: answer.outputs,
    ...(at.proxyTags === undefined ? {} : { proxyTags: at.proxyTags }),
    adopting: false,
    gaveUp: false,
    replacing: false,
    dirty: false,
  };
  if (Object.keys(observed).length === 0) return advance(withoutObserved(row), 'settle', { ...moment(at), ...facts });
  return advance(row, 'drift', { ...moment(at, driftReason(observed)), ...facts, observed });
}
