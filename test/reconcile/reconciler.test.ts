// The loop itself: rows that cannot be written, the passes of a rollout, and the resync.
import { describe, expect, it, vi } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import { CommitGate } from '../../src/reconcile/commit-gate.ts';
import { RESYNC_MS, Resync } from '../../src/reconcile/waits/resync.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { answerOf, rowIn, SMALL } from './build.ts';
import { Core } from './core.ts';
import { answering, shopFiles, TEMPLATE, templateText } from './shop.ts';

const FAILED_PASS = 'pass failed; it is tried again';

describe('a row that cannot be written', () => {
  it.each<[what: string, error: Error, logged: readonly string[]]>([
    ['the disk is full', new Error('disk full'), [FAILED_PASS]],
    ['it has changed since', new ServiceError('conflict', 'changed meanwhile'), []],
  ])('starts no call, and leads to another pass: %s', async (_what, error, logged) => {
    const core = await Core.following(shopFiles({ web: 'name: web, size: small' }));
    answering(core, 'update', async () => answerOf('retryable'));
    await core.follow({ [TEMPLATE]: templateText({ web: 'name: web, size: large' }) });
    expect(core.states()).toEqual({ web: 'retrying' });
    core.provider.script = () => undefined;
    const commit = core.store.commit.bind(core.store);
    let failures = 0;
    vi.spyOn(core.store, 'commit').mockImplementation(async (changes, events) => {
      if (failures === 0 && changes.some(({ kind }) => kind === 'server')) {
        failures += 1;
        throw error;
      }
      await commit(changes, events);
    });
    await core.pass(1_000);
    await core.pass(0);
    expect(core.calls('update')).toHaveLength(logged.length > 0 ? 1 : 2);
    await core.pass(1_000);
    expect(core.calls('update')).toHaveLength(2);
    expect(core.states()).toEqual({ web: 'done' });
    expect(core.lines.map(({ msg }) => msg).filter((msg) => msg === FAILED_PASS)).toEqual(logged);
  });
});

it.each([
  ['one at a time', '1', 0],
  ['one at a time, with pauses', '1', 1],
  ['all at once, with little capacity', '100%', 0],
  ['a third at a time', '34%', 0],
])('a rollout passes over each member a few times for any group size: %s', async (_case, away, pause) => {
  const group = (count: number, size: string): string => `resources:
  web:
    type: Platform::ResourceGroup
    properties: { count: "${count}", max_unavailable: "${away}", pause_seconds: "${pause}", resource_def: { properties: { size: ${size} } } }
`;
  for (const size of [20, 80]) {
    const core = await Core.following({ ...shopFiles({}), [TEMPLATE]: group(size, 'small') }, { concurrency: 3 });
    const passes = vi.spyOn(CommitGate.prototype, 'shared');
    await core.follow({ [TEMPLATE]: group(size, 'large') });
    for (let second = 0; second < size * pause; second += 1) await core.pass(1_000);
    expect(new Set(Object.values(core.states()))).toEqual(new Set(['done']));
    expect(core.calls('update')).toHaveLength(size);
    // The resync adds each of them every 30 s.
    expect(passes.mock.calls.length / size).toBeLessThanOrEqual(10);
    passes.mockRestore();
  }
});

it('the resync enqueues unsettled servers, and counts those that could continue', () => {
  const clock = new ManualClock();
  const lines: string[] = [];
  const rows = new Map([
    ['done', rowIn('done', { applied: SMALL })],
    ['known', rowIn('pending')],
    ['lost', rowIn('pending')],
  ]);
  const added: string[] = [];
  const resync = new Resync({
    clock,
    log: createLog('info', { write: (line) => lines.push(line) }),
    ledger: { list: () => rows as never, server: (name) => rows.get(name), isFollowing: false },
    gate: { isExclusive: false },
    queue: { add: (name) => added.push(name), has: (name) => name === 'known', hasDue: false },
    isActive: () => true,
  });
  clock.advance(RESYNC_MS);
  expect(added).toEqual(['lost']);
  expect([resync.begins('lost'), resync.begins('known')]).toEqual([true, false]);
  resync.found('lost');
  expect(resync.missed).toBe(1);
  expect(lines.join()).toContain('a server could continue but was not enqueued');
  resync.stop();
});
