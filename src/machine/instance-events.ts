// Makes the events of a store commit from its changes and their cause. Pure, and the only place that makes events;
// reconcile/ledger.ts commits them together with the rows. ARCHITECTURE.md, "Events and messages".

import { toRfc3339 } from '../base/wording.ts';
import { type NewEvent, REASON_MAX } from '../model/instance-event.ts';
import type { Change, ServerRow } from '../model/rows.ts';
import type { State } from '../model/state.ts';
import { isSameReason, reasonText } from './reasons.ts';
import { EVERY_INSTANCE } from './suspension.ts';

/** The cause of a store commit. */
export type Cause = Moment & (PassCause | CommitCause | OperationCause);

interface Moment {
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** A pass over one server (time, or the answer of a provider), or a commit that is not followed. */
interface PassCause {
  readonly kind: 'pass';
}

/** A followed commit. */
interface CommitCause {
  readonly kind: 'commit';
  readonly commit: string;
  /** Returns the serial of the client that wrote an instance in this commit; null if none did, or it is not known. */
  readonly clientOf: (instance: string) => string | null;
  /** Returns the place of the first mistake of an invalid instance; undefined for a valid one. */
  readonly mistakeOf: (instance: string) => string | undefined;
}

/** An operation that a client requested. */
interface OperationCause {
  readonly kind: 'operation';
  readonly operation: string;
  /** The client's serial; null for the operator of the machine itself. */
  readonly client: string | null;
  /** As given by the client; may be empty. */
  readonly reason: string;
  /** The instance that an approval is for; null if it is not for one instance. */
  readonly instance: string | null;
}

type Facts = Pick<NewEvent, 'instance'> & Partial<Omit<NewEvent, 'time'>>;

/** Returns the events of changes with that cause, in the order of the changes. */
export function eventsOf(changes: readonly Change[], cause: Cause): readonly NewEvent[] {
  return changes.flatMap((change) => [...collectFacts(change, cause)].map((facts) => makeEvent(facts, cause)));
}

function makeEvent(facts: Facts, cause: Cause): NewEvent {
  const { instance, resource = null, from = null, to = null, reason = '', commit = null, client = null } = facts;
  const words = cause.kind === 'operation' ? operationText(cause, reason) : reason;
  return {
    instance,
    time: toRfc3339(cause.now),
    resource,
    from,
    to,
    reason: shortened(words),
    commit,
    client: client ?? clientOfCause(cause, instance),
  };
}

/** Returns the event of an operation that changes no row: of one server, with its state, or of an instance. */
export function operationEvent(about: OperationTarget, cause: Moment & OperationCause): NewEvent {
  const { instance, server, step } = about;
  const state = server?.state ?? null;
  const facts = { instance, resource: server?.name ?? null, from: state, to: state, commit: null };
  return { ...facts, time: toRfc3339(cause.now), reason: shortened(operationText(cause, step)), client: cause.client };
}

/** The target of an operation that changes no row. */
export interface OperationTarget {
  readonly instance: string;
  /** Null: the instance as a whole. */
  readonly server: { readonly name: string; readonly state: State } | null;
  /** The rest of the reason; may be empty. */
  readonly step: string;
}

function collectFacts(change: Change, cause: Cause): Facts[] {
  switch (change.kind) {
    case 'server':
      return serverFacts(change, cause);
    case 'held':
      return holdFacts(change, cause);
    case 'suspension':
      return suspensionFacts(change, cause);
    case 'recovery':
      return recoveryFacts(change, cause);
    case 'acknowledgement':
      return acknowledgementFacts(change, cause);
    case 'terminating':
      return terminatingFacts(change, cause);
    case 'pinned':
      return pinnedFacts(change, cause);
    case 'approval':
      return approvalFacts(change, cause);
    case 'commit':
      return refusalFacts(change, cause);
    default:
      return [];
  }
}

type ChangeOf<Kind extends Change['kind']> = Extract<Change, { readonly kind: Kind }>;

function serverFacts({ name, expected: before, value: after }: ChangeOf<'server'>, cause: Cause): Facts[] {
  // Every operation has an event, even if it changes only the next try.
  if (cause.kind !== 'operation' && !isReported({ before, after })) return [];
  const row = after ?? before;
  if (row === undefined) return [];
  // The cause of a pass is the commit that last changed the server.
  const commit = cause.kind === 'pass' ? row.commit : commitOf(cause);
  // The proxy that carries out or carried out the action.
  const client = cause.kind === 'pass' ? ((after?.action ?? before?.action)?.claim?.client ?? null) : null;
  const facts = { resource: name, from: before?.state ?? null, commit, client };
  // The states show the effect of an operation.
  const reason = cause.kind === 'operation' ? '' : stepText({ before, after });
  const step = { ...facts, instance: row.instance, to: after?.state ?? null, reason };
  if (before === undefined || before.instance === row.instance) return [step];
  return [{ ...facts, instance: before.instance, reason: `handed over to ${row.instance}` }, step];
}

function holdFacts({ name, expected, value }: ChangeOf<'held'>, cause: Cause): Facts[] {
  const facts = { instance: name, commit: commitOf(cause) };
  if (value === null) return [{ ...facts, from: HELD, reason: 'the deletes are not held any more' }];
  if (expected?.digest === value.digest) return [];
  const from = expected === undefined ? null : HELD;
  return [{ ...facts, from, to: HELD, reason: `${value.reason}; approve with: treeline approve ${value.digest}` }];
}

const HELD = 'Awaiting approval';

function suspensionFacts({ name, expected, value }: ChangeOf<'suspension'>, cause: Cause): Facts[] {
  const facts = { instance: name, commit: commitOf(cause), from: expected === undefined ? null : 'Suspended' };
  if (value === null) return [{ ...facts, reason: 'its actions start again' }];
  const end = value.until === null ? 'until it is resumed' : `until ${value.until}`;
  return [{ ...facts, to: 'Suspended', reason: end }];
}

function recoveryFacts({ expected, value }: ChangeOf<'recovery'>, cause: Cause): Facts[] {
  const facts = {
    instance: EVERY_INSTANCE,
    commit: commitOf(cause),
    from: expected === undefined ? null : 'Suspended',
  };
  if (value === null) return [{ ...facts, reason: `the recovery ${expected?.id} is over` }];
  return [{ ...facts, to: 'Suspended', reason: `the recovery ${value.id} begins: ${value.reason}` }];
}

function acknowledgementFacts({ name, value }: ChangeOf<'acknowledgement'>, cause: Cause): Facts[] {
  const until = value === null ? 'is over' : `ends ${value.until}: ${value.causes.join(', ')}`;
  const reason = `the acknowledgement ${until}`;
  return [{ instance: name, commit: commitOf(cause), reason }];
}

function terminatingFacts({ name, expected, value }: ChangeOf<'terminating'>, cause: Cause): Facts[] {
  const facts = { instance: name, commit: commitOf(cause) };
  if (value !== null) {
    const reason = 'no commit has it any more; its servers are removed first';
    return expected === undefined ? [{ ...facts, to: MARKED, reason }] : [];
  }
  return [
    { ...facts, from: MARKED, reason: cause.kind === 'commit' ? 'a commit has it again' : 'its last server is gone' },
  ];
}

const MARKED = 'Marked for delete';

function pinnedFacts({ name: address, value }: ChangeOf<'pinned'>, cause: Cause): Facts[] {
  const instance = address.startsWith(INSTANCES) ? address.slice(INSTANCES.length) : undefined;
  if (instance === undefined || cause.kind !== 'commit') return [];
  const facts = { instance, commit: cause.commit };
  if (value === null) return [{ ...facts, reason: 'it is at the followed commit again, or gone' }];
  const mistake = cause.mistakeOf(instance);
  const stays = value.commit === null ? 'it has no valid version yet' : `it stays at the commit ${value.commit}`;
  if (mistake === undefined) return [{ ...facts, reason: stays }];
  return [{ ...facts, to: 'Invalid', reason: `${mistake}; ${stays}; see treeline problems` }];
}

const INSTANCES = 'stack-instance/';

function approvalFacts({ name, value }: ChangeOf<'approval'>, cause: Cause): Facts[] {
  if (value === null || cause.kind !== 'operation') return [];
  return [{ instance: cause.instance ?? EVERY_INSTANCE, reason: `${value.what}, under the digest ${name}` }];
}

/** A commit that is not followed affects every instance. */
function refusalFacts({ name, value }: ChangeOf<'commit'>, cause: Cause): Facts[] {
  if (value === null || cause.kind !== 'pass') return [];
  return [{ instance: EVERY_INSTANCE, to: 'Not followed', reason: value.reason ?? '', commit: name }];
}

function commitOf(cause: Cause): string | null {
  return cause.kind === 'commit' ? cause.commit : null;
}

/** Returns the serial of the client that caused a change of an instance; null if no client did. */
function clientOfCause(cause: Cause, instance: string): string | null {
  if (cause.kind === 'operation') return cause.client;
  return cause.kind === 'commit' ? cause.clientOf(instance) : null;
}

function operationText({ operation, reason }: OperationCause, step: string): string {
  const words = reason === '' ? operation : `${operation}: ${reason}`;
  return step === '' ? words : `${words}; ${step}`;
}

function shortened(text: string): string {
  return text.length <= REASON_MAX ? text : `${text.slice(0, REASON_MAX - 1)}…`;
}

/** A row before and after a change; undefined or null if there is none. */
interface RowStep {
  readonly before: ServerRow | undefined;
  readonly after: ServerRow | null;
}

/** Returns true if the change deserves an event. A wait that continues for the same reason does not. */
function isReported({ before, after }: RowStep): boolean {
  if (before === undefined || after === null) return before !== undefined || after !== null;
  if (before.state !== after.state || before.generation !== after.generation) return true;
  if (before.instance !== after.instance) return true;
  const hasNewAction = after.action !== null && after.action.started !== before.action?.started;
  return hasNewAction || (after.reason !== null && !isSameReason(before.reason, after.reason));
}

/** Returns the text of the change: the recorded reason or a description of the step, then the time of the next try. */
function stepText({ before, after }: RowStep): string {
  if (after === null) return endText(before);
  if (before !== undefined && before.instance !== after.instance) return `handed over by ${before.instance}`;
  const parts = [reasonText(after.reason) || plainText(before, after), dueText(after)];
  return parts.filter((part) => part !== '').join('; ');
}

/** Returns the text of a change without a recorded reason. */
function plainText(before: ServerRow | undefined, after: ServerRow): string {
  if (before === undefined) return 'a commit wants it';
  if (after.action !== null && after.action.started !== before.action?.started) return startText(after);
  if (before.wanted !== null && after.wanted === null) return 'no commit wants it any more';
  if (before.wanted === null && after.wanted !== null) return 'a commit wants it again';
  const isSameCommit = before.commit === after.commit && after.wanted?.reads !== undefined;
  if (before.generation !== after.generation) return isSameCommit ? OUTPUTS_CHANGE_IT : 'a commit changes it';
  if (before.action !== null && after.action === null && after.state !== 'unknown') return outcomeText(before, after);
  if (after.state === 'done') return 'the server matches its wanted spec';
  return before.state === after.state ? '' : 'its wait is over';
}

const OUTPUTS_CHANGE_IT = 'outputs that it takes came or changed';

function startText({ action, attempt, provider }: ServerRow): string {
  const who = action?.claim === undefined ? `of the provider entry "${provider}"` : 'carried out by a proxy';
  const words = `${action?.operation} begins: action ${action?.id} ${who}`;
  return attempt === 0 ? words : `${words}, try ${attempt + 1}`;
}

function outcomeText({ action }: ServerRow, { state, applied, wanted, replacing }: ServerRow): string {
  const operation = action?.operation ?? '';
  if (operation === 'delete') return replacing || wanted !== null ? 'deleted; it is created again' : 'deleted';
  if (state === 'done') return `${operation} succeeded`;
  return applied === null ? `${operation} ended, and nothing is there` : `${operation} ended; another action follows`;
}

function endText(before: ServerRow | undefined): string {
  if (before === undefined || (before.applied === null && !before.mayExist)) return 'nothing of it is left';
  return before.policy.deletion === 'retain' && before.state !== 'deleting'
    ? 'forgotten; the server is left as it is'
    : 'deleted';
}

function dueText({ state, due }: ServerRow): string {
  return due !== null && (state === 'retrying' || state === 'failed' || state === 'unknown')
    ? `next try at ${due}`
    : '';
}
