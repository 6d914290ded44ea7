// The ledger follows rows that other processes wrote as it follows its own, and a commit of its own that was believed to be lost.
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { withoutPause } from '../../src/base/breathe.ts';
import type { Change } from '../../src/model/rows.ts';
import { Ledger } from '../../src/reconcile/ledger.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { pausing } from '../support/pausing.ts';
import { headRow, serverRow, writeText } from '../support/rows.ts';
import { MirrorStore } from '../support/standby.ts';

function server(name: string, state: 'pending' | 'done', store: MemoryStore): Change {
  return { kind: 'server', name, value: serverRow({ state }), expected: store.read('server', name) };
}

it('has rows of another process in its index, its version and its watchers, as a whole', async () => {
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

it('shows what is prepared in the turn in which the rows are, and nothing where that is refused', async () => {
  const other = new MemoryStore();
  const store = new MirrorStore(() => other);
  const ledger = new Ledger(store, withoutPause);
  let shown = '';
  let refusal: Error | undefined = new Error('not yet');
  ledger.prepareMoments(async (changes) => {
    await setImmediate();
    if (refusal !== undefined) throw refusal;
    return () => {
      shown = changes.map(({ name }) => `${name} ${ledger.read('node', name)?.oid}`).join();
    };
  });
  await other.commit([writeText('a', 'one')]);
  await expect(store.refresh()).rejects.toThrow('not yet');
  expect(ledger.list('node').size).toBe(0);
  refusal = undefined;
  await other.commit([writeText('b', 'two')]);
  await store.refresh();
  expect(shown).toBe('a one,b two');
});

it('tells who watches events of those of its own and of other processes, whatever role this one has', async () => {
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

it('shows a commit that was believed to be lost with what belongs to it, once it is found', async () => {
  const database = new MemoryStore();
  class CutStore extends MirrorStore {
    override async commit(changes: readonly Change[]): Promise<void> {
      if (changes.some(({ kind, value }) => kind === 'head' && value !== null) && database.list('head').size === 0) {
        await database.commit(changes);
        throw new Error('the connection was lost');
      }
      await super.commit(changes);
    }
  }
  const store = new CutStore(() => database);
  const ledger = new Ledger(store, withoutPause);
  let isShown = false;
  const head: Change = { kind: 'head', name: 'head', value: headRow('aaa'), expected: undefined };
  const commit = ledger.commit([head], undefined, () => {
    isShown = true;
  });
  await expect(commit).rejects.toThrow('the connection was lost');
  expect(isShown).toBe(false);
  await store.refresh();
  expect(ledger.read('head', 'head')).toEqual(headRow('aaa'));
  expect(isShown).toBe(true);
});
