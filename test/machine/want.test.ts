import { describe, expect, it } from 'vitest';
import { firstRow, unwantRow, wantRow } from '../../src/machine/want.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import type { WantedServer } from '../../src/model/spec.ts';
import { STATES } from '../../src/model/state.ts';
import { at, LARGE, NOW, rowIn, running, SMALL, SOON, specOf } from '../reconcile/build.ts';

const TAKING = { commit: 'c'.repeat(40), time: '2026-11-20T10:19:00Z', now: NOW };
const FAREWELL = {
  size: {
    value: 'small',
    type: 'clientcert',
    name: 'web-1',
    file: null,
    line: null,
    merge: 'first' as const,
    overrides: [],
  },
};

/** The server of a row as a commit wants it, with some fields replaced. */
function wantedAs({ instance, key, index, policy }: ServerRow, fields: Partial<WantedServer> = {}): WantedServer {
  return { name: 'web-1', instance, key, index, policy, spec: SMALL, ...fields };
}

const done = rowIn('done', { applied: SMALL });

it('a new row is unchecked and has a new incarnation', () => {
  const server = wantedAs(done);
  expect(firstRow(server, TAKING)).toMatchObject({
    state: 'pending',
    since: at(NOW),
    generation: 1,
    incarnation: NOW,
    wanted: SMALL,
    applied: null,
    checked: false,
    provider: null,
    updated: TAKING.time,
  });
});

describe('a commit that wants a server', () => {
  it.each(STATES)('in the state %s without a change, changes the row only if it waits', (state) => {
    const row = rowIn(state, {
      applied: SMALL,
      due: at(SOON),
      attempt: 2,
      reason: { code: 'action_failed', text: 'why' },
    });
    const after = wantRow(row, wantedAs(row), TAKING);
    const queued = { ...row, reason: null, due: null, attempt: 0 };
    if (['failed', 'retrying', 'blocked'].includes(state)) {
      expect(after).toEqual({ ...queued, state: 'pending', since: at(NOW) });
    } else if (state === 'unknown') {
      expect(after, 'its next check waits for no time any more').toEqual(queued);
      expect(wantRow(queued, wantedAs(queued), TAKING)).toBe(queued);
    } else {
      expect(after).toBe(row);
    }
  });

  it.each([
    ['pending', 'pending'],
    ['blocked', 'pending'],
    ['creating', 'creating'],
    ['updating', 'updating'],
    ['deleting', 'deleting'],
    ['retrying', 'pending'],
    ['unknown', 'unknown'],
    ['done', 'pending'],
    ['drifted', 'pending'],
    ['failed', 'pending'],
  ] as const)('in the state %s, changed: is another generation and ends every wait', (state, next) => {
    const row = rowIn(state, { applied: SMALL, due: at(SOON), attempt: 2 });
    expect(wantRow(row, wantedAs(row, { spec: LARGE }), TAKING)).toEqual({
      ...row,
      state: next,
      since: next === state ? row.since : at(NOW),
      wanted: LARGE,
      commit: TAKING.commit,
      generation: 3,
      updated: TAKING.time,
      due: null,
      attempt: 0,
    });
  });

  it('that was unwanted, keeps it and drops its last record', () => {
    const row = rowIn('marked for delete', { wanted: null, applied: SMALL, lastRecord: FAREWELL });
    expect(wantRow(row, wantedAs(row), TAKING)).toMatchObject({
      state: 'pending',
      wanted: SMALL,
      lastRecord: null,
      generation: 3,
      updated: TAKING.time,
    });
  });

  it('leaves a running action as it is', () => {
    const action = running('create', SMALL);
    const row = rowIn('creating', { action });
    expect(wantRow(row, wantedAs(row, { spec: LARGE }), TAKING)).toMatchObject({ state: 'creating', action });
  });

  it('in another instance, moves it without an action or a new generation', () => {
    const place = { instance: 'other', key: 'api', index: null, policy: { ...done.policy, pauseSeconds: 5 } };
    expect(wantRow(done, wantedAs(done, place), TAKING)).toEqual({ ...done, ...place });
  });

  it.each([
    ['what it depends on', specOf('small', { dependsOn: ['db'] })],
    ['what it lists', specOf('small', { lists: ['db'] })],
    ['its description', specOf('small', { properties: { ...SMALL.properties, description: 'new' } })],
    [
      'a configuration-only property',
      specOf('small', { properties: { ...SMALL.properties, peers: ['x'] }, configurationOnly: ['peers'] }),
    ],
  ])('with another value of %s, starts no action and records it as applied', (_case, spec) => {
    expect(wantRow(done, wantedAs(done, { spec }), TAKING)).toEqual({ ...done, wanted: spec, applied: spec });
    const drifted = rowIn('drifted', { applied: LARGE });
    const { dependsOn, lists } = spec;
    const applied = { ...LARGE, dependsOn, lists };
    expect(wantRow(drifted, wantedAs(drifted, { spec }), TAKING)).toEqual({ ...drifted, wanted: spec, applied });
  });

  it('that only removes dependencies also removes them from the applied spec, in every state', () => {
    const wanted = specOf('small', { dependsOn: ['db', 'x'], lists: ['db'] });
    const applied = specOf('large', { dependsOn: ['db', 'old'], lists: ['db'] });
    const spec = specOf('small', { dependsOn: ['cache', 'x'] });
    for (const state of ['drifted', 'failed', 'updating', 'unknown', 'blocked', 'retrying'] as const) {
      const row = rowIn(state, { wanted, applied });
      expect(wantRow(row, wantedAs(row, { spec }), TAKING).applied).toEqual({
        ...applied,
        dependsOn: ['cache', 'old'],
        lists: [],
      });
      expect(wantRow(row, wantedAs(row, { spec: LARGE }), TAKING).applied, 'another change needs an action').toBe(
        applied,
      );
    }
  });

  it('with a provisioning layer changed, is an update', () => {
    const spec = specOf('small', { layers: { shape: { cpus: 4 } } });
    expect(wantRow(done, wantedAs(done, { spec }), TAKING)).toMatchObject({ state: 'pending', generation: 3 });
  });
});

describe('a commit that does not want a server any more', () => {
  it.each([
    ['pending', 'marked for delete'],
    ['blocked', 'marked for delete'],
    ['creating', 'creating'],
    ['updating', 'updating'],
    ['deleting', 'deleting'],
    ['retrying', 'marked for delete'],
    ['unknown', 'unknown'],
    ['done', 'marked for delete'],
    ['drifted', 'marked for delete'],
    ['failed', 'marked for delete'],
  ] as const)('in the state %s: keeps its last record and waits for nothing', (state, next) => {
    const row = rowIn(state, { applied: SMALL, due: at(SOON), attempt: 2, replacing: true });
    expect(unwantRow(row, { ...TAKING, lastRecord: FAREWELL })).toEqual({
      ...row,
      state: next,
      since: next === state ? row.since : at(NOW),
      wanted: null,
      lastRecord: FAREWELL,
      commit: TAKING.commit,
      replacing: false,
      generation: 3,
      due: null,
      attempt: 0,
    });
  });
});
