// Tests the activation of a desired state: one commit of the store, shown only after it, and every concerned server enqueued.
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Breathe, withoutPause } from '../../src/base/breathe.ts';
import { createLog } from '../../src/base/log.ts';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import { activate } from '../../src/follow/activate.ts';
import { CurrentState } from '../../src/follow/current-state.ts';
import { CommitFollower } from '../../src/follow/follow-commit.ts';
import { OwnPushes } from '../../src/follow/own-pushes.ts';
import type { JsonMap } from '../../src/model/json.ts';
import type { Change } from '../../src/model/rows.ts';
import { CommitGate } from '../../src/reconcile/commit-gate.ts';
import { Ledger } from '../../src/reconcile/ledger.ts';
import { deletionFacts } from '../desired/facts.ts';
import { instanceFile, one, stacksRepository, TEMPLATES, two } from '../desired/stacks.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { pausing } from '../support/pausing.ts';
import { PLACE } from '../support/rows.ts';
import type { TextChanges } from '../support/text-repository.ts';
import { TextSource } from '../support/text-source.ts';

/** A store whose commits fail while it is broken. */
class FragileStore extends MemoryStore {
  isBroken = false;

  override async commit(changes: readonly Change[]): Promise<void> {
    if (this.isBroken) throw new Error('disk full');
    await super.commit(changes);
  }
}

const SAFETY = { deletions: deletionFacts({ limit: 0 }), unprotected: new Set<string>() };

function open(breathe: Breathe = withoutPause) {
  const store = new FragileStore();
  const current = new CurrentState();
  const gate = new CommitGate();
  const ledger = new Ledger(store, breathe);
  const lines: JsonMap[] = [];
  const enqueued: string[][] = [];
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) });
  /** Not yet among `enqueued`. */
  const names: string[] = [];
  const reconciler = { enqueue: (more: Iterable<string>) => void names.push(...more) };
  const clock = new ManualClock();
  /** Servers that a failed activation enqueues are among those of the next one. */
  async function activateCommit(desired: DesiredState, before?: DesiredState): Promise<void> {
    const activation = { operation: 'o1', log, before, place: PLACE };
    await gate.exclusive(() => activate({ ledger, current, reconciler, clock, breathe }, desired, activation));
    enqueued.push(names.splice(0).sort());
  }

  /** Pretends that these servers were made as they are wanted. */
  async function made(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      const expected = ledger.server(name);
      if (expected === undefined) throw new Error(`there is no row of ${name}`);
      const value = { ...expected, state: 'done' as const, checked: true, applied: expected.wanted, provider: 'lab' };
      await ledger.commit([{ kind: 'server', name, value, expected }]);
    }
  }

  const parts = { store, current, gate, ledger, reconciler, clock, breathe };
  return { ...parts, lines, names, enqueued, activateCommit, made, repository: stacksRepository() };
}

const A = instanceFile('a');

it('activate records the head and the rows, then shows the desired state', async () => {
  const { repository, activateCommit, current, ledger, enqueued, lines } = open();
  const desired = repository.commit({ [A]: two('x', 'y'), [instanceFile('wrong')]: one('z', 'nobody') });
  await activateCommit(desired);
  expect(current.get()).toBe(desired);
  expect(ledger.read('head', 'head')?.commit).toBe(desired.commit);
  expect(enqueued).toEqual([['x', 'y']]);
  expect(lines[0]).toMatchObject({ msg: 'commit followed', commit: desired.commit, servers: 2, problems: 1 });
  expect(lines.slice(1).map(({ code }) => code)).toEqual(['unknown_dependency']);
});

it('activate shows nothing if the commit of the store fails', async () => {
  const { repository, activateCommit, current, store, enqueued } = open();
  const first = repository.commit({ [A]: one('x') });
  await activateCommit(first);
  store.isBroken = true;
  const second = repository.commit({ [A]: one('y') });
  await expect(activateCommit(second, first)).rejects.toThrow('disk full');
  expect(current.get()).toBe(first);
  expect(enqueued).toHaveLength(1);
  store.isBroken = false;
  await activateCommit(second, first);
  expect(current.get()).toBe(second);
});

describe('servers are enqueued', () => {
  it('if their rows change', async () => {
    const { repository, activateCommit, enqueued } = open();
    const first = repository.commit({ [A]: two('x', 'y'), [instanceFile('b')]: one('z') });
    await activateCommit(first);
    await activateCommit(repository.commit({ [A]: two('x', 'w') }), first);
    expect(enqueued).toEqual([
      ['x', 'y', 'z'],
      ['w', 'y'],
    ]);
  });

  it('if their hold ends without a change of their rows', async () => {
    const { repository, activateCommit, made, enqueued, ledger, lines } = open();
    const first = repository.commit({ [A]: two('x', 'y') });
    await activateCommit(first);
    await made('x', 'y');
    const held = repository.commit({ [A]: one('x') }, { safety: SAFETY });
    await activateCommit(held, first);
    expect(ledger.read('held', 'a')?.servers).toEqual(['y']);
    expect(ledger.server('y')).toMatchObject({ state: 'done', wanted: expect.anything() });
    expect(lines.at(-1)).toMatchObject({ msg: 'deletes are held', level: 40, instance: 'a' });
    expect(lines.at(-1)?.digest).toBe(ledger.read('held', 'a')?.digest);
    await activateCommit(repository.commit({ [A]: two('x', 'y') }, { safety: SAFETY }), held);
    expect(ledger.read('held', 'a')).toBeUndefined();
    expect(enqueued).toEqual([['x', 'y'], [], ['x', 'y']]);
  });
});

describe('an activation while other work runs', () => {
  const MANY = Object.fromEntries(
    Array.from({ length: 125 }, (_, index) => [instanceFile(`i-${index}`), two(`s-${index}`, `t-${index}`)]),
  );

  it('always shows rows and desired state of one commit', async () => {
    const seen = new Set<string>();
    const breathe = pausing(() => {
      const rows = [...ledger.list('server').values()].filter(({ wanted }) => wanted !== null).length;
      seen.add(`${current.get()?.owners.size ?? 0} wanted, ${rows} rows`);
    });
    const { repository, activateCommit, current, ledger } = open(breathe);
    const first = repository.commit({ [A]: two('x', 'y') });
    await activateCommit(first);
    seen.clear();
    await activateCommit(repository.commit(MANY), first);
    expect([...seen]).toEqual(['2 wanted, 2 rows', '252 wanted, 252 rows']);
  });

  describe('an activation', () => {
    /** Calls `between` in each pause of the exclusive sections after that of the first commit. */
    async function openFollowing(between: () => void = () => undefined) {
      let isOpen = false;
      const parts = open(pausing(() => (isOpen && parts.gate.isExclusive ? between() : undefined)));
      const source = new TextSource();
      const log = createLog('silent', { write: () => undefined });
      const deleteBudget = { percent: 0, least: 2, most: 2 };
      const pushes = new OwnPushes();
      const commits = new CommitFollower({ ...parts, pushes, source, deleteBudget });
      const first = source.commit({ ...TEMPLATES, 'clients/A1.yaml': 'role: administrator\n', [A]: two('x', 'y') });
      await commits.follow(first, { operation: 'o1', log, newest: first });
      isOpen = true;
      async function follow(files: TextChanges): Promise<void> {
        const newest = source.commit(files);
        parts.names.length = 0;
        await commits.follow(newest, { operation: 'o2', log, newest });
      }
      return { ...parts, follow };
    }

    it('waits for running passes', async () => {
      const { follow, gate, current } = await openFollowing();
      const pass = Promise.withResolvers<void>();
      const passing = gate.shared(() => pass.promise);
      const following = follow({ [A]: two('x', 'z') });
      for (let turn = 0; turn < 1_000 && !gate.isExclusive; turn += 1) await setImmediate();
      expect([gate.isExclusive, current.get()?.commit]).toEqual([true, 'commit-1']);
      pass.resolve();
      await Promise.all([passing, following]);
      expect(current.get()?.commit).toBe('commit-2');
    });

    it('lets no pass run between the judgement and the last enqueued server', async () => {
      const passes: number[] = [];
      let isAsked = false;
      const { follow, gate, names } = await openFollowing(() => {
        if (isAsked) return;
        isAsked = true;
        void gate.shared(async () => void passes.push(names.length));
      });
      await follow(MANY);
      await setImmediate();
      expect([isAsked, passes]).toEqual([true, [250]]);
    });
  });
});
