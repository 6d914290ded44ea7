// Servers that are found gone twice: healing makes few of them again, and only if their site still finds others.
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/model/call-result.ts';
import type { DriftPolicy } from '../../src/model/objects.ts';
import { answerOf } from './build.ts';
import { Core } from './core.ts';
import { shopFiles, TEMPLATE } from './shop.ts';

const CHECK_MS = 300_000;
const HOUR_MS = 3_600_000;

function groupText(count: number, size: string, unavailable = '1'): string {
  return `resources:
  web: { type: Platform::ResourceGroup, properties: { count: "${count}", max_unavailable: "${unavailable}", resource_def: { properties: { size: ${size} } } } }
`;
}

/** Returns a core with a group of so many servers, all of them done. */
async function groupOf(count: number, drift: DriftPolicy = 'heal'): Promise<Core> {
  const core = await Core.following({ ...shopFiles({}), [TEMPLATE]: groupText(count, 'small') }, { drift });
  expect(Object.values(core.states()).every((state) => state === 'done')).toBe(true);
  return core;
}

/** Removes so many servers by hand, from that one on; returns their number. */
function remove(core: Core, count: number, from = 0): number {
  const names = Object.keys(core.states()).slice(from, from + count);
  for (const name of names) core.provider.forget(name);
  return names.length;
}

/** Lets so many rounds of checks pass, and returns how many servers were created in them. */
async function createdWithin(core: Core, rounds: number): Promise<number> {
  const before = core.calls('create').length;
  for (let round = 0; round < rounds; round += 1) await core.pass(CHECK_MS);
  return core.calls('create').length - before;
}

function drifted(core: Core): readonly string[] {
  return [...core.ledger.list('server').values()].filter(({ state }) => state === 'drifted').map(codeOf);
}

function codeOf({ reason }: { readonly reason: { readonly code: string } | null }): string {
  return reason?.code ?? '';
}

/** Everything is away from now on, as when a disk is not mounted. */
function takeAway(core: Core): void {
  core.provider.script = ({ operation }) => (operation === 'create' ? undefined : Promise.resolve(answerOf('absent')));
}

describe('missing servers', () => {
  it.each([
    ['one', 10, 1],
    ['5 percent of the servers of their site', 100, 5],
    ['20', 500, 20],
  ])('are created again if they are few, and otherwise wait for an operator: %s', async (_, count, few) => {
    const core = await groupOf(count);
    expect(remove(core, few)).toBe(few);
    expect(await createdWithin(core, 3)).toBe(few);
    expect(drifted(core)).toEqual([]);
    remove(core, 1, few);
    expect(await createdWithin(core, 3)).toBe(0);
    expect(drifted(core)).toEqual(['many_gone']);
    await core.operator.retry(core.order, { instance: 'shop' });
    await core.settle();
    expect(drifted(core)).toEqual([]);
  });

  it('count for an hour, also over a restart', async () => {
    const core = await groupOf(20);
    remove(core, 1);
    expect(await createdWithin(core, 2)).toBe(1);
    const next = await core.restart();
    await next.poll();
    remove(next, 1, 1);
    expect(await createdWithin(next, 3)).toBe(0);
    await next.pass(HOUR_MS);
    remove(next, 1, 2);
    expect(await createdWithin(next, 3)).toBe(1);
    expect(drifted(next)).toEqual(['many_gone']);
  });
});

describe('a missing server without another one found at its site', () => {
  it.each([1, 2, 3])('waits for two check intervals, and then for an operator: %s', async (count) => {
    const core = await groupOf(count);
    takeAway(core);
    await core.operator.check(core.order, { resource: 'shop-web-1' });
    await core.settle();
    expect(core.waitReason('shop-web-1')).toContain('waits until another server of its site is found');
    expect(await createdWithin(core, 4)).toBe(0);
    expect(drifted(core)).toEqual(Array(count).fill('many_gone'));
    const next = await core.restart({ drift: 'heal' });
    expect(await createdWithin(next, 4)).toBe(0);
    await next.operator.retry(next.order, { instance: 'shop' });
    await next.settle();
    expect(next.calls('create')).toHaveLength(count);
    expect(drifted(next)).toEqual([]);
  });

  it('waits for an operator, and not for a clock that was set back', async () => {
    const core = await groupOf(1);
    takeAway(core);
    await core.operator.check(core.order, { resource: 'shop-web-1' });
    await core.settle();
    core.clock.setWall(core.clock.now() - 24 * HOUR_MS);
    expect(await createdWithin(core, 4)).toBe(0);
    expect(drifted(core)).toEqual(['many_gone']);
  });

  it.each<DriftPolicy>(['heal', 'report', 'off'])('is not created again by its update: %s', async (drift) => {
    const core = await groupOf(3, drift);
    takeAway(core);
    await core.follow({ [TEMPLATE]: groupText(3, 'large') });
    expect(await createdWithin(core, 12)).toBe(0);
    expect(drifted(core)).toContain('many_gone');
  });

  it('is not created again by a later commit that changes it', async () => {
    const core = await groupOf(3);
    takeAway(core);
    await createdWithin(core, 4);
    await core.follow({ [TEMPLATE]: groupText(3, 'large') });
    expect(await createdWithin(core, 4)).toBe(0);
    expect(drifted(core)).toEqual(Array(3).fill('many_gone'));
    core.provider.script = () => undefined;
    await createdWithin(core, 2);
    expect(core.ledger.server('shop-web-1')?.applied?.properties).toMatchObject({ size: 'large' });
    expect(drifted(core)).toEqual([]);
  });

  it('is not created again because of an earlier call or a new server', async () => {
    const core = await groupOf(2);
    const slow = Promise.withResolvers<Answer>();
    core.provider.script = ({ operation }) => (operation === 'check' ? slow.promise : undefined);
    await core.operator.check(core.order, { resource: 'shop-web-2' });
    await core.pass(1_000);
    takeAway(core);
    await core.operator.check(core.order, { resource: 'shop-web-1' });
    await core.settle();
    slow.resolve(answerOf('done', { observed: { size: 'small' } }));
    await core.follow({ [TEMPLATE]: groupText(3, 'small') });
    expect(core.states()['shop-web-3']).toBe('done');
    expect(await createdWithin(core, 4)).toBe(0);
    expect(drifted(core)).toEqual(Array(3).fill('many_gone'));
  });
});

describe('one missing server of a small site', () => {
  it('is not created again if checks find it while its updates fail', async () => {
    const core = await groupOf(2);
    core.provider.script = ({ operation, resource }) =>
      operation === 'update' && resource === 'shop-web-1' ? Promise.resolve(answerOf('absent')) : undefined;
    await core.follow({ [TEMPLATE]: groupText(2, 'large', '100%') });
    expect(await createdWithin(core, 5)).toBe(0);
    const { state, reason } = core.ledger.server('shop-web-1') ?? {};
    expect({ state, reason }).toEqual({
      state: 'failed',
      reason: { code: 'action_failed', text: 'update: answered "absent"' },
    });
  });
});
