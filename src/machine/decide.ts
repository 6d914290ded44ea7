// Decides the next step of one server. Pure: takes a row and its decision context, and returns the next row and what
// follows.

import { toRfc3339 } from '../base/wording.ts';
import type { Reason, RunningAction, ServerRow } from '../model/rows.ts';
import type { Operation, State } from '../model/state.ts';
import type { DecisionContext, Next, ResponsibleEntry, Step } from './decision.ts';
import {
  isIdle,
  isLeftGone,
  isToBeConfirmed,
  leftGone,
  soughtAgain,
  tooManyRereads,
  withoutObserved,
} from './drift.ts';
import { isConverged, mayBeThere } from './existence.ts';
import { rolloutWait, serverWait, stopWait } from './needs.ts';
import { missingOutput } from './read-outputs.ts';
import { isBlockedFor, isSameReason, isStuck, lostText } from './reasons.ts';
import { silentProxyReason } from './responsibility.ts';
import { advance, requeue } from './transitions.ts';
import type { WaitOfKind } from './wait.ts';
import { rereadRow } from './want.ts';

/** A replacement that exceeds the delete budget is judged again after this time. Usually it is held by then. */
const REVIEW_MS = 30_000;

/**
 * An output, such as an address, may be reported after the creation. After this time the server that needs it is
 * blocked.
 */
const OUTPUT_MS = 10 * 60_000;
/** During that time, the server that should report it is checked at this interval. */
export const OUTPUT_CHECK_MS = 60_000;

function outputFight(times: number): Reason {
  const text = `outputs that it takes have changed ${times} times within 24 hours: find out why, then retry`;
  return { code: 'output_fight', text };
}

const REST: Next = { kind: 'rest' };
const PROTECTED: Reason = {
  code: 'protected',
  text: 'it is to be built again, and its instance is protected',
};

/**
 * Returns the next step of a server. An action starts only from a row that records it: intent comes first. Every row in
 * every state has a next step, because a pass that throws would be retried forever.
 */
export function decide(row: ServerRow, context: DecisionContext): Step {
  if (context.isInFlight) return { row, next: REST };
  const current = readsAtOnce(row) ? reread(row, context) : row;
  if (current !== row) return decide(current, context);
  if (row.action !== null && row.state !== 'unknown') return decideLost(row, row.action, context);
  if (row.due !== null) return decideDue(row, Date.parse(row.due), context);
  if (isForgotten(row)) return { row: null, next: REST };
  if (row.state === 'unknown') return decideCheck(row, context);
  if (row.state === 'blocked') return decideBlocked(row, context);
  if (row.wanted === null) return decideUnwanted(row, context);
  if (row.state !== 'pending' && !(row.checked && isSettled(row.state))) return decideQueued(row, context);
  if (row.checked) return decideWanted(row, context);
  return (isToAdopt(row) ? decideOutputs(row, context) : undefined) ?? decideCheck(row, context);
}

/** Returns true for an unwanted server whose row the next pass removes, without a call. */
function isForgotten(row: ServerRow): boolean {
  const { wanted, action, due, state, policy } = row;
  if (wanted !== null || due !== null || (action !== null && state !== 'unknown')) return false;
  // A retained server needs no check.
  if (policy.deletion === 'retain' && (state === 'unknown' || state === 'marked for delete')) return true;
  // If Treeline created nothing, a server of this name belongs to another party.
  return state !== 'unknown' && !mayBeThere(row);
}

function isSettled(state: State): boolean {
  return state === 'done' || state === 'drifted';
}

/** Puts a row whose wait is over back into the queue, and decides again. */
function decideQueued(row: ServerRow, context: DecisionContext): Step {
  return decide(requeue(row, { now: toRfc3339(context.now) }), context);
}

/** This process does not run the action, so its outcome is lost. It may still run elsewhere. */
function decideLost(row: ServerRow, action: RunningAction, context: DecisionContext): Step {
  const ends = context.lostActionEnds(action);
  if (ends > context.now) return { row, next: { kind: 'time', until: ends } };
  const reason = lostReason(action, context);
  return decide(advance(row, 'lose', { now: toRfc3339(context.now), reason, attempt: row.attempt + 1 }), context);
}

function lostReason(action: RunningAction, { lostBecause }: DecisionContext): Reason {
  return { code: 'outcome_lost', text: `${lostText(action, lostBecause)}; it is checked first` };
}

function decideDue(row: ServerRow, due: number, context: DecisionContext): Step {
  // A due time beyond the longest wait is from before the clock was set back.
  const isAhead = due > context.now && due <= context.now + context.waitMsMax;
  if (isAhead) return checkAfterCreate(row, context) ?? { row, next: { kind: 'time', until: due } };
  return row.state === 'unknown' ? decide({ ...row, due: null }, context) : decideQueued(row, context);
}

/**
 * Returns a check after a failed create, which may have made the server. The check does not wait for the next try, so
 * that a server that another party creates during the wait is not mistaken for it. Undefined if no check is possible.
 */
function checkAfterCreate(row: ServerRow, context: DecisionContext): Step | undefined {
  const isUnsure = !row.checked && row.mayExist && row.state !== 'unknown';
  if (!isUnsure || context.lastCheck !== undefined) return undefined;
  const provider = context.providerFor(row);
  if (provider.name === null || silenceOf(provider, context) !== undefined) return undefined;
  return decideCheck(row, context);
}

/**
 * A row that is blocked for lack of a provider, proxy or output continues once there is one. All others wait for an
 * operator.
 */
function decideBlocked(row: ServerRow, context: DecisionContext): Step {
  if (isBlockedFor(row, 'no_output')) return decideOutputs(row, context) ?? decideQueued(row, context);
  if (!isBlockedFor(row, 'no_provider', 'no_proxy', 'provider_changed')) return { row, next: REST };
  const provider = context.providerFor(row);
  // Keeps the recorded reason: that the other entry does not find the server says more than that it matches.
  if (provider.name === null && isBlockedFor(row, 'provider_changed')) return { row, next: REST };
  if (provider.name === null) return { row: withReason(row, provider.reason), next: REST };
  const silence = silenceOf(provider, context);
  if (silence === undefined) return decideQueued(row, context);
  return { row: withReason(row, silence), next: capacityWait(row, provider) };
}

/** Returns the reason to hold a server because no proxy asks for it; undefined if one does, or may soon. */
function silenceOf({ tags, isSilent }: ResponsibleEntry, { claimant }: DecisionContext): Reason | undefined {
  return isSilent && tags !== undefined && claimant === undefined ? silentProxyReason(tags) : undefined;
}

/**
 * Returns the blocked row if no proxy asks for the server's work. The first proxy that asks gets it. Undefined: the
 * server is not blocked.
 */
function heldBySilence(row: ServerRow, provider: ResponsibleEntry, context: DecisionContext): ServerRow | undefined {
  const silence = silenceOf(provider, context);
  if (silence === undefined) return undefined;
  return hold(row, silence, context).row;
}

function decideCheck(row: ServerRow, context: DecisionContext): Step {
  const provider = context.providerFor(row);
  if (provider.name === null) return hold(row, provider.reason, context);
  const checked = isStuck(row) && row.action !== null ? { ...row, reason: lostReason(row.action, context) } : row;
  if (!context.hasCapacity(provider.name))
    return { row: heldBySilence(row, provider, context) ?? checked, next: capacityWait(row, provider) };
  return { row: checked, next: { kind: 'check', provider: provider.name, tags: claimedTags(provider, context) } };
}

/**
 * Returns the tags of a server that the asking proxy also has: what the proxy finds or creates is at its own site, not
 * at the sites of the other tags.
 */
function claimedTags(
  { tags }: ResponsibleEntry,
  { claimant }: Pick<DecisionContext, 'claimant'>,
): readonly string[] | undefined {
  return claimant === undefined ? tags : tags?.filter((tag) => claimant.tags.includes(tag));
}

function capacityWait(
  { instance }: ServerRow,
  { name, tags }: ResponsibleEntry,
  isChecked = false,
): WaitOfKind<'capacity'> {
  const forProxies = tags === undefined ? {} : { tags, ...(isChecked ? { isChecked } : {}) };
  return { kind: 'capacity', provider: name, instance, ...forProxies };
}

function decideUnwanted(row: ServerRow, context: DecisionContext): Step {
  if (row.state !== 'marked for delete') return decideQueued(row, context);
  const holder = serverWait(row, context);
  if (holder !== undefined) return { row, next: holder };
  return start(row, 'delete', context);
}

function decideWanted(row: ServerRow, context: DecisionContext): Step {
  if (row.state === 'drifted') return decideRest(row, context);
  if (isConverged(row)) return settle(row, context);
  if (row.state !== 'pending') return decideQueued(row, context);
  const unmet = serverWait(row, context);
  if (unmet !== undefined) return { row, next: unmet };
  const current = reread(row, context);
  if (current !== row) return decide(current, context);
  const stopped = decideOutputs(row, context);
  if (stopped !== undefined) return stopped;
  if (row.applied === null) return start(row, 'create', context);
  if (isToBeConfirmed(row)) return decideConfirmation(row, context);
  // The protection ends an earlier approval: after it, the replacement counts like any other.
  if (row.replacing && row.policy.protected) return hold({ ...row, approved: false }, PROTECTED, context);
  const next = waitsForBudget(row, context) ?? rolloutWait(row, context);
  if (next !== undefined) return { row, next };
  return start(row, row.replacing ? 'delete' : 'update', context);
}

/**
 * Returns true if the server exists, or if the next check may adopt it. Any other server reads outputs right before its
 * create.
 */
function readsAtOnce(row: ServerRow): boolean {
  return (row.applied !== null || isToAdopt(row)) && !isBlockedFor(row, 'output_fight');
}

/**
 * Returns true if the next check may adopt the server. The check compares it with all wanted values, so the outputs
 * that it uses must be known before: a later value would start an update.
 */
function isToAdopt({ state, checked, wanted, applied, adopting, policy, mayExist }: ServerRow): boolean {
  if (state !== 'pending' || checked || wanted === null || applied !== null) return false;
  return adopting || (policy.adopt && !mayExist);
}

function reread(row: ServerRow, { outputs, now }: DecisionContext): ServerRow {
  return rereadRow(row, outputs, now);
}

/**
 * Returns the step of a server that must not start an action because an output that it uses is unknown, or changes
 * again and again. Undefined: nothing stops it.
 */
function decideOutputs(row: ServerRow, context: DecisionContext): Step | undefined {
  const { wanted, applied, since } = row;
  const { outputs, now } = context;
  if (wanted?.reads === undefined) return undefined;
  const unknown = missingOutput(wanted, outputs);
  if (unknown === undefined) {
    const times = applied === null ? undefined : tooManyRereads(row, now);
    return times === undefined ? undefined : hold(row, outputFight(times), context);
  }
  const { server, output, fault } = unknown;
  const until = Math.max(Math.min(Date.parse(since), now), outputs.sinceOf(server)) + OUTPUT_MS;
  const wait = { kind: 'output', server, output } as const;
  if (row.state !== 'blocked' && fault === null && now < until) {
    // All servers that wait for one server request its checks at the same times.
    const nextCheck = (Math.floor(now / OUTPUT_CHECK_MS) + 1) * OUTPUT_CHECK_MS;
    return { row, next: { ...wait, until: Math.min(until, nextCheck) } };
  }
  const text = `the output "${output}" of ${server} ${fault ?? 'is not reported by its provider'}`;
  const reason: Reason = { code: 'no_output', text };
  // The wait has an end, because no one else may request a check of that server.
  return { row: withReason(hold(row, reason, context).row, reason), next: { ...wait, until: now + OUTPUT_MS } };
}

/** Returns the wait of an idle server for an output that only its configuration uses, or `rest`. */
function restWait({ wanted }: ServerRow, { outputs, now }: DecisionContext): Next {
  const unknown = wanted === null ? undefined : missingOutput(wanted, outputs);
  if (unknown === undefined) return REST;
  return { kind: 'output', server: unknown.server, output: unknown.output, until: now + OUTPUT_MS };
}

/** A held or suspended server is not judged: it waits for the end of that. */
function waitsForBudget(row: ServerRow, context: DecisionContext): Next | undefined {
  if (!row.replacing || row.approved || context.stoppedUntil !== undefined) return undefined;
  const mayReplace = context.mayReplace();
  if (mayReplace === undefined) return { kind: 'again' };
  return mayReplace ? undefined : { kind: 'budget', until: context.now + REVIEW_MS };
}

/** An idle server is checked on a schedule. Its check waits for capacity behind all actions. */
function decideRest(row: ServerRow, context: DecisionContext): Step {
  if (isLeftGone(row) && hasChangedProvider(row, context)) return decide(soughtAgain(row, context.now), context);
  const rest = { row, next: restWait(row, context) };
  if (!context.isCheckDue || !isIdle(row)) return rest;
  const provider = context.providerFor(row);
  if (provider.name === null) return rest;
  if (!context.hasCapacity(provider.name, true))
    return { row, next: { ...capacityWait(row, provider), isRoutine: true } };
  const tags = claimedTags(provider, context);
  return { row, next: { kind: 'check', provider: provider.name, isRoutine: true, tags } };
}

function hasChangedProvider(row: ServerRow, context: DecisionContext): boolean {
  const provider = context.providerFor(row);
  return provider.name === null && provider.reason.code === 'provider_changed';
}

/**
 * A server that a check found gone is created again only if a second check finds it gone, too. In addition, another
 * server of its site must have been found since, or the answers must name the known place.
 */
function decideConfirmation(row: ServerRow, context: DecisionContext): Step {
  const stop = stopWait(row, context);
  if (stop !== undefined) return { row, next: stop };
  const provider = context.providerFor(row);
  if (provider.name === null) return hold(row, provider.reason, context);
  const until = context.siteAwaitedUntil(row);
  if (until === undefined) return decideCheck(row, context);
  if (until > context.now) return { row, next: { kind: 'site', until } };
  return { row: leftGone(row, { now: toRfc3339(context.now) }), next: REST };
}

function settle(row: ServerRow, context: DecisionContext): Step {
  if (isSettled(row.state)) return decideRest(row, context);
  const settled = advance(row, 'settle', {
    now: toRfc3339(context.now),
    applied: row.wanted,
    attempt: 0,
    gaveUp: false,
  });
  return { row: settled, next: restWait(settled, context) };
}

function start(row: ServerRow, operation: Exclude<Operation, 'check'>, context: DecisionContext): Step {
  const stop = stopWait(row, context);
  if (stop !== undefined) return { row, next: stop };
  const provider = context.providerFor(row);
  if (provider.name === null) return hold(row, provider.reason, context);
  if (!context.hasCapacity(provider.name)) {
    const next = capacityWait(row, provider, operation === 'create' && context.lastCheck === 'answered');
    return { row: heldBySilence(row, provider, context) ?? row, next };
  }
  // Another party may have created the server during the wait.
  if (operation === 'create' && context.lastCheck !== 'answered') return decideCheck(row, context);
  // If a delete began, the create makes a new incarnation, whether or not the delete succeeded.
  const incarnation = row.incarnation + (operation === 'create' && row.dirty ? 1 : 0);
  const action: RunningAction = {
    id: operation === 'create' ? `${incarnation}.create` : `${incarnation}.${operation}.${row.generation}`,
    operation,
    spec: operation === 'delete' ? null : row.wanted,
    provider: provider.name,
    started: toRfc3339(context.now),
    deadline: toRfc3339(context.now + provider.timeoutMs),
    ...(provider.lostActionEnds === undefined ? {} : { ends: provider.lostActionEnds }),
    ...(row.approved ? { isApproved: true } : {}),
    ...(operation === 'create' && row.replacing && !row.mayExist && row.attempt === 0 ? { isRebuild: true } : {}),
    ...(context.claimant === undefined ? {} : { claim: context.claimant.claim }),
  };
  const begun = operation === 'create' ? { mayExist: true, dirty: false } : { dirty: true };
  const site = operation === 'create' ? claimedTags(provider, context) : provider.tags;
  const tags = site === undefined ? {} : { proxyTags: site };
  const facts = { action, incarnation, provider: provider.name, ...tags, ...begun };
  // The reason of a healing action is the drift.
  const reason = row.reason?.code === 'drifted' ? row.reason : null;
  return {
    row: advance(withoutObserved(row), `start ${operation}`, {
      now: action.started,
      reason,
      ...facts,
    }),
    next: { kind: 'run', provider: provider.name },
  };
}

function hold(row: ServerRow, reason: Reason, context: DecisionContext): Step & { readonly row: ServerRow } {
  if (row.state === 'blocked') return { row, next: REST };
  // The state stays `unknown`, and the reason says why no check runs.
  if (row.state === 'unknown') return { row: withReason(row, reason), next: REST };
  return { row: advance(row, 'hold', { now: toRfc3339(context.now), reason }), next: REST };
}

function withReason(row: ServerRow, reason: Reason): ServerRow {
  return isSameReason(row.reason, reason) ? row : { ...row, reason };
}
