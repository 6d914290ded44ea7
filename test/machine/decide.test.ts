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
  'a call is in flight': { row: creating, context: { isInFlight: true }, next: REST },

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

  'its wait is not over': {
    row: rowIn('retrying', { due: at(SOON), attempt: 1 }),
    next: { kind: 'time', until: SOON },
  },
  'the wait before the next attempt is over': {
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
  'it is to be deleted, and a lost action ends with its call': {
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

  'it was never created and is unwanted': {
    row: rowIn('marked for delete', { wanted: null, provider: null, checked: false }),
    next: REST,
    changes: null,
  },

  'it waits for an operator': {
    row: rowIn('blocked', { reason: { code: 'exists_already', text: 'it is there' } }),
    next: REST,
  },
  'it is gone with its site, and another entry now matches': {
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
  'still no provider matches': {
    row: rowIn('blocked', { reason: { code: 'no_provider', text: 'nobody' }, provider: null, checked: false }),
    context: NO_PROVIDER,
    next: REST,
  },
  'a provider now matches': {
    row: rowIn('blocked', { reason: { code: 'no_provider', text: 'nobody' }, provider: null, checked: false }),
    next: CHECK,
    changes: { state: 'pending', reason: null, ...SINCE_NOW },
  },
  'its provider matches again, and it is unwanted': {
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

  'it was never checked': { row: rowIn('pending', { checked: false, provider: null }), next: CHECK },
  'it was never checked, and dependencies are not done': {
    row: rowIn('pending', { checked: false }),
    context: { unmetDependency: () => 'db' },
    next: CHECK,
  },
  'it was never checked, and there is no capacity': {
    row: rowIn('pending', { checked: false }),
    context: NO_ROOM,
    next: ROOM,
  },
  'it was never checked, and no provider matches': {
    row: rowIn('pending', { checked: false, provider: null }),
    context: NO_PROVIDER,
    next: REST,
    changes: { state: 'blocked', reason: { code: 'no_provider', text: 'nobody' }, ...SINCE_NOW },
  },
  'the outcome of its action is unknown': { row: rowIn('unknown', { action: running('update', LARGE) }), next: CHECK },
  'the outcome of its action is unknown, and there is no capacity': {
    row: rowIn('unknown', { action: running('update', LARGE) }),
    context: NO_PROVIDER,
    next: REST,
    changes: { reason: { code: 'no_provider', text: 'nobody' } },
  },

  'it is unwanted and not yet marked': {
    row: rowIn('pending', { wanted: null, applied: SMALL }),
    next: RUN,
    changes: {
      state: 'deleting',
      dirty: true,
      action: { id: '7.delete.2', operation: 'delete', spec: null, ...NEW_ACTION },
      ...SINCE_NOW,
    },
  },
  'it is unwanted and retained': {
    row: { ...unwanted, policy: { ...unwanted.policy, deletion: 'retain' } },
    context: { holder: () => 'web-2' },
    next: REST,
    changes: null,
  },
  'it is unwanted, and another server depends on it': {
    row: unwanted,
    context: { holder: () => 'web-2' },
    next: { kind: 'holder', server: 'web-2' },
  },
  'it is to be deleted, and there is no capacity': { row: unwanted, context: NO_ROOM, next: ROOM },
  'it is to be deleted, and its provider is gone': {
    row: unwanted,
    context: NO_PROVIDER,
    next: REST,
    changes: { state: 'blocked', reason: { code: 'no_provider', text: 'nobody' }, ...SINCE_NOW },
  },

  'it is drifted': { row: rowIn('drifted', { applied: LARGE }), next: REST },
  'it is done': { row: done, next: REST },
  'it is pending and already as wanted': {
    row: rowIn('pending', { applied: specOf('small', { dependsOn: ['db'] }), attempt: 2 }),
    context: { unmetDependency: () => 'db', hasSlot: () => false },
    next: REST,
    changes: { state: 'done', applied: SMALL, attempt: 0, ...SINCE_NOW },
  },

  'a dependency is not done': {
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
  'it is to be created after its delete began': {
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
  'it is to be created, its last check is too old, and a dependency is not done': {
    row: rowIn('pending'),
    context: { lastCheck: undefined, unmetDependency: () => 'db' },
    next: { kind: 'dependency', server: 'db' },
  },
  'it is to be created, its last check is too old, and its instance is suspended': {
    row: rowIn('pending'),
    context: { lastCheck: undefined, stoppedUntil: SOON },
    next: { kind: 'instance', instance: 'shop', until: SOON },
  },
  'its create failed and may have created it': {
    row: rowIn('failed', { due: at(SOON), mayExist: true, checked: false }),
    context: { lastCheck: undefined },
    next: CHECK,
  },
  'its create failed and may have created it, and there is no capacity': {
    row: rowIn('retrying', { due: at(SOON), mayExist: true, checked: false }),
    context: { lastCheck: undefined, ...NO_ROOM },
    next: ROOM,
  },
  'its create failed and may have created it, and its provider is gone': {
    row: rowIn('retrying', { due: at(SOON), mayExist: true, checked: false }),
    context: { lastCheck: undefined, ...NO_PROVIDER },
    next: { kind: 'time', until: SOON },
  },
  'its create failed, and so did the check after it': {
    row: rowIn('failed', { due: at(SOON), mayExist: true, checked: false }),
    context: { lastCheck: 'failed' },
    next: { kind: 'time', until: SOON },
  },
  'its create failed, and a check found the server': {
    row: rowIn('failed', { due: at(SOON), mayExist: true }),
    context: { lastCheck: undefined },
    next: { kind: 'time', until: SOON },
  },
  'its create failed and may have created it, and its instance is suspended': {
    row: rowIn('pending', { mayExist: true, checked: false }),
    context: { lastCheck: undefined, stoppedUntil: SOON },
    next: CHECK,
  },
  'its create failed and left nothing, and it is unwanted': {
    row: rowIn('marked for delete', { wanted: null }),
    next: REST,
    changes: null,
  },
  'its create failed and may have created it, and it is unwanted': {
    row: rowIn('marked for delete', { wanted: null, mayExist: true }),
    next: RUN,
    changes: {
      state: 'deleting',
      dirty: true,
      action: { id: '7.delete.2', operation: 'delete', spec: null, ...NEW_ACTION },
      ...SINCE_NOW,
    },
  },
  'it is to be created, and there is no capacity': { row: rowIn('pending'), context: NO_ROOM, next: ROOM },
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
  'it is to be updated, and a dependency is not done': {
    row: outdated,
    context: { unmetDependency: () => 'db' },
    next: { kind: 'dependency', server: 'db' },
  },
  'it is to be updated, and the slots of its group are taken': {
    row: outdated,
    context: { hasSlot: () => false },
    next: { kind: 'slot', group: 'shop/web', until: undefined },
  },
  'it is to be updated, and its group pauses': {
    row: outdated,
    context: { hasSlot: () => SOON },
    next: { kind: 'slot', group: 'shop/web', until: SOON },
  },
  'it is to be updated, and too many updates of its commit failed': {
    row: outdated,
    context: { updatesAreHeld: () => true },
    next: { kind: 'failures', commit: outdated.commit },
  },
  'it is to be replaced, and the delete budget is used up': {
    row: rowIn('pending', { applied: SMALL, replacing: true }),
    context: { mayReplace: () => false },
    next: { kind: 'budget', until: NOW + 30_000 },
  },
  'it is to be replaced with an approval': {
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
  'its instance is held': {
    row: unwanted,
    context: { stoppedUntil: Number.POSITIVE_INFINITY },
    next: { kind: 'instance', instance: 'shop', until: Number.POSITIVE_INFINITY },
  },
  'an operator ignores the order, and another server depends on it': {
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
  'it is dirty after a failed update': {
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
  'an output that it uses is not reported yet': {
    row: rowIn('pending', { wanted: READING, since: at(NOW) }),
    context: reported({}),
    next: { ...UNREPORTED, until: NOW + MINUTES },
  },
  'the server whose output it uses is not done': {
    row: rowIn('pending', { wanted: READING }),
    context: reported({}, { unmetDependency: () => 'db' }),
    next: { kind: 'dependency', server: 'db' },
  },
  'an output that it uses is overdue': {
    row: rowIn('pending', { wanted: READING, since: at(NOW - 10 * MINUTES) }),
    context: reported({}, { outputs: { outputsOf: () => ({}), sinceOf: () => NOW - 10 * MINUTES } }),
    next: { ...UNREPORTED, until: NOW + 10 * MINUTES },
    changes: { ...NOT_REPORTED, ...SINCE_NOW },
  },
  'an output that it uses is not usable': {
    row: rowIn('pending', { wanted: READING, since: at(NOW) }),
    context: reported({ address: {} }),
    next: { ...UNREPORTED, until: NOW + 10 * MINUTES },
    changes: {
      ...NOT_REPORTED,
      ...SINCE_NOW,
      reason: { code: 'no_output', text: 'the output "address" of db is not a text, number, boolean or list of texts' },
    },
  },
  'the missing output is reported': {
    row: rowIn('blocked', { wanted: READING, ...NOT_REPORTED }),
    context: reported({ address: '10.0.0.1' }),
    next: RUN,
    changes: {
      ...CHANGED,
      state: 'creating',
      reason: null,
      wanted: TAKEN,
      mayExist: true,
      action: { id: '7.create', operation: 'create', spec: TAKEN, ...NEW_ACTION },
      ...SINCE_NOW,
    },
  },
  'the missing output stays unreported': {
    row: rowIn('blocked', { wanted: READING, ...NOT_REPORTED }),
    context: reported({}),
    next: { ...UNREPORTED, until: NOW + 10 * MINUTES },
  },
  'an output for configuration only is missing': {
    row: rowIn('done', { wanted: { ...READING, configurationOnly: ['db'] }, applied: specOf('small') }),
    context: reported({}),
    next: { ...UNREPORTED, until: NOW + 10 * MINUTES },
  },
  'the output has not changed': {
    row: rowIn('done', { wanted: TAKEN, applied: TAKEN }),
    context: reported({ address: '10.0.0.1' }),
    next: REST,
  },
  'the output is not reported any more, and the server exists': {
    row: rowIn('done', { wanted: TAKEN, applied: TAKEN }),
    context: reported({}),
    next: REST,
  },
  'the output is not reported any more, and the server does not exist yet': {
    row: rowIn('pending', { wanted: TAKEN, since: at(NOW) }),
    context: reported({}),
    next: { ...UNREPORTED, until: NOW + MINUTES },
    changes: { ...CHANGED, wanted: READING },
  },
  'the output has changed, and the slots of its group are taken': {
    row: rowIn('done', { wanted: TAKEN, applied: TAKEN }),
    context: reported({ address: '10.0.0.2' }, { hasSlot: () => false }),
    next: { kind: 'slot', group: 'shop/web', until: undefined },
    changes: {
      ...CHANGED,
      state: 'pending',
      rereads: [at(NOW)],
      ...SINCE_NOW,
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
  'the output has changed while a call is in flight': {
    row: rowIn('updating', { wanted: TAKEN, applied: SMALL, action: running('update', TAKEN) }),
    context: reported({ address: '10.0.0.2' }, { isInFlight: true }),
    next: REST,
  },
  'the output has changed too often': {
    row: rowIn('done', { wanted: TAKEN, applied: TAKEN, rereads: HOURLY }),
    context: reported({ address: '10.0.0.2' }),
    next: REST,
    changes: {
      ...CHANGED,
      state: 'blocked',
      rereads: [...HOURLY.slice(1), at(NOW)],
      ...SINCE_NOW,
      wanted: { ...TAKEN, properties: { ...SMALL.properties, db: '10.0.0.2' } },
      reason: {
        code: 'output_fight',
        text: 'outputs that it takes have changed 10 times within 24 hours: find out why, then retry',
      },
    },
  },
};

describe('decide for a server that uses outputs, when', () => {
  it.each(Object.entries(READERS))('%s', (_name, { row, context, next, changes }) => {
    const step = decide(row, openContext(context));
    expect(step.next).toEqual(next);
    if (changes === undefined) expect(step.row).toBe(row);
    else expect(step.row).toEqual({ ...row, ...changes });
  });
});

describe('decide, when', () => {
  it.each(Object.entries(CASES))('%s', (_name, { row, context, next, changes }) => {
    const step = decide(row, openContext(context));
    expect(step.next).toEqual(next);
    if (changes === undefined) expect(step.row).toBe(row);
    else expect(step.row).toEqual(changes === null ? null : { ...row, ...changes });
  });
});
