// The contract of a store. Each implementation passes all of it, in a place of its own for every test.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EventRange, NewEvent } from '../../src/model/instance-event.ts';
import type { Change, RowKind, Rows } from '../../src/model/rows.ts';
import type { Store } from '../../src/store/store.ts';
import { headRow, serverRow, textRow, writeText } from '../support/rows.ts';

/** Where a store keeps its rows. */
export interface StorePlace {
  /** Opens a store that finds what the one before has left. */
  open(): Promise<Store>;
  remove(): Promise<void>;
}

const ROWS: { readonly [Kind in RowKind]: Rows[Kind] } = {
  head: headRow('aaa'),
  pinned: { path: 'types/role/web.yaml', oid: 'beef', object: { packages: ['nginx'] }, commit: 'aaa' },
  terminating: { path: 'stacks/instances/shop.yaml', oid: 'beef', object: { stackTemplate: 'web' } },
  node: textRow('beef'),
  held: { digest: 'd1', servers: ['web-1'], reason: 'too many', since: '2026-11-20T10:13:56.000Z', commit: 'aaa' },
  approval: { what: 'deletes', by: '0A', reason: 'planned', time: '2026-11-20T10:13:56.000Z' },
  removal: { time: '2026-11-20T10:13:56.000Z' },
  suspension: { by: null, reason: 'night', since: '2026-11-20T10:13:56.000Z', until: null },
  acknowledgement: {
    by: '0A',
    reason: 'a new disk comes',
    since: '2026-11-20T10:13:56.000Z',
    until: '2026-11-21T10:13:56.000Z',
    causes: ['failed:shop'],
  },
  rollout: { updates: 40 },
  commit: {
    state: 'followed',
    time: '2026-11-20T10:13:56.000Z',
    subject: 'Add shop',
    author: 'Ada',
    committed: '2026-11-20T10:00:00Z',
    signature: null,
    base: null,
    reason: null,
    done: null,
    approvals: [],
    counts: { shop: { created: 3, updated: 0, replaced: 0, deleted: 0, records: 0 } },
  },
  recovery: {
    id: 'r1',
    cause: 'store',
    reason: 'files',
    since: '2026-11-20T10:00:00.000Z',
    notBefore: '2026-11-20T10:10:00.000Z',
  },
  seen: {
    lastSeen: '2026-11-20T10:13:56.000Z',
    notBefore: '2026-01-01T00:00:00.000Z',
    notAfter: '2027-01-01T00:00:00.000Z',
  },
  delivery: {
    digest: 'd2',
    commit: 'bbb',
    incarnation: 3,
    outcome: 'failed',
    message: 'no space left',
    by: '0A',
    time: '2026-11-20T10:14:01.000Z',
  },
  commitStatus: {
    validate: { state: 'success', description: 'valid, 2 instances' },
    apply: null,
    sentTo: 'https://git.example/api/v4 infra/stacks main',
  },
  alert: {
    kind: 'attention',
    instances: ['shop'],
    since: '2026-11-20T10:13:56.000Z',
    until: null,
    data: { kind: 'failed', instances: ['shop'] },
    accepted: { ops: 'firing' },
  },
  notification: {
    target: 'ops',
    id: 'held:shop/firing/2026-11-20T10:13:56.000Z',
    type: 'treeline.held.firing',
    subject: 'held:shop',
    time: '2026-11-20T10:13:56.000Z',
    state: 'refused',
    answer: '503',
    triedAt: '2026-11-20T10:13:57.000Z',
  },
  server: serverRow({ outputs: { address: '10.0.0.1', ports: [80, 443], nested: { deep: [null, true, 1.5] } } }),
};

const ODD_NAMES = [
  '__proto__',
  'constructor',
  'toString',
  '',
  ' ',
  'role/web',
  'ä€😀',
  'line\nbreak\ttab',
  '"quoted\\"',
  "'; DROP TABLE rows; --",
  '%',
  'x'.repeat(2000),
];

export function describeStore(name: string, makePlace: () => Promise<StorePlace>): void {
  describe(`the store contract: ${name}`, () => {
    let place: StorePlace;
    let store: Store;

    beforeEach(async () => {
      place = await makePlace();
      store = await place.open();
    });
    afterEach(async () => {
      await store.close();
      await place.remove();
    });

    async function eventsIn(instance: string, range: EventRange) {
      const { events, isGap } = await store.events({ ...range, instances: new Set([instance]) });
      return { events: events.map(({ event }) => event), isGap };
    }

    async function reopen(): Promise<void> {
      await store.close();
      store = await place.open();
    }

    it('starts empty', () => {
      for (const kind of kinds()) {
        expect(store.read(kind, 'x')).toBeUndefined();
        expect(store.list(kind).size).toBe(0);
      }
    });

    it.each(kinds())('keeps a row of the kind %s, and returns the same object until a restart', async (kind) => {
      const value = ROWS[kind];
      await store.commit([changeOf(kind, 'x', value)]);
      expect(store.read(kind, 'x')).toBe(value);
      await reopen();
      expect(store.read(kind, 'x')).toEqual(value);
      expect([...store.list(kind)]).toEqual([['x', value]]);
      for (const other of kinds().filter((each) => each !== kind)) expect(store.list(other).size).toBe(0);
    });

    it.each(ODD_NAMES.map((odd) => [odd.slice(0, 30), odd]))('keeps a row named %j', async (_short, odd) => {
      await store.commit([writeText(odd, odd)]);
      await reopen();
      expect([...store.list('node').keys()]).toEqual([odd]);
      expect(store.read('node', odd)).toEqual(textRow(odd));
    });

    it('keeps "__proto__" and similar keys as plain keys', async () => {
      const outputs = JSON.parse('{"__proto__":{"polluted":true},"constructor":"x"}');
      await store.commit([{ kind: 'server', name: 'web-1', value: serverRow({ outputs }), expected: undefined }]);
      await reopen();
      const read = store.read('server', 'web-1')?.outputs ?? {};
      expect(Object.keys(read)).toEqual(['__proto__', 'constructor']);
      expect(JSON.stringify(read)).toBe('{"__proto__":{"polluted":true},"constructor":"x"}');
      expect('polluted' in {}).toBe(false);
    });

    it('keeps a row of 5 MiB, and many small ones in one commit', async () => {
      const large = 'ä'.repeat(2_500_000);
      const many = Array.from({ length: 3000 }, (_, index) => writeText(`row-${index}`, `text ${index}`));
      await store.commit([writeText('large', large)]);
      await store.commit(many);
      await reopen();
      expect(store.read('node', 'large')?.oid === large).toBe(true);
      expect(store.list('node').size).toBe(3001);
      expect(store.read('node', 'row-2999')?.oid).toBe('text 2999');
    });

    it('replaces and removes rows', async () => {
      await store.commit([writeText('a', 'one'), writeText('b', 'two')]);
      await store.commit([writeText('a', 'three', store.read('node', 'a'))]);
      await store.commit([writeText('b', null, store.read('node', 'b'))]);
      expect(store.read('node', 'b')).toBeUndefined();
      await reopen();
      expect([...store.list('node')]).toEqual([['a', textRow('three')]]);
      await store.commit([writeText('b', 'four')]);
      expect(store.read('node', 'b')).toEqual(textRow('four'));
    });

    it('accepts a value read after a restart as expected', async () => {
      await store.commit([writeText('a', 'one')]);
      await reopen();
      await store.commit([writeText('a', 'two', store.read('node', 'a'))]);
      expect(store.read('node', 'a')?.oid).toBe('two');
    });

    it('accepts an empty commit, and one that removes a missing row', async () => {
      await store.commit([]);
      await store.commit([writeText('a', null)]);
      expect(store.list('node').size).toBe(0);
    });

    it('refuses a commit that names one row twice', async () => {
      await expect(store.commit([writeText('a', 'one'), writeText('a', 'two')])).rejects.toThrow('twice');
      expect(store.read('node', 'a')).toBeUndefined();
    });

    it.each([
      ['a row exists and none was expected', 'there', undefined],
      ['no row exists and one was expected', 'missing', textRow('one')],
      ['the expected value is equal but not the same object', 'there', textRow('one')],
    ])('answers conflict and saves nothing if %s', async (_case, row, expected) => {
      await store.commit([writeText('there', 'one')]);
      const before = store.read('node', 'there');
      const commit = store.commit([writeText('fresh', 'x'), writeText(row, 'two', expected)]);
      await expect(commit).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining(`"${row}"`) });
      expect(store.read('node', 'fresh')).toBeUndefined();
      expect(store.read('node', 'there')).toBe(before);
      await reopen();
      expect([...store.list('node')]).toEqual([['there', textRow('one')]]);
    });

    it('shows all rows of a commit at the same time, when it is done', async () => {
      const commit = store.commit([writeText('a', 'one'), writeText('b', 'two')]);
      expect(store.list('node').size).toBe(0);
      await commit;
      expect(store.list('node').size).toBe(2);
    });

    it('writes values as they were when commit was called, in call order', async () => {
      const value = textRow('before');
      const first = store.commit([{ kind: 'node', name: 'a', value, expected: undefined }]);
      const second = store.commit([{ kind: 'node', name: 'a', value: textRow('after'), expected: value }]);
      await Promise.all([first, second]);
      await reopen();
      expect(store.read('node', 'a')?.oid).toBe('after');
    });

    it('saves 200 simultaneous commits', async () => {
      const names = Array.from({ length: 200 }, (_, index) => `row-${index}`);
      await Promise.all(names.map((each) => store.commit([writeText(each, each)])));
      await reopen();
      expect([...store.list('node').keys()].sort()).toEqual(names.sort());
    });

    // Each that loses tries again: their number squared is half of the commits.
    it('accepts one of 50 simultaneous commits of one row, and each after a retry', async () => {
      await store.commit([writeText('sum', '0')]);
      await Promise.all(Array.from({ length: 50 }, () => increment(store)));
      expect(store.read('node', 'sum')?.oid).toBe('50');
      await reopen();
      expect(store.read('node', 'sum')?.oid).toBe('50');
    });

    it('keeps events with the rows of their commit, with their ids', async () => {
      await store.commit([writeText('a', 'one')], [eventOf({ reason: 'first' }), eventOf({ instance: 'mail' })]);
      await store.commit(
        [],
        [
          eventOf({
            reason: 'ä "quoted"\n😀',
            resource: null,
            from: 'done',
            commit: null,
            client: 'A1',
            clientName: 'ü',
          }),
        ],
      );
      const { events, isGap } = await eventsIn('shop', ALL);
      const { instance: _, ...first } = { ...eventOf({ reason: 'first' }), clientName: null };
      expect(isGap).toBe(false);
      expect(events.map(({ id: _id, ...event }) => event)).toEqual([
        first,
        {
          ...first,
          reason: 'ä "quoted"\n😀',
          resource: null,
          from: 'done',
          commit: null,
          client: 'A1',
          clientName: 'ü',
        },
      ]);
      expect((await eventsIn('mail', ALL)).events).toHaveLength(1);
      expect((await eventsIn('other', ALL)).events).toEqual([]);
      await reopen();
      expect((await eventsIn('shop', ALL)).events).toEqual(events);
      expect(store.read('node', 'a')).toEqual(textRow('one'));
    });

    it('saves no event of a commit that it refuses', async () => {
      await store.commit([writeText('a', 'one')]);
      await expect(store.commit([writeText('a', 'two')], [eventOf({})])).rejects.toMatchObject({ code: 'conflict' });
      expect((await eventsIn('shop', ALL)).events).toEqual([]);
      await reopen();
      expect((await eventsIn('shop', ALL)).events).toEqual([]);
    });

    it('gives each event a greater id, also after a restart or a clock set back', async () => {
      const times = ['2026-11-20T10:00:00.000Z', '2026-11-20T10:00:00.000Z', '2026-11-20T09:00:00.000Z'];
      for (const time of times) {
        await store.commit([], [eventOf({ time }), eventOf({ time, instance: 'mail' })]);
        await reopen();
      }
      const ids = [...(await eventsIn('shop', ALL)).events, ...(await eventsIn('mail', ALL)).events];
      const sorted = ids.map(({ id }) => id).sort((a, b) => a - b);
      expect(new Set(sorted).size).toBe(6);
      expect(sorted[0]).toBe(Date.parse(times[0] ?? ''));
      expect((await eventsIn('shop', ALL)).events.map(({ time }) => time)).toEqual(times);
    });

    it('returns a range of events', async () => {
      await store.commit(
        [],
        Array.from({ length: 5 }, (_, index) => eventOf({ reason: `${index}` })),
      );
      const { events } = await eventsIn('shop', ALL);
      const after = events[1]?.id ?? 0;
      const page = await eventsIn('shop', { after, limit: 2 });
      expect(page.events.map(({ reason }) => reason)).toEqual(['2', '3']);
      expect((await eventsIn('shop', { after: events[4]?.id ?? 0, limit: 2 })).events).toEqual([]);
    });

    it('lists the events of all or some instances by id', async () => {
      const late = '2026-11-20T10:14:00.000Z';
      await store.commit([], [eventOf({ reason: '1' }), eventOf({ reason: '2', instance: 'mail' })]);
      await store.commit([], [eventOf({ reason: '3', instance: '*' }), eventOf({ reason: '4', time: late })]);
      const reasonsOf = async (range: EventRange): Promise<string[]> =>
        (await store.events(range)).events.map(({ instance, event }) => `${instance} ${event.reason}`);
      for (let time = 0; time < 2; time += 1) {
        const { events, isGap, newest } = await store.events(ALL);
        expect(await reasonsOf(ALL)).toEqual(['shop 1', 'mail 2', '* 3', 'shop 4']);
        expect([isGap, newest]).toEqual([false, events.at(-1)?.event.id]);
        expect(events[0]?.event).toEqual((await eventsIn('shop', ALL)).events[0]);
        const after = events[0]?.event.id ?? 0;
        expect(await reasonsOf({ after, limit: 2 })).toEqual(['mail 2', '* 3']);
        expect(await reasonsOf({ ...ALL, instances: new Set(['shop', 'other']) })).toEqual(['shop 1', 'shop 4']);
        const before = newest;
        expect(await reasonsOf({ after: 0, before, limit: 2 })).toEqual(['mail 2', '* 3']);
        expect(await reasonsOf({ ...ALL, before, instances: new Set(['shop']) })).toEqual(['shop 1']);
        // A time is a lower bound of an id.
        expect(await reasonsOf({ after: Date.parse(late) - 1, limit: 9 })).toEqual(['shop 4']);
        expect(await store.events({ after: newest, limit: 9 })).toEqual({ events: [], isGap: false, newest });
        await reopen();
      }
    });

    it('keeps the newest 1,000 events of an instance, and reports the gap', async () => {
      await store.commit(
        [],
        Array.from({ length: 5100 }, (_, index) => eventOf({ reason: `${index}` })),
      );
      await store.commit([], [eventOf({ instance: 'mail' })]);
      const { events, isGap } = await eventsIn('shop', ALL);
      expect([events.length, events[0]?.reason, isGap]).toEqual([1000, '4100', true]);
      const first = events[0]?.id ?? 0;
      expect((await eventsIn('shop', { after: first - 2, limit: 1 })).isGap).toBe(true);
      expect(await eventsIn('shop', { after: first - 1, limit: 1 })).toEqual({ events: [events[0]], isGap: false });
      expect((await store.events(ALL)).isGap).toBe(true);
      expect((await store.events({ ...ALL, after: first })).isGap).toBe(false);
      expect((await store.events({ ...ALL, instances: new Set(['mail']) })).isGap).toBe(false);
      await reopen();
      expect(await eventsIn('shop', ALL)).toEqual({ events, isGap });
      expect((await eventsIn('mail', ALL)).isGap).toBe(false);
    });

    it('waits for running commits when it is closed, and refuses later ones', async () => {
      const commit = store.commit([writeText('a', 'one')]);
      await Promise.all([store.close(), store.close()]);
      await commit;
      await expect(store.commit([writeText('b', 'two')])).rejects.toThrow('closed');
      store = await place.open();
      expect([...store.list('node').keys()]).toEqual(['a']);
    });
  });
}

const ALL = { after: 0, limit: 10_000 };

function eventOf(facts: Partial<NewEvent>): NewEvent {
  const event = { instance: 'shop', time: '2026-11-20T10:13:56.000Z', resource: 'web-1', from: null, to: 'pending' };
  return { ...event, reason: '', commit: 'aaa', client: null, ...facts };
}

function kinds(): RowKind[] {
  return ['head', 'node', 'terminating', 'node', 'server'];
}

/** A change whose value has the shape of its kind, which TypeScript cannot see through a variable. */
function changeOf(kind: RowKind, name: string, value: Rows[RowKind]): Change {
  return { kind, name, value, expected: undefined } as Change;
}

async function increment(store: Store): Promise<void> {
  for (let attempt = 0; attempt < 1000; attempt++) {
    const before = store.read('node', 'sum');
    try {
      await store.commit([writeText('sum', String(Number(before?.oid) + 1), before)]);
      return;
    } catch (error) {
      expect(error).toMatchObject({ code: 'conflict' });
    }
  }
  throw new Error('never got its turn');
}
