// The ledger follows rows that other processes wrote as it follows its own.
import { expect, it } from 'vitest';
import { withoutPause } from '../../src/base/breathe.ts';
import type { Change } from '../../src/model/rows.ts';
import { Ledger } from '../../src/reconcile/ledger.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { pausing } from '../support/pausing.ts';
import { serverRow, writeText } from '../support/rows.ts';
import { MirrorStore } from '../support/standby.ts';

function server(name: string, state: 'pending' | 'done', store: MemoryStore): Change {
  return { kind: 'server', name, value: serverRow({ state }), expected: store.read('server', name) };
}

it('Ledger shows rows of another process in its index, version and watchers as a whole', async () => {
  const other = new MemoryStore();
  const store = new MirrorStore(() => other);
  const names = Array.from({ length: 300 }, (_, index) => `web-${index}`);
  let looks = 0;
  const ledger: Ledger = new Ledger(
    store,
    pausing(() => {
      looks += 1;
      expect(ledger.isFollowing).toBe(true);
      expect(ledger.list('server').size).toBe(300);
    }),
  );
  const seen: string[] = [];
  ledger.watch(({ name }) => seen.push(name));
  await other.commit(names.map((name) => server(name, 'pending', other)));
  await store.refresh();
  expect(looks).toBeGreaterThan(0);
  expect(seen).toEqual(names);
  expect(ledger.version).toBe(300);
  expect(ledger.isFollowing).toBe(false);
  expect(ledger.index.serversOf('shop')).toHaveLength(300);
  await other.commit([{ ...server('web-1', 'done', other), value: null } as Change]);
  await store.refresh();
  expect(ledger.index.serversOf('shop')).toHaveLength(299);
});

it('Ledger notifies watchers of events of this and other processes, in any role', async () => {
  const other = new MemoryStore();
  const store = new MirrorStore(() => other);
  const ledger = new Ledger(store, withoutPause, (serial) => `${serial} \ud83d${'x'.repeat(300)}`);
  let count = 0;
  ledger.watchEvents(() => {
    count += 1;
  });
  await ledger.commit([writeText('a', 'one')]);
  expect(count).toBe(1);
  ledger.forgetWatchers();
  const event = { instance: 'shop', time: '2026-11-20T10:13:56.000Z', resource: null, from: null, to: null };
  await ledger.recordEvents([{ ...event, reason: 'check', commit: null, client: 'A1' }]);
  expect(count).toBe(2);
  const { events } = await ledger.listEvents({ after: 0, limit: 9 });
  expect(events[0]?.event.clientName).toBe(`A1 \ufffd${'x'.repeat(246)}`);
  await other.commit([writeText('b', 'two')]);
  await store.refresh();
  expect(count).toBe(3);
});
