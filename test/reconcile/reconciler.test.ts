// The loop itself, over rows in memory and a provider that does as it is told: intent before action, nobody forgotten.

import { describe, expect, it } from 'vitest';
import { withoutPause } from '../../src/base/breathe.ts';
import { createLog } from '../../src/base/log.ts';
import type { Change, ServerRow } from '../../src/model/rows.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import { createProviderRegistry } from '../../src/providers/provider-registry.ts';
import { CommitGate } from '../../src/reconcile/commit-gate.ts';
import { Ledger } from '../../src/reconcile/ledger.ts';
import { Reconciler } from '../../src/reconcile/reconciler.ts';
import { RESYNC_MS } from '../../src/reconcile/waits/resync.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { ScriptedProvider } from '../support/scripted-provider.ts';
import { answerOf, at, LARGE, RETRY, rowIn, SMALL, specOf } from './build.ts';

const SETTINGS = {
  ...{ name: 'lab', match: { kind: null, properties: {} }, implementation: 'simulated' as const },
  options: { file: '', createMs: 0, updateMs: 0, deleteMs: 0, checkMs: 0, failRate: 0, seed: 1 },
  ...{ timeoutSeconds: 60, checkSeconds: 300, drift: 'off' as const, retry: RETRY },
};
const CALLS_MAX = 3;

/** A store whose next commits fail as a test says. */
class FailingStore extends MemoryStore {
  readonly failures: Error[] = [];

  override async commit(changes: readonly Change[]): Promise<void> {
    const failure = this.failures.shift();
    if (failure !== undefined) throw failure;
    await super.commit(changes);
  }
}

async function open(rows: Readonly<Record<string, ServerRow>>, random: () => number = () => 0.5) {
  const clock = new ManualClock();
  const store = new FailingStore();
  const ledger = new Ledger(store, withoutPause);
  const changes = Object.entries(rows).map(
    ([name, value]): Change => ({ kind: 'server', name, value, expected: undefined }),
  );
  await ledger.commit(changes);
  const provider = new ScriptedProvider();
  const registry = createProviderRegistry([{ ...SETTINGS, concurrency: CALLS_MAX }], () => provider);
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => lines.push(line) });
  /** Tells whether a desired state is active, and whether the process leads. */
  const state = { isActive: true, leads: true };
  let passes = 0;
  class CountingGate extends CommitGate {
    override shared<Result>(work: () => Promise<Result>): Promise<Result> {
      passes += 1;
      return super.shared(work);
    }
  }
  const gate = new CountingGate();
  const reconciler = new Reconciler({
    ...{ ledger, gate, registry, clock, log, concurrency: 10, graceMs: 1_000, waitMsMax: 3_600_000, random },
    deleteBudget: { percent: 100, least: 1_000, most: 1_000 },
    review: () => undefined,
    isActive: () => state.isActive,
    leads: () => state.leads,
    recordOf: (server) => ({ name: server }),
    isSecret: () => false,
  });

  /** The resync always waits for its next round. */
  const idle = clock.pending;

  function states(): Record<string, string> {
    return Object.fromEntries([...store.list('server')].map(([name, { state }]) => [name, state]));
  }

  /** Looks at all, and lets time pass, second by second, until nothing waits any more. */
  async function run(): Promise<void> {
    reconciler.enqueue(Object.keys(rows), 'test');
    for (let second = 0; second < 200_000; second += 1) {
      await settle();
      if (clock.pending === idle) return await resync();
      clock.advance(1_000);
    }
    throw new Error(`never comes to rest: ${JSON.stringify(states())}`);
  }

  /** Fails where a server that could go on was not enqueued. */
  async function resync(): Promise<void> {
    clock.advance(RESYNC_MS);
    await settle();
    expect(reconciler.missedWakeUps).toBe(0);
  }

  return { clock, store, ledger, provider, reconciler, gate, lines, state, states, run, passes: () => passes };
}

/** Lets everything happen that waits for nothing but its turn. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A server that the store has just learned of. */
function newcomer(name: string, dependsOn: readonly string[] = []): ServerRow {
  const wanted = specOf('small', { properties: { name }, dependsOn });
  return rowIn('pending', { wanted, checked: false, provider: null, key: name, index: null });
}

/** Numbers in [0, 1) that look like chance and are the same every time. */
function chance(): () => number {
  let state = 1;
  return () => {
    state = (state * 16807) % 2147483647;
    return state / 2147483647;
  };
}

describe('many servers', () => {
  const names = Array.from({ length: 60 }, (_, index) => `s-${index}`);

  it('that depend on one another get there, with a provider that fails often and has little room', async () => {
    const needs = (index: number): string[] => names.slice(Math.max(0, index - 2), index);
    const rows = Object.fromEntries(names.map((name, index) => [name, newcomer(name, needs(index))]));
    const random = chance();
    const { provider, run, states, store } = await open(rows, random);
    let inFlight = 0;
    let most = 0;
    provider.script = async (call) => {
      const isCreate = call.operation === 'create';
      if (isCreate) {
        const index = names.indexOf(call.resource);
        const notDone = needs(index).filter((name) => store.read('server', name)?.state !== 'done');
        expect(notDone, `${call.resource} is created before what it depends on`).toEqual([]);
      }
      inFlight += 1;
      most = Math.max(most, inFlight);
      await new Promise((resolve) => setImmediate(resolve));
      inFlight -= 1;
      const fate = random();
      if (fate < 0.2) throw new Error('connection reset');
      return fate < 0.4 ? answerOf('retryable', { message: 'full' }) : provider.act(call);
    };
    await run();
    expect(states()).toEqual(Object.fromEntries(names.map((name) => [name, 'done'])));
    expect(most).toBe(CALLS_MAX);
  });
});

describe('an intent', () => {
  it('is durable before the provider is called', async () => {
    const { provider, run, store, states } = await open({ 'web-1': newcomer('web-1') });
    const checked: unknown[] = [];
    provider.script = ({ operation, resource, action }) => {
      if (operation === 'create') checked.push([action, store.read('server', resource)?.action?.id]);
      return undefined;
    };
    await run();
    expect(checked).toEqual([['web-1.7.create', '7.create']]);
    expect(states()).toEqual({ 'web-1': 'done' });
  });

  it('that cannot be recorded leads to no call, gives its room back and is tried again', async () => {
    const { provider, run, store, states, lines } = await open({ 'web-1': rowIn('pending') });
    store.failures.push(new Error('disk full'));
    await run();
    expect(provider.calls.map(({ operation }) => operation)).toEqual(['check', 'create']);
    expect(states()).toEqual({ 'web-1': 'done' });
    expect(lines.join()).toContain('pass failed; it is tried again');
  });

  it('that meets a conflict is decided again at once, without a word', async () => {
    const { provider, run, store, states, lines } = await open({ 'web-1': rowIn('pending') });
    store.failures.push(new ServiceError('conflict', 'changed meanwhile'));
    await run();
    expect(provider.calls.map(({ operation }) => operation)).toEqual(['check', 'create']);
    expect(states()).toEqual({ 'web-1': 'done' });
    expect(lines.join()).not.toContain('pass failed');
  });
});

const CALL = {
  action: 'c0',
  resource: 'web-1',
  kind: 'Platform::Server',
  properties: SMALL.properties,
  record: {},
  applied: null,
  outputs: null,
  deadline: at(0),
};

describe('an answer', () => {
  it('for a server that is gone by then is forgotten', async () => {
    const { provider, run, ledger, store, states } = await open({ 'web-1': rowIn('pending') });
    provider.script = async () => {
      const expected = store.read('server', 'web-1');
      await ledger.commit([{ kind: 'server', name: 'web-1', value: null, expected }]);
      return answerOf('done');
    };
    await run();
    expect(states()).toEqual({});
  });
});

describe('a roll-out', () => {
  function member(name: string, pauseSeconds: number): ServerRow {
    const row = rowIn('pending', { applied: SMALL, wanted: LARGE, key: 'web', index: name });
    return { ...row, policy: { ...row.policy, pauseSeconds } };
  }

  it.each([
    ['one at a time', '1', 0],
    ['one at a time, with rests', '1', 2],
    ['all at once, with room for few', '100%', 0],
    ['a third at a time', '34%', 0],
  ])('looks at each member a few times, however many they are: %s', async (_case, maxUnavailable, pauseSeconds) => {
    for (const size of [20, 80]) {
      const names = Array.from({ length: size }, (_, index) => `web-${index}`);
      const rows = names.map((name): [string, ServerRow] => {
        const row = member(name, pauseSeconds);
        return [name, { ...row, policy: { ...row.policy, maxUnavailable } }];
      });
      const { provider, run, states, passes } = await open(Object.fromEntries(rows));
      for (const name of names) provider.act({ ...CALL, operation: 'create', resource: name });
      await run();
      expect(new Set(Object.values(states()))).toEqual(new Set(['done']));
      // The resync adds each of them every 30 s.
      expect(passes() / size).toBeLessThanOrEqual(10);
    }
  });
});

it('finds by the resync who was forgotten, and counts it', async () => {
  const { reconciler, clock, states, lines } = await open({ 'web-1': newcomer('web-1'), 'web-2': rowIn('pending') });
  reconciler.enqueue([], 'a commit that forgets to name them');
  clock.advance(RESYNC_MS);
  await settle();
  expect(reconciler.missedWakeUps).toBe(2);
  expect(states()).toEqual({ 'web-1': 'done', 'web-2': 'done' });
  expect(lines.join()).toContain('a server could go on and was not enqueued');
});

it('forgets an instance with its last server', async () => {
  const rows = {
    'web-1': rowIn('marked for delete', { wanted: null, applied: SMALL }),
    'web-2': rowIn('marked for delete', { wanted: null, applied: SMALL }),
  };
  const { run, ledger, store } = await open(rows);
  for (const name of ['shop', 'other']) {
    const value = { path: `stacks/instances/${name}.yaml`, oid: 'beef', object: {} };
    await ledger.commit([{ kind: 'terminating', name, value, expected: undefined }]);
  }
  const there = rowIn('done', { applied: SMALL, wanted: SMALL, instance: 'other' });
  await ledger.commit([{ kind: 'server', name: 'api-1', value: there, expected: undefined }]);
  await run();
  expect([...store.list('terminating').keys()]).toEqual(['other']);
});
