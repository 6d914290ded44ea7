import { describe, expect, it } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import type { Answer, CallResult } from '../../src/model/call-result.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import { Executor } from '../../src/reconcile/calls/executor.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { ScriptedProvider, untilAborted } from '../support/scripted-provider.ts';
import { answerOf, at, LARGE, rowIn, running, SMALL } from './build.ts';

const GRACE_MS = 5_000;

/** Four calls at once, three of them of `lab`, whose checks may take a minute; `other` may have one. */
function open(mayBegin?: (now: number) => boolean) {
  const clock = new ManualClock();
  const provider = new ScriptedProvider();
  const other = new ScriptedProvider();
  const ended: [server: string, ended: CallResult | undefined][] = [];
  const lines: string[] = [];
  const entries = [
    { name: 'lab', timeoutSeconds: 60, concurrency: 3, provider },
    { name: 'other', timeoutSeconds: 60, concurrency: 1, provider: other },
  ];
  const executor = new Executor({
    concurrency: 4,
    graceMs: GRACE_MS,
    clock,
    log: createLog('info', { write: (line) => lines.push(line) }),
    entryOf: (name) => entries.find((entry) => entry.name === name),
    recordOf(server) {
      if (server.startsWith('lost')) throw new Error('there is no such node');
      return { name: server, packages: ['nginx'] };
    },
    mayBegin: mayBegin && (() => mayBegin(clock.now())),
    onResult: (server, end) => ended.push([server, end]),
  });

  /** A server whose action has half a minute left. */
  function acting(fields: Partial<ServerRow> = {}): ServerRow {
    const action = { ...running('create', SMALL), deadline: at(clock.now() + 30_000) };
    return rowIn('creating', { action, ...fields });
  }

  async function run(server: string, row: ServerRow = acting()): Promise<void> {
    executor.capacity.claim(server, row.action?.provider ?? 'lab');
    executor.run(server, row);
    await settle();
  }

  async function check(server: string, row: ServerRow = rowIn('pending')): Promise<void> {
    executor.capacity.claim(server, 'lab');
    executor.check(server, row, 'lab');
    await settle();
  }

  async function pass(ms: number): Promise<void> {
    clock.advance(ms);
    await settle();
  }

  return { executor, clock, provider, other, ended, lines, acting, run, check, pass };
}

async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe('a call', () => {
  it('of a server without a known record carries the last recorded one, or an empty one', async () => {
    const { run, check, acting, provider, lines, ended } = open();
    const value = { value: 'nginx', type: 'role', name: 'web', file: null, line: null, merge: 'first', overrides: [] };
    await run('lost-1', acting({ lastRecord: { package: value } as ServerRow['lastRecord'] }));
    await check('lost-2');
    expect(provider.calls.map(({ record }) => record)).toEqual([{ package: 'nginx' }, {}]);
    expect(ended.map(([, end]) => end?.answer.outcome)).toEqual(['done', 'absent']);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain('the record is not known; the call goes without it');
  });

  it('of a check has its own deadline, and no outputs if nothing is applied', async () => {
    const { check, provider, clock } = open();
    await check('web-1');
    await check('web-2', rowIn('marked for delete', { wanted: null, applied: LARGE }));
    expect(provider.calls).toMatchObject([
      {
        operation: 'check',
        action: 'web-1.7.check',
        properties: SMALL.properties,
        applied: null,
        outputs: null,
        deadline: at(clock.now() + 60_000),
      },
      { resource: 'web-2', properties: LARGE.properties, applied: LARGE, outputs: {} },
    ]);
  });

  it('returns its answer once, and leaves no timer', async () => {
    const { run, check, ended, executor, clock } = open();
    await run('web-1');
    await check('web-2');
    expect(ended).toEqual([
      ['web-1', { kind: 'action', provider: 'lab', answer: answerOf('done', { observed: SMALL.properties }) }],
      ['web-2', { kind: 'check', provider: 'lab', answer: answerOf('absent') }],
    ]);
    expect(executor.capacity.isInFlight('web-1')).toBe(false);
    expect(clock.pending).toBe(0);
  });
});

describe('a process that sleeps after the commit of the row', () => {
  const LEASE_MS = 10_000;

  /** Sleeps between the claim, when the row is written, and the call. */
  async function wake(sleepMs: number) {
    const start = new ManualClock().now();
    const { executor, clock, acting, ...rest } = open((now) => now - start < LEASE_MS);
    const row = acting();
    for (const server of ['web-1', 'web-2']) executor.capacity.claim(server, 'lab');
    clock.advance(sleepMs);
    executor.run('web-1', row);
    executor.check('web-2', rowIn('pending'), 'lab');
    await settle();
    return { executor, clock, ...rest };
  }

  it('until its lease is over begins no call', async () => {
    const { provider, ended, executor, clock, lines } = await wake(LEASE_MS);
    expect(provider.calls).toEqual([]);
    const answer = answerOf('retryable', { message: 'no answer: it did not begin: another replica may lead' });
    expect(ended).toEqual([
      ['web-1', undefined],
      ['web-2', { kind: 'check', provider: 'lab', answer }],
    ]);
    expect([executor.capacity.inFlight, clock.pending, lines.length]).toEqual([0, 0, 2]);
  });

  it.each(['lab', 'other'])('until its deadline begins no action of %s', async (name) => {
    const { executor, provider, other, ended, clock, acting, lines } = open();
    Object.assign(other, { isPulled: true });
    const action = { ...running('create', SMALL), provider: name, deadline: at(clock.now() + 30_000) };
    executor.capacity.claim('web-1', name);
    clock.advance(30_000);
    executor.run('web-1', acting({ action }));
    await settle();
    expect([...provider.calls, ...other.calls, ...lines]).toEqual([]);
    const answer = answerOf('retryable', { message: 'it did not begin, because its deadline had passed' });
    expect(ended).toEqual([['web-1', { kind: 'action', provider: name, answer }]]);
    expect([executor.capacity.isInFlight('web-1'), clock.pending]).toEqual([false, 0]);
  });
});

describe('a deadline', () => {
  it('ends the call, and the outcome of the action is unknown', async () => {
    const { run, provider, ended, pass, executor, lines, clock } = open();
    provider.script = (_call, signal) => untilAborted(signal);
    await run('web-1');
    await pass(29_999);
    expect([ended, executor.capacity.isInFlight('web-1')]).toEqual([[], true]);
    await pass(1);
    expect(ended).toEqual([['web-1', undefined]]);
    expect(executor.capacity.isInFlight('web-1')).toBe(false);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ server: 'web-1', operation: 'create', provider: 'lab' });
    expect(clock.pending).toBe(0);
  });

  it('ends the wait for a provider that ignores it, and its later answer does not count', async () => {
    const { run, provider, ended, pass, executor } = open();
    const late = Promise.withResolvers<Answer>();
    provider.script = () => late.promise;
    await run('web-1');
    await pass(30_000 + GRACE_MS - 1);
    expect([ended, executor.capacity.isInFlight('web-1')]).toEqual([[], true]);
    await pass(1);
    expect(ended).toEqual([['web-1', undefined]]);
    late.resolve(answerOf('done'));
    await settle();
    expect(ended).toHaveLength(1);
    expect(executor.capacity.isInFlight('web-1')).toBe(false);
  });

  it('keeps the server in flight until the call has ended if actions end with their call', async () => {
    const { run, provider, ended, pass, executor, lines } = open();
    const late = Promise.withResolvers<Answer>();
    provider.lostActionEnds = 'with its call';
    provider.script = () => late.promise;
    await run('web-1');
    await pass(30_000 + GRACE_MS);
    // A process that was stopped until now has just told the call to end.
    expect(lines).toEqual([]);
    await pass(3_600_000);
    expect([ended, executor.capacity.isInFlight('web-1')]).toEqual([[], true]);
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 50, server: 'web-1', operation: 'create' });
    late.reject(new Error('its deadline has passed'));
    await settle();
    expect([ended, executor.capacity.isInFlight('web-1')]).toEqual([[['web-1', undefined]], false]);
    expect(executor.lostBecause('web-1')).toBe('its deadline has passed');
  });
});

describe('capacity', () => {
  /** Whether the next call of a server that waits in no line may begin. */
  function room({ capacity }: Executor, provider: string, isRoutine = false): boolean {
    return capacity.mayClaim('another', provider, isRoutine);
  }
  function giveBack({ capacity }: Executor, server: string): void {
    capacity.end(server);
    capacity.release(server);
  }

  it('is taken from the claim until the pass after the call', async () => {
    const { executor, provider, run } = open();
    const answers: (() => void)[] = [];
    provider.script = () => new Promise((resolve) => answers.push(() => resolve(answerOf('done'))));
    executor.capacity.claim('web-1', 'lab');
    executor.capacity.claim('web-2', 'lab');
    expect(room(executor, 'lab')).toBe(true);
    await run('web-3');
    expect([room(executor, 'lab'), room(executor, 'other')]).toEqual([false, true]);
    answers[0]?.();
    await settle();
    // The create that follows a check needs no other slot.
    expect([room(executor, 'lab'), executor.capacity.mayClaim('web-3', 'lab')]).toEqual([false, true]);
    executor.capacity.release('web-3');
    expect(room(executor, 'lab')).toBe(true);
  });

  it('goes to the longest waiting server, and to actions before routine checks', () => {
    const { executor } = open();
    const { capacity } = executor;
    const wait = (server: string, isRoutine: boolean): void => capacity.wait(server, { provider: 'lab', isRoutine });
    for (const server of ['a', 'b', 'c']) capacity.claim(server, 'lab');
    wait('check', true);
    wait('first', false);
    wait('second', false);
    wait('first', false);
    giveBack(executor, 'a');
    expect([...capacity.next()]).toEqual(['first']);
    expect(['first', 'second', 'another'].map((server) => capacity.mayClaim(server, 'lab'))).toEqual([
      true,
      false,
      false,
    ]);
    expect(capacity.mayClaim('check', 'lab', true)).toBe(false);
    // It waits for something else now.
    capacity.leave('first');
    expect([...capacity.next()]).toEqual(['second']);
    capacity.claim('second', 'lab');
    expect([...capacity.next()]).toEqual([]);
    giveBack(executor, 'b');
    expect([...capacity.next()]).toEqual(['check']);
  });

  it('is given to routine checks up to half of an entry', () => {
    const { executor } = open();
    executor.capacity.claim('a', 'lab', { isRoutine: true });
    expect([room(executor, 'lab', true), room(executor, 'lab')]).toEqual([false, true]);
  });
});

describe('stop', () => {
  it('gives no more capacity, and waits for running calls', async () => {
    const { executor, provider, run, ended, clock, lines } = open();
    const answer = Promise.withResolvers<Answer>();
    provider.script = () => answer.promise;
    await run('web-1');
    let isStopped = false;
    const stopping = executor.stop(10_000).then(() => {
      isStopped = true;
    });
    await settle();
    expect([executor.capacity.mayClaim('a', 'lab'), executor.capacity.mayClaim('a', 'other'), isStopped]).toEqual([
      false,
      false,
      false,
    ]);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { actions: 1, seconds: 10, msg: 'waiting for running actions; a second signal stops at once' },
    ]);
    answer.resolve(answerOf('done'));
    await stopping;
    expect(ended).toMatchObject([['web-1', { answer: { outcome: 'done' } }]]);
    expect(clock.pending).toBe(0);
  });
});

describe('an action that ended without an answer', () => {
  it('may run until its deadline and the grace period, with any wall clock', async () => {
    const { executor, provider, run, acting, clock, pass } = open();
    provider.script = () => Promise.reject(new Error('connection reset'));
    const row = acting();
    await run('web-1', row);
    const action = row.action ?? running('create', SMALL);
    clock.setWall(clock.now() + 3_600_000);
    expect(executor.lostMsLeft('web-1', action)).toBe(30_000 + GRACE_MS);
    await pass(30_000 + GRACE_MS);
    expect(executor.lostMsLeft('web-1', action)).toBe(0);
  });

  it.each([
    ['right', 0, 60_000 + GRACE_MS],
    ['set back', -86_400_000, 120_000 + GRACE_MS],
  ])(
    'of another process may run until then from the first question on, with a clock that was %s',
    async (_, byMs, leftMs) => {
      const { executor, clock, pass } = open();
      const now = clock.now();
      const action = { ...running('create', SMALL), started: at(now - 60_000), deadline: at(now + 60_000) };
      clock.setWall(now + byMs);
      expect(executor.lostMsLeft('web-1', action)).toBe(leftMs);
      await pass(leftMs);
      expect(executor.lostMsLeft('web-1', action)).toBe(0);
    },
  );
});

it.each([3_600_000, -3_600_000])(
  'gives a call its full time if the clock was set by %i ms since its claim',
  async (ms) => {
    const { executor, clock, provider, ended, acting, pass } = open();
    const row = acting();
    provider.script = (_call, signal) => untilAborted(signal);
    executor.capacity.claim('a', 'lab');
    clock.setWall(clock.now() + ms);
    executor.run('a', row);
    await settle();
    await pass(29_000);
    expect(ended).toEqual([]);
    expect(provider.calls[0]?.deadline).toBe(at(clock.now() + 1_000));
    await pass(1_000);
    expect(ended).toEqual([['a', undefined]]);
  },
);
