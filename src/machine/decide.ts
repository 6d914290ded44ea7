// What happens to one server next. Pure: a row and what surrounds it go in, the next row and what to wait for come out.
import { momentOf } from '../model/moment.ts';
import type { Reason, RunningAction, ServerRow } from '../model/rows.ts';
import type { Operation, State } from '../model/state.ts';
import { advance, requeue } from './advance.ts';
import { isConverged, mayBeThere } from './existence.ts';
import { isBlockedFor, isSameReason } from './reasons.ts';

/** `answered`: it told whether the server is there. `failed`: it did not. */
export type CheckEnd = 'answered' | 'failed';

/** What a pass leads to, after the row is written. */
export type Next =
  /** Nothing until a commit or a person changes something. */
  | { readonly kind: 'rest' }
  /** Look again at that time, milliseconds since 1970. */
  | { readonly kind: 'at'; readonly time: number }
  /**
   * Look again when that server is done, on which it depends; or when that one, a holder, needs it no more; or when that
   * one, of the same name in another spelling, is gone.
   */
  | { readonly kind: 'after'; readonly server: string; readonly need: 'dependency' | 'holder' | 'spelling' }
  /** Look again when fewer updates of its commit are failed, or when a person has approved it. */
  | { readonly kind: 'failures' }
  /** Look again when the suspension or hold of its instance changes, or at that time; infinity: there is none. */
  | { readonly kind: 'stopped'; readonly until: number }
  /** Look again at once, as soon as the row is written. */
  | { readonly kind: 'again' }
  /** What is held has to be judged anew; look again after that, in case it is not held by then. */
  | { readonly kind: 'review' }
  /** Look again when it has its turn in its group: at that time; undefined: when a member comes back. */
  | { readonly kind: 'slot'; readonly time: number | undefined }
  /** Look again when a call of that provider may be started. */
  | { readonly kind: 'capacity'; readonly provider: string }
  /** Ask the provider whether it is there. */
  | { readonly kind: 'check'; readonly provider: string }
  /** Carry out the action that the row now holds. */
  | { readonly kind: 'run'; readonly provider: string };

/** The next row, or null where the server is to be forgotten. The same object where nothing changes. */
export interface Step {
  readonly row: ServerRow | null;
  readonly next: Next;
}

/** What a decision may look at beside the row. */
export interface DecisionContext {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The provider entry that is responsible for the row, or why there is none. */
  readonly providerFor: (row: ServerRow) => ResponsibleProvider;
  /** When the row's action, which nobody here carries out, can no longer be running: milliseconds since 1970. */
  readonly lostActionEnds: (action: RunningAction) => number;
  /** An action or check of it is under way in this process. */
  readonly isInFlight: boolean;
  /** Whether one more call of that provider may be started now. */
  readonly hasCapacity: (provider: string) => boolean;
  /** Until when no action of its instance may start, milliseconds since 1970, infinity: until somebody says so. */
  readonly stoppedUntil: number | undefined;
  /** Whether too many updates of its commit have failed, so that no further one starts. */
  readonly updatesAreHeld: (row: ServerRow) => boolean;
  /** Why it need not wait for others, where its wait was a part of a circle. */
  readonly goesFirst: Reason | undefined;
  /**
   * Whether its replacement, which nobody approved, fits the budget. Undefined where its recorded row does not say yet
   * that it is replaced, so that others do not count it.
   */
  readonly mayReplace: () => boolean | undefined;
  /** How its last check ended, if that is at most 30 s ago and no action on it has begun since. */
  readonly lastCheck: CheckEnd | undefined;
  /** A server whose name differs from its own in case only and that has to be gone before this one begins. */
  readonly otherSpelling: (row: ServerRow) => string | undefined;
  /** A server that has to be done before this one, if any is not. */
  readonly unmetDependency: (row: ServerRow) => string | undefined;
  /** The first server that still needs this one, if any does. */
  readonly holdingUp: (row: ServerRow) => string | undefined;
  /** Whether its group lets one more member go away for a change: now, from a time on, or after another has changed. */
  readonly hasSlot: (row: ServerRow) => boolean | number;
}

export type ResponsibleProvider =
  | { readonly name: string; readonly timeoutMs: number }
  | { readonly name: null; readonly reason: Reason };

const REST: Next = { kind: 'rest' };
const PROTECTED: Reason = {
  code: 'protected',
  text: 'it can only be changed by building it anew, and its instance is protected',
};

/**
 * Returns the next step of a server. An action is only started out of a row that says so: intent comes first. Every row
 * has a next step, whatever its state: a pass that throws would be tried again for ever.
 */
export function decide(row: ServerRow, context: DecisionContext): Step {
  if (context.isInFlight) return { row, next: REST };
  if (row.action !== null && row.state !== 'unknown') return decideLost(row, row.action, context);
  if (row.due !== null) return decideDue(row, Date.parse(row.due), context);
  if (row.state === 'unknown') return decideCheck(row, context);
  // What is there under its name, if anything is, belongs to somebody else.
  if (row.wanted === null && !mayBeThere(row)) return { row: null, next: REST };
  if (row.state === 'blocked') return decideBlocked(row, context);
  if (row.wanted === null) return decideUnwanted(row, context);
  const other = context.otherSpelling(row);
  if (other !== undefined) return { row, next: { kind: 'after', server: other, need: 'spelling' } };
  if (row.state !== 'pending' && !(row.checked && isSettled(row.state))) return decideQueued(row, context);
  return row.checked ? decideWanted(row, context) : decideCheck(row, context);
}

function isSettled(state: State): boolean {
  return state === 'done' || state === 'drifted';
}

/** Puts a row whose wait is over back into the queue, and decides again. */
function decideQueued(row: ServerRow, context: DecisionContext): Step {
  return decide(requeue(row, { now: momentOf(context.now) }), context);
}

/** Nobody here carries the action out, so its outcome is lost; but it may still be running somewhere. */
function decideLost(row: ServerRow, action: RunningAction, context: DecisionContext): Step {
  const ends = context.lostActionEnds(action);
  if (ends > context.now) return { row, next: { kind: 'at', time: ends } };
  const reason: Reason = {
    code: 'outcome_lost',
    text: `nobody knows how the last ${action.operation} ended; it is checked first`,
  };
  return decide(advance(row, 'lose', { now: momentOf(context.now), reason, attempt: row.attempt + 1 }), context);
}

function decideDue(row: ServerRow, due: number, context: DecisionContext): Step {
  if (due > context.now) return checkAfterCreate(row, context) ?? { row, next: { kind: 'at', time: due } };
  return row.state === 'unknown' ? decide({ ...row, due: null }, context) : decideQueued(row, context);
}

/**
 * A create that failed may have made the server. It is checked at once, so that what somebody else builds during the wait
 * is not taken for it. Undefined where nothing is to be learned now.
 */
function checkAfterCreate(row: ServerRow, context: DecisionContext): Step | undefined {
  const isUnsure = row.applied === null && row.mayExist && row.state !== 'unknown';
  if (!isUnsure || context.lastCheck !== undefined || context.providerFor(row).name === null) return undefined;
  return decideCheck(row, context);
}

/** What is blocked for want of a provider goes on when the settings name one; the rest waits for a person. */
function decideBlocked(row: ServerRow, context: DecisionContext): Step {
  const provider = context.providerFor(row);
  if (provider.name === null || !isBlockedFor(row, 'no_provider', 'provider_changed')) return { row, next: REST };
  return decideQueued(row, context);
}

function decideCheck(row: ServerRow, context: DecisionContext): Step {
  const provider = context.providerFor(row);
  if (provider.name === null) return hold(row, provider.reason, context);
  if (!context.hasCapacity(provider.name)) return { row, next: { kind: 'capacity', provider: provider.name } };
  return { row, next: { kind: 'check', provider: provider.name } };
}

function decideUnwanted(row: ServerRow, context: DecisionContext): Step {
  if (row.state !== 'marked for delete') return decideQueued(row, context);
  if (row.policy.deletion === 'retain') return { row: null, next: REST };
  const holder = context.holdingUp(row);
  if (holder !== undefined) return { row, next: { kind: 'after', server: holder, need: 'holder' } };
  return start(row, 'delete', context);
}

function decideWanted(row: ServerRow, context: DecisionContext): Step {
  if (row.state === 'drifted') return { row, next: REST };
  if (isConverged(row)) return settle(row, context);
  if (row.state !== 'pending') return decideQueued(row, context);
  const unmet = context.unmetDependency(row);
  if (unmet !== undefined) return { row, next: { kind: 'after', server: unmet, need: 'dependency' } };
  if (row.applied === null) return start(row, 'create', context);
  if (row.replacing && row.policy.protected) return hold(row, PROTECTED, context);
  const next = waitsForBudget(row, context);
  if (next !== undefined) return { row, next };
  if (context.updatesAreHeld(row)) return { row, next: { kind: 'failures' } };
  const slot = context.hasSlot(row);
  if (slot !== true) return { row, next: { kind: 'slot', time: slot === false ? undefined : slot } };
  return start(row, row.replacing ? 'delete' : 'update', context);
}

/** What is held or suspended already waits for that to end; it is not judged again and again. */
function waitsForBudget(row: ServerRow, context: DecisionContext): Next | undefined {
  if (!row.replacing || row.approved || context.stoppedUntil !== undefined) return undefined;
  const mayReplace = context.mayReplace();
  if (mayReplace === undefined) return { kind: 'again' };
  return mayReplace ? undefined : { kind: 'review' };
}

function settle(row: ServerRow, context: DecisionContext): Step {
  if (isSettled(row.state)) return { row, next: REST };
  const settled = advance(row, 'settle', {
    now: momentOf(context.now),
    applied: row.wanted,
    attempt: 0,
    gaveUp: false,
  });
  return { row: settled, next: REST };
}

function start(row: ServerRow, operation: Exclude<Operation, 'check'>, context: DecisionContext): Step {
  if (context.stoppedUntil !== undefined) return { row, next: { kind: 'stopped', until: context.stoppedUntil } };
  const provider = context.providerFor(row);
  if (provider.name === null) return hold(row, provider.reason, context);
  if (!context.hasCapacity(provider.name)) return { row, next: { kind: 'capacity', provider: provider.name } };
  // Somebody else may have built it while it waited for its turn.
  if (operation === 'create' && context.lastCheck !== 'answered') return decideCheck(row, context);
  // Where a delete began, what is created is another server, whatever became of that delete.
  const incarnation = row.incarnation + (operation === 'create' && row.dirty ? 1 : 0);
  const action: RunningAction = {
    id: operation === 'create' ? `${incarnation}.create` : `${incarnation}.${operation}.${row.generation}`,
    operation,
    spec: operation === 'delete' ? null : row.wanted,
    provider: provider.name,
    started: momentOf(context.now),
    deadline: momentOf(context.now + provider.timeoutMs),
    ...(row.approved ? { isApproved: true } : {}),
  };
  const begun = operation === 'create' ? { mayExist: true, dirty: false } : { dirty: true };
  const facts = { action, incarnation, provider: provider.name, ...begun };
  return {
    row: advance(row, `start ${operation}`, { now: action.started, reason: context.goesFirst ?? null, ...facts }),
    next: { kind: 'run', provider: provider.name },
  };
}

function hold(row: ServerRow, reason: Reason, context: DecisionContext): Step {
  if (row.state === 'blocked') return { row, next: REST };
  // It stays unknown, and tells why nobody looks.
  if (row.state === 'unknown') return { row: isSameReason(row.reason, reason) ? row : { ...row, reason }, next: REST };
  return { row: advance(row, 'hold', { now: momentOf(context.now), reason }), next: REST };
}
