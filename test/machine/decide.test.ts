import { describe, expect, it } from 'vitest';
import { decide } from '../../src/machine/decide.ts';
import type { DecisionContext, Next } from '../../src/machine/decision.ts';
import type { JsonMap } from '../../src/model/json.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import { at, LARGE, NOW, openContext, rowIn, running, SMALL, SOON, specOf } from '../reconcile/build.ts';

const NO_PROVIDER: Partial<DecisionContext> = {
  providerFor: () => ({ name: null, reason: { code: 'no_provider', text: 'nobody' } }),
};
const NO_ROOM: Partial<DecisionContext> = { hasCapacity: () => false };

interface Case {
  readonly row: ServerRow;
  readonly context?: Partial<DecisionContext>;
  readonly next: Next;
  /** What changes of the row; nothing where it is left out, null where the server is forgotten. */
  readonly changes?: Partial<ServerRow> | null;
}

const REST: Next = { kind: 'rest' };
const CHECK: Next = { kind: 'check', provider: 'lab' };
const RUN: Next = { kind: 'run', provider: 'lab' };
const ROOM: Next = { kind: 'capacity', provider: 'lab', instance: 'shop' };
const SINCE_NOW = { since: at(NOW) };
const NEW_ACTION = { provider: 'lab', started: at(NOW), deadline: at(NOW + 60_000) };

const creating = rowIn('creating', { action: running('create', SMALL) });
const done = rowIn('done', { applied: SMALL });
const outdated = rowIn('pending', { applied: SMALL, wanted: LARGE });
const unwanted = rowIn('marked for delete', { applied: SMALL, wanted: null });

const CASES: Readonly<Record<string, Case>> = {
  'a call is under way': { row: creating, context: { isInFlight: true }, next: REST },

  'a lost action may still be running': {
    row: creating,
    context: { lostActionEnds: () => SOON },
    next: { kind: 'time', until: SOON },
  },
  'a lost action has ended': {
    row: creating,
    context: { lostActionEnds: () => NOW },
    next: CHECK,
    changes: {
      state: 'unknown',
      attempt: 1,
      reason: { code: 'outcome_lost', text: 'the outcome of the last create is not known; it is checked first' },
      ...SINCE_NOW,
    },
  },

  'a wait is not over': {
    row: rowIn('retrying', { due: at(SOON), attempt: 1 }),
    next: { kind: 'time', until: SOON },
  },
  'the wait before the next try is over': {
    row: rowIn('retrying', { due: at(NOW), attempt: 1, reason: { code: 'action_failed', text: 'full' } }),
    next: RUN,
    changes: {
      state: 'creating',
      reason: null,
      due: null,
      mayExist: true,
      action: { id: '7.create', operation: 'create', spec: SMALL, ...NEW_ACTION },
      ...SINCE_NOW,
    },
  },
  'an action that begins records when it is over, should its outcome be lost': {
    row: rowIn('marked for delete', { wanted: null, applied: SMALL }),
    context: { providerFor: () => ({ name: 'lab', timeoutMs: 60_000, lostActionEnds: 'with its call' }) },
    next: RUN,
    changes: {
      state: 'deleting',
      dirty: true,
      provider: 'lab',
      action: { id: '7.delete.2', operation: 'delete', spec: null, ...NEW_ACTION, ends: 'with its call' },
      ...SINCE_NOW,
    },
  },
  'the wait before the next delete is over': {
    row: rowIn('failed', { due: at(NOW), wanted: null, applied: SMALL }),
    next: RUN,
    changes: {
      state: 'deleting',
      due: null,
      dirty: true,
      action: { id: '7.delete.2', operation: 'delete', spec: null, ...NEW_ACTION },
      ...SINCE_NOW,
    },
  },
  'the wait before the next check is over': {
    row: rowIn('unknown', { due: at(NOW), attempt: 1, action: running('create', SMALL) }),
    next: CHECK,
    changes: { due: null },
  },

  'it was never made and nobody wants it': {
    row: rowIn('marked for delete', { wanted: null, provider: null, checked: false }),
    next: REST,
    changes: null,
  },

  'an operator has to act': {
    row: rowIn('blocked', { reason: { code: 'exists_already', text: 'it is there' } }),
    next: REST,
  },
  'it is gone with its site, and another entry matches it now': {
    row: rowIn('drifted', { applied: SMALL, observed: null, reason: { code: 'many_gone', text: 'look' } }),
    context: {
      providerFor: () => ({ name: null, reason: { code: 'provider_changed', text: 'it is another' } }),
    },
    next: REST,
    changes: {
      state: 'blocked',
      reason: { code: 'provider_changed', text: 'it is another' },
      healing: { '': [at(NOW)] },
      ...SINCE_NOW,
    },
  },
  'no provider matches it, as before': {
    row: rowIn('blocked', { reason: { code: 'no_provider', text: 'nobody' }, provider: null, checked: false }),
    context: NO_PROVIDER,
    next: REST,
  },
  'a provider matches it now': {
    row: rowIn('blocked', { reason: { code: 'no_provider', text: 'nobody' }, provider: null, checked: false }),
    next: CHECK,
    changes: { state: 'pending', reason: null, ...SINCE_NOW },
  },
  'its provider is back, and it is to go': {
    row: rowIn('blocked', {
      reason: { code: 'provider_changed', text: 'it is another' },
      wanted: null,
      applied: SMALL,
    }),
    next: RUN,
    changes: {
      state: 'deleting',
      reason: null,
      dirty: true,
      action: { id: '7.delete.2', operation: 'delete', spec: null, ...NEW_ACTION },
      ...SINCE_NOW,
    },
  },

  'it was never seen': { row: rowIn('pending', { checked: false, provider: null }), next: CHECK },
  'it was never seen, and dependencies are not done': {
    row: rowIn('pending', { checked: false }),
    context: { unmetDependency: () => 'db' },
    next: CHECK,
  },
  'it was never seen, and nobody may call now': {
    row: rowIn('pending', { checked: false }),
    context: NO_ROOM,
    next: ROOM,
  },
  'it was never seen, and no provider matches': {
    row: rowIn('pending', { checked: false, provider: null }),
    context: NO_PROVIDER,
    next: REST,
    changes: { state: 'blocked', reason: { code: 'no_provider', text: 'nobody' }, ...SINCE_NOW },
  },
  'its outcome is unknown': { row: rowIn('unknown', { action: running('update', LARGE) }), next: CHECK },
  'its outcome is unknown, and nobody may check it': {
    row: rowIn('unknown', { action: running('update', LARGE) }),
    context: NO_PROVIDER,
    next: REST,
    changes: { reason: { code: 'no_provider', text: 'nobody' } },
  },

  'it is to go, and was not marked yet': {
    row: rowIn('pending', { wanted: null, applied: SMALL }),
    next: RUN,
    changes: {
      state: 'deleting',
      dirty: true,
      action: { id: '7.delete.2', operation: 'delete', spec: null, ...NEW_ACTION },
      ...SINCE_NOW,
    },
  },
  'it is to be forgotten and left as it is': {
    row: { ...unwanted, policy: { ...unwanted.policy, deletion: 'retain' } },
    context: { holder: () => 'web-2' },
    next: REST,
    changes: null,
  },
  'somebody needs it still': {
    row: unwanted,
    context: { holder: () => 'web-2' },
    next: { kind: 'holder', server: 'web-2' },
  },
  'it is to go, and nobody may call now': { row: unwanted, context: NO_ROOM, next: ROOM },
  'it is to go, and its provider is gone': {
    row: unwanted,
    context: NO_PROVIDER,
    next: REST,
    changes: { state: 'blocked', reason: { code: 'no_provider', text: 'nobody' }, ...SINCE_NOW },
  },

  'it drifted': { row: rowIn('drifted', { applied: LARGE }), next: REST },
  'it is as it should be': { row: done, next: REST },
  'it turns out to be as it should be': {
    row: rowIn('pending', { applied: specOf('small', { dependsOn: ['db'] }), attempt: 2 }),
    context: { unmetDependency: () => 'db', hasSlot: () => false },
    next: REST,
    changes: { state: 'done', applied: SMALL, attempt: 0, ...SINCE_NOW },
  },

  'what it depends on is not done': {
    row: rowIn('pending'),
    context: { unmetDependency: () => 'db' },
    next: { kind: 'dependency', server: 'db' },
  },
  'it is to be created': {
    row: rowIn('pending', { provider: null }),
    context: { hasSlot: () => false },
    next: RUN,
    changes: {
      state: 'creating',
      provider: 'lab',
      mayExist: true,
      action: { id: '7.create', operation: 'create', spec: SMALL, ...NEW_ACTION },
      ...SINCE_NOW,
    },
  },
  'it is to be created after a delete of it began': {
    row: rowIn('pending', { dirty: true }),
    next: RUN,
    changes: {
      state: 'creating',
      dirty: false,
      incarnation: 8,
      mayExist: true,
      action: { id: '8.create', operation: 'create', spec: SMALL, ...NEW_ACTION },
      ...SINCE_NOW,
    },
  },
  'it is to be created, and its last check is too old': {
    row: rowIn('pending'),
    context: { lastCheck: undefined },
    next: CHECK,
  },
  'it is to be created, and its last check has failed': {
    row: rowIn('pending'),
    context: { lastCheck: 'failed' },
    next: CHECK,
  },
  'its last check is too old, and what it depends on is not done': {
    row: rowIn('pending'),
    context: { lastCheck: undefined, unmetDependency: () => 'db' },
    next: { kind: 'dependency', server: 'db' },
  },
  'its last check is too old, and its instance is suspended': {
    row: rowIn('pending'),
    context: { lastCheck: undefined, stoppedUntil: SOON },
    next: { kind: 'instance', instance: 'shop', until: SOON },
  },
  'its create has failed, and may have made it': {
    row: rowIn('failed', { due: at(SOON), mayExist: true, checked: false }),
    context: { lastCheck: undefined },
    next: CHECK,
  },
  'its create has failed, may have made it, and nobody may call now': {
    row: rowIn('retrying', { due: at(SOON), mayExist: true, checked: false }),
    context: { lastCheck: undefined, ...NO_ROOM },
    next: ROOM,
  },
  'its create has failed, may have made it, and its provider is gone': {
    row: rowIn('retrying', { due: at(SOON), mayExist: true, checked: false }),
    context: { lastCheck: undefined, ...NO_PROVIDER },
    next: { kind: 'time', until: SOON },
  },
  'its create has failed, and the check of that as well': {
    row: rowIn('failed', { due: at(SOON), mayExist: true, checked: false }),
    context: { lastCheck: 'failed' },
    next: { kind: 'time', until: SOON },
  },
  'its create has failed, and a check has found it': {
    row: rowIn('failed', { due: at(SOON), mayExist: true }),
    context: { lastCheck: undefined },
    next: { kind: 'time', until: SOON },
  },
  'its create has failed, may have made it, and its instance is stopped': {
    row: rowIn('pending', { mayExist: true, checked: false }),
    context: { lastCheck: undefined, stoppedUntil: SOON },
    next: CHECK,
  },
  'its create has failed and left nothing, and nobody wants it any more': {
    row: rowIn('marked for delete', { wanted: null }),
    next: REST,
    changes: null,
  },
  'its create has failed, may have made it, and nobody wants it any more': {
    row: rowIn('marked for delete', { wanted: null, mayExist: true }),
    next: RUN,
    changes: {
      state: 'deleting',
      dirty: true,
      action: { id: '7.delete.2', operation: 'delete', spec: null, ...NEW_ACTION },
      ...SINCE_NOW,
    },
  },
  'it is to be created, and nobody may call now': { row: rowIn('pending'), context: NO_ROOM, next: ROOM },
  'it is to be updated': {
    row: outdated,
    next: RUN,
    changes: {
      state: 'updating',
      dirty: true,
      action: { id: '7.update.2', operation: 'update', spec: LARGE, ...NEW_ACTION },
      ...SINCE_NOW,
    },
  },
  'it is to be updated, and what it depends on is not done': {
    row: outdated,
    context: { unmetDependency: () => 'db' },
    next: { kind: 'dependency', server: 'db' },
  },
  'it is to be updated, and others of its group are away': {
    row: outdated,
    context: { hasSlot: () => false },
    next: { kind: 'slot', group: 'shop/web', until: undefined },
  },
  'it is to be updated, and its group rests': {
    row: outdated,
    context: { hasSlot: () => SOON },
    next: { kind: 'slot', group: 'shop/web', until: SOON },
  },
  'it is to be updated, and too many updates of its commit have failed': {
    row: outdated,
    context: { updatesAreHeld: () => true },
    next: { kind: 'failures', commit: outdated.commit },
  },
  'it is to be replaced, and too much is deleted already': {
    row: rowIn('pending', { applied: SMALL, replacing: true }),
    context: { mayReplace: () => false },
    next: { kind: 'budget', until: NOW + 30_000 },
  },
  'it is to be replaced, which an operator has approved': {
    row: rowIn('pending', { applied: SMALL, replacing: true, approved: true }),
    context: { mayReplace: () => false },
    next: RUN,
    changes: {
      state: 'deleting',
      dirty: true,
      action: { id: '7.delete.2', operation: 'delete', spec: null, ...NEW_ACTION, isApproved: true },
      ...SINCE_NOW,
    },
  },
  'its instance is suspended until a time': {
    row: outdated,
    context: { stoppedUntil: SOON },
    next: { kind: 'instance', instance: 'shop', until: SOON },
  },
  'its instance is held until somebody says so': {
    row: unwanted,
    context: { stoppedUntil: Number.POSITIVE_INFINITY },
    next: { kind: 'instance', instance: 'shop', until: Number.POSITIVE_INFINITY },
  },
  'an operator has it go on though another one needs it': {
    row: { ...unwanted, ignoresOrder: unwanted.generation },
    context: { holder: () => 'lb-1' },
    next: RUN,
    changes: {
      state: 'deleting',
      dirty: true,
      action: { id: '7.delete.2', operation: 'delete', spec: null, ...NEW_ACTION },
      ...SINCE_NOW,
    },
  },
  'an update of it began and nobody knows how far it came': {
    row: rowIn('pending', { applied: SMALL, dirty: true }),
    next: RUN,
    changes: {
      state: 'updating',
      action: { id: '7.update.2', operation: 'update', spec: SMALL, ...NEW_ACTION },
      ...SINCE_NOW,
    },
  },
  'it is to be replaced': {
    row: rowIn('pending', { applied: SMALL, replacing: true }),
    next: RUN,
    changes: {
      state: 'deleting',
      dirty: true,
      action: { id: '7.delete.2', operation: 'delete', spec: null, ...NEW_ACTION },
      ...SINCE_NOW,
    },
  },
};

const READS = { db: { isList: false, texts: [[{ output: 'address', of: 'db' }]] } };
const READING = specOf('small', { reads: READS });
const TAKEN = specOf('small', { reads: READS, properties: { ...SMALL.properties, db: '10.0.0.1' } });
const MINUTES = 60_000;

/** A world in which `db` is done for a minute, and has reported these outputs. */
function reported(outputs: JsonMap, fields: Partial<DecisionContext> = {}): Partial<DecisionContext> {
  return { outputs: { outputsOf: () => outputs, sinceOf: () => NOW - MINUTES }, ...fields };
}

const UNREPORTED: Next = { kind: 'output', server: 'db', output: 'address' };
const NOT_REPORTED: Partial<ServerRow> = {
  state: 'blocked',
  reason: { code: 'no_output', text: 'the output "address" of db is not reported by its provider' },
};
/** The hours before, one after the other. */
const HOURLY = Array.from({ length: 10 }, (_, hour) => at(NOW - (10 - hour) * 60 * MINUTES));
const CHANGED = { generation: 3, updated: '2026-11-20T10:20:00Z' };

const READERS: typeof CASES = {
  'it takes an output that is not reported yet': {
    row: rowIn('pending', { wanted: READING, since: at(NOW) }),
    context: reported({}),
    next: { ...UNREPORTED, until: NOW + MINUTES },
  },
  'what it takes the output of is not done': {
    row: rowIn('pending', { wanted: READING }),
    context: reported({}, { unmetDependency: () => 'db' }),
    next: { kind: 'dependency', server: 'db' },
  },
  'it takes an output that has not been reported for long': {
    row: rowIn('pending', { wanted: READING, since: at(NOW - 10 * MINUTES) }),
    context: reported({}, { outputs: { outputsOf: () => ({}), sinceOf: () => NOW - 10 * MINUTES } }),
    next: { ...UNREPORTED, until: NOW + 10 * MINUTES },
    changes: { ...NOT_REPORTED, ...SINCE_NOW },
  },
  'it takes an output of no use': {
    row: rowIn('pending', { wanted: READING, since: at(NOW) }),
    context: reported({ address: {} }),
    next: { ...UNREPORTED, until: NOW + 10 * MINUTES },
    changes: {
      ...NOT_REPORTED,
      ...SINCE_NOW,
      reason: { code: 'no_output', text: 'the output "address" of db is no text, number, boolean or list of texts' },
    },
  },
  'the output is reported at last': {
    row: rowIn('blocked', { wanted: READING, ...NOT_REPORTED }),
    context: reported({ address: '10.0.0.1' }),
    next: RUN,
    changes: {
      ...{ ...CHANGED, state: 'creating', reason: null, wanted: TAKEN, mayExist: true },
      action: { id: '7.create', operation: 'create', spec: TAKEN, ...NEW_ACTION },
      ...SINCE_NOW,
    },
  },
  'the output stays unreported': {
    row: rowIn('blocked', { wanted: READING, ...NOT_REPORTED }),
    context: reported({}),
    next: { ...UNREPORTED, until: NOW + 10 * MINUTES },
  },
  'it has no value for configuration only': {
    row: rowIn('done', { wanted: { ...READING, configurationOnly: ['db'] }, applied: specOf('small') }),
    context: reported({}),
    next: { ...UNREPORTED, until: NOW + 10 * MINUTES },
  },
  'the output is as it was': {
    row: rowIn('done', { wanted: TAKEN, applied: TAKEN }),
    context: reported({ address: '10.0.0.1' }),
    next: REST,
  },
  'the output is not reported any more, and the server is there': {
    row: rowIn('done', { wanted: TAKEN, applied: TAKEN }),
    context: reported({}),
    next: REST,
  },
  'the output is not reported any more, and the server is not there yet': {
    row: rowIn('pending', { wanted: TAKEN, since: at(NOW) }),
    context: reported({}),
    next: { ...UNREPORTED, until: NOW + MINUTES },
    changes: { ...CHANGED, wanted: READING },
  },
  'the output has changed while others of its group are away': {
    row: rowIn('done', { wanted: TAKEN, applied: TAKEN }),
    context: reported({ address: '10.0.0.2' }, { hasSlot: () => false }),
    next: { kind: 'slot', group: 'shop/web', until: undefined },
    changes: {
      ...{ ...CHANGED, state: 'pending', rereads: [at(NOW)], ...SINCE_NOW },
      wanted: { ...TAKEN, properties: { ...SMALL.properties, db: '10.0.0.2' } },
    },
  },
  'the output has changed, and is for configuration only': {
    row: rowIn('done', {
      wanted: { ...TAKEN, configurationOnly: ['db'] },
      applied: { ...TAKEN, configurationOnly: ['db'] },
    }),
    context: reported({ address: '10.0.0.2' }),
    next: REST,
    changes: {
      wanted: { ...TAKEN, configurationOnly: ['db'], properties: { ...SMALL.properties, db: '10.0.0.2' } },
      applied: { ...TAKEN, configurationOnly: ['db'], properties: { ...SMALL.properties, db: '10.0.0.2' } },
    },
  },
  'the output has changed while a call is under way': {
    row: rowIn('updating', { wanted: TAKEN, applied: SMALL, action: running('update', TAKEN) }),
    context: reported({ address: '10.0.0.2' }, { isInFlight: true }),
    next: REST,
  },
  'the output has changed too often': {
    row: rowIn('done', { wanted: TAKEN, applied: TAKEN, rereads: HOURLY }),
    context: reported({ address: '10.0.0.2' }),
    next: REST,
    changes: {
      ...{ ...CHANGED, state: 'blocked', rereads: [...HOURLY.slice(1), at(NOW)], ...SINCE_NOW },
      wanted: { ...TAKEN, properties: { ...SMALL.properties, db: '10.0.0.2' } },
      reason: {
        code: 'output_fight',
        text: 'outputs that it takes have changed 10 times within 24 hours: find out why, then retry',
      },
    },
  },
};

describe('the next step of a server that takes outputs, where', () => {
  it.each(Object.entries(READERS))('%s', (_name, { row, context, next, changes }) => {
    const step = decide(row, openContext(context));
    expect(step.next).toEqual(next);
    if (changes === undefined) expect(step.row).toBe(row);
    else expect(step.row).toEqual({ ...row, ...changes });
  });
});

describe('the next step, where', () => {
  it.each(Object.entries(CASES))('%s', (_name, { row, context, next, changes }) => {
    const step = decide(row, openContext(context));
    expect(step.next).toEqual(next);
    if (changes === undefined) expect(step.row).toBe(row);
    else expect(step.row).toEqual(changes === null ? null : { ...row, ...changes });
  });
});
