// Many servers of a site that are found gone at once, as when its disk is not mounted: healing does not make them again.
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/model/call-result.ts';
import type { DriftPolicy } from '../../src/model/objects.ts';
import { answerOf } from './build.ts';
import { Core } from './core.ts';
import { shopFiles, TEMPLATE, templateText } from './shop.ts';

const CHECK_MS = 300_000;
const HOUR_MS = 3_600_000;

function groupText(count: number, size: string, unavailable = '1'): string {
  return `resources:
  web: { type: Platform::ResourceGroup, properties: { count: "${count}", max_unavailable: "${unavailable}", resource_def: { properties: { size: ${size} } } } }
`;
}

/** Returns a core with a group of so many servers, all of them done. */
async function groupOf(count: number, drift: DriftPolicy = 'heal'): Promise<Core> {
  const core = new Core({ drift });
  core.source.commit({ ...shopFiles({}), [TEMPLATE]: groupText(count, 'small') });
  await core.poll();
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

describe('servers that are gone', () => {
  it.each([
    ['3', 10, 3],
    ['5 percent of the servers of their site', 100, 5],
    ['20', 500, 20],
  ])('are made again where they are few: %s', async (_, count, few) => {
    const core = await groupOf(count);
    expect(remove(core, few)).toBe(few);
    expect(await createdWithin(core, 3)).toBe(few);
    expect(drifted(core)).toEqual([]);
    remove(core, 1, few);
    expect(await createdWithin(core, 2)).toBe(0);
    expect(drifted(core)).toEqual(['many_gone']);
  });

  it('are not made again where more are found at once; a person may have them made', async () => {
    const core = await groupOf(40);
    remove(core, 40);
    expect(await createdWithin(core, 3)).toBe(0);
    expect(drifted(core)).toEqual(Array(40).fill('many_gone'));
    expect(await createdWithin(core, (2 * HOUR_MS) / CHECK_MS)).toBe(0);
    await core.operator.retry(core.order, { instance: 'shop' });
    await core.settle();
    expect(core.calls('create')).toHaveLength(80);
    expect(drifted(core)).toEqual([]);
  });

  it('are at rest again by themselves where the site has them after all', async () => {
    const core = await groupOf(20);
    core.provider.script = ({ operation }) => (operation === 'check' ? Promise.resolve(answerOf('absent')) : undefined);
    expect(await createdWithin(core, 3)).toBe(0);
    expect(drifted(core)).toHaveLength(20);
    core.provider.script = () => undefined;
    expect(await createdWithin(core, 2)).toBe(0);
    expect(drifted(core)).toEqual([]);
  });

  it('count for an hour where one is found after the other', async () => {
    const core = await groupOf(20);
    let created = 0;
    for (let count = 1; count <= 5; count += 1) {
      core.provider.forget(`shop-web-${count}`);
      created += await createdWithin(core, 2);
    }
    expect(created).toBe(3);
    expect(drifted(core)).toEqual(['many_gone', 'many_gone']);
    expect(await createdWithin(core, HOUR_MS / CHECK_MS)).toBe(2);
    expect(drifted(core)).toEqual([]);
  });

  it('count over a restart', async () => {
    const core = await groupOf(20);
    remove(core, 3);
    expect(await createdWithin(core, 2)).toBe(3);
    const next = await core.restart();
    await next.poll();
    remove(next, 3, 3);
    expect(await createdWithin(next, 3)).toBe(0);
  });
});

describe('all servers of a small site that are gone, found one after the other', () => {
  /** Everything is away from now on, as when a disk is not mounted. */
  function takeAway(core: Core): void {
    core.provider.script = ({ operation }) =>
      operation === 'create' ? undefined : Promise.resolve(answerOf('absent'));
  }

  it.each([2, 3])('are not made again without a person, who may have them made: %s', async (count) => {
    const core = await groupOf(count);
    takeAway(core);
    await core.operator.check(core.order, { resource: 'shop-web-1' });
    await core.settle();
    expect(await createdWithin(core, 5)).toBe(0);
    expect(drifted(core)).toEqual(Array(count).fill('many_gone'));
    core.provider.script = () => undefined;
    for (const name of Object.keys(core.states())) core.provider.forget(name);
    await core.operator.retry(core.order, { instance: 'shop' });
    await core.settle();
    expect(core.calls('create')).toHaveLength(2 * count);
    expect(drifted(core)).toEqual([]);
  });

  it('are not made again by an update that does not find them', async () => {
    const core = await groupOf(3);
    takeAway(core);
    core.source.commit({ [TEMPLATE]: groupText(3, 'large') });
    await core.poll();
    expect(await createdWithin(core, 5)).toBe(0);
    expect(drifted(core)).toEqual(Array(3).fill('many_gone'));
  });

  it.each<DriftPolicy>(['heal', 'report'])(
    'are not made again by an update whose first tries fail: %s',
    async (drift) => {
      const core = await groupOf(3, drift);
      takeAway(core);
      const { script } = core.provider;
      const isTried = new Set<string>();
      core.provider.script = (call, signal) => {
        if (call.operation !== 'update' || isTried.has(call.resource)) return script(call, signal);
        isTried.add(call.resource);
        return Promise.resolve(answerOf('retryable', { message: 'I/O error' }));
      };
      core.source.commit({ [TEMPLATE]: groupText(3, 'large') });
      await core.poll();
      expect(await createdWithin(core, 5)).toBe(0);
      expect(isTried.size).toBe(3);
      expect(drifted(core)).toHaveLength(3);
    },
  );

  it('are not made again where the controller is started anew in between', async () => {
    const core = await groupOf(2);
    takeAway(core);
    const { script } = core.provider;
    // Nobody can look at the other one yet.
    core.provider.script = (call, signal) =>
      call.resource === 'shop-web-2' ? Promise.resolve(answerOf('retryable')) : script(call, signal);
    expect(await createdWithin(core, 2)).toBe(0);
    const next = await core.restart({ drift: 'heal' });
    next.provider.script = script;
    expect(await createdWithin(next, 10)).toBe(0);
    expect(drifted(next)).toEqual(Array(2).fill('many_gone'));
  });

  it('are asked for less and less often where the others do not answer, and then a person is', async () => {
    const core = await groupOf(2);
    const isWell = { 'shop-web-2': false };
    core.provider.forget('shop-web-1');
    core.provider.script = ({ operation, resource }) =>
      operation === 'check' && resource === 'shop-web-2' && !isWell[resource]
        ? Promise.resolve(answerOf('retryable'))
        : undefined;
    await core.operator.check(core.order, { resource: 'shop-web-1' });
    await core.settle();
    expect(core.waitReason('shop-web-1')).toContain('waits until another server of its site is found');
    const before = core.calls('check').length;
    for (let second = 0; second < 900; second += 10) await core.pass(10_000);
    // Five tries, two routine checks, and the confirmation.
    expect(core.calls('check').length - before).toBeLessThanOrEqual(9);
    expect(drifted(core)).toEqual(['many_gone']);
    expect(await createdWithin(core, HOUR_MS / CHECK_MS)).toBe(0);
    expect(drifted(core)).toEqual(['many_gone']);
    isWell['shop-web-2'] = true;
    expect(await createdWithin(core, (2 * HOUR_MS) / CHECK_MS)).toBe(1);
    expect(drifted(core)).toEqual([]);
  });

  it('are not made again for a server that is made there during the check that is to confirm it', async () => {
    const core = await groupOf(2);
    takeAway(core);
    const { script } = core.provider;
    const confirmation = Promise.withResolvers<Answer>();
    core.provider.script = (call, signal) =>
      call.operation === 'check' && core.states()[call.resource] === 'pending' && call.resource !== 'shop-web-3'
        ? confirmation.promise
        : script(call, signal);
    await core.operator.check(core.order, { resource: 'shop-web-1' });
    await core.settle();
    expect(core.states()['shop-web-1']).toBe('pending');
    core.source.commit({ [TEMPLATE]: groupText(3, 'small') });
    await core.poll();
    expect(core.states()['shop-web-3']).toBe('done');
    core.provider.script = script;
    const before = core.calls('create');
    confirmation.resolve(answerOf('absent'));
    await core.settle();
    await createdWithin(core, 5);
    expect(core.calls('create')).toEqual(before);
    expect(drifted(core)).toEqual(Array(3).fill('many_gone'));
  });

  it('are asked every half a minute at most, however often one is found gone', async () => {
    const core = await groupOf(2);
    const checks = (): number => core.calls('check').filter((name) => name === 'shop-web-2').length;
    const loseOne = async (): Promise<void> => {
      core.provider.forget('shop-web-1');
      await core.operator.check(core.order, { resource: 'shop-web-1' });
      await core.settle();
    };
    const before = checks();
    await loseOne();
    expect(core.states()['shop-web-1']).toBe('done');
    expect(checks() - before).toBe(1);
    await loseOne();
    expect(core.waitReason('shop-web-1')).toContain('waits until another server of its site is found');
    expect(checks() - before).toBe(1);
    await core.pass(31_000);
    expect(core.states()['shop-web-1']).toBe('done');
    expect(checks() - before).toBe(2);
  });

  it.each([2, 3])('are not made again where a check of one had begun before, and finds it: %s', async (count) => {
    const core = await groupOf(count);
    const slow = Promise.withResolvers<Answer>();
    core.provider.script = ({ operation }) => (operation === 'check' ? slow.promise : undefined);
    await core.operator.check(core.order, { resource: 'shop-web-2' });
    await core.settle();
    takeAway(core);
    await core.operator.check(core.order, { resource: 'shop-web-1' });
    await core.settle();
    slow.resolve(answerOf('done', { observed: { size: 'small' } }));
    await core.settle();
    expect(await createdWithin(core, 4)).toBe(0);
    expect(core.calls('create')).toHaveLength(count);
    expect(drifted(core)).toEqual(Array(count).fill('many_gone'));
  });
});

describe('the last server of a site', () => {
  const BOTH = { a: 'name: a, size: small', b: 'name: b, size: small' };

  it.each([
    'its delete',
    'a delete after a failed one',
    'the check after a lost delete',
    'an update that ran',
    'the check after a lost update',
  ])('is not made again where another one was not found and is forgotten, as told by %s', async (told) => {
    const core = new Core({ drift: 'heal' });
    core.source.commit(shopFiles(BOTH));
    await core.poll();
    const update = Promise.withResolvers<Answer>();
    const isUpdated = told.includes('update');
    let deletes = 0;
    core.provider.script = ({ operation, resource }) => {
      if (operation === 'create') return undefined;
      if (operation === 'update' && resource === 'a') return update.promise;
      if (operation === 'delete') deletes += 1;
      const isFirst = operation === 'delete' && deletes === 1;
      if (isFirst && told === 'a delete after a failed one') return Promise.resolve(answerOf('retryable'));
      if (isFirst && told === 'the check after a lost delete') return Promise.reject(new Error('killed'));
      return Promise.resolve(answerOf('absent'));
    };
    if (isUpdated) core.source.commit({ [TEMPLATE]: templateText({ ...BOTH, a: 'name: a, size: large' }) });
    if (isUpdated) await core.poll();
    core.source.commit({ [TEMPLATE]: templateText({ b: BOTH.b }) });
    await core.poll();
    if (told === 'an update that ran') update.resolve(answerOf('absent'));
    else if (isUpdated) update.reject(new Error('killed'));
    await core.settle();
    expect(await createdWithin(core, 5)).toBe(0);
    expect(core.states()).toEqual({ b: 'drifted' });
    expect(drifted(core)).toEqual(['many_gone']);
  });
});

describe('one server of a small site that is gone', () => {
  it('is not made again where checks find it all the same: its updates fail', async () => {
    const core = await groupOf(2);
    core.provider.script = ({ operation, resource }) =>
      operation === 'update' && resource === 'shop-web-1' ? Promise.resolve(answerOf('absent')) : undefined;
    core.source.commit({ [TEMPLATE]: groupText(2, 'large') });
    await core.poll();
    expect(await createdWithin(core, 5)).toBe(0);
    const { state, reason } = core.ledger.server('shop-web-1') ?? {};
    expect({ state, reason }).toEqual({
      state: 'failed',
      reason: { code: 'action_failed', text: 'update: answered "absent"' },
    });
  });

  it.each([1, 2, 3])('is made again once another one is found: %s', async (count) => {
    const core = await groupOf(count);
    core.provider.forget('shop-web-1');
    expect(await createdWithin(core, 2)).toBe(1);
    expect(drifted(core)).toEqual([]);
  });

  it.each<readonly [DriftPolicy, number]>([
    ['heal', 2],
    ['report', 2],
    ['report', 3],
    ['off', 2],
    ['off', 3],
  ])(
    'is made again after the update that does not find it, once another one is found: %s, %s',
    async (drift, count) => {
      const core = await groupOf(count, drift);
      core.provider.forget('shop-web-1');
      core.source.commit({ [TEMPLATE]: groupText(count, 'large') });
      await core.poll();
      // The next one is changed first: before that, it is not known whether it is there.
      expect(core.calls('update').slice(0, 2)).toEqual(['shop-web-1', 'shop-web-2']);
      expect(core.calls('create').slice(count)).toEqual(['shop-web-1']);
      expect(new Set(Object.values(core.states()))).toEqual(new Set(['done']));
      expect(await createdWithin(core, 3)).toBe(0);
    },
  );

  it('is made again where the other one is being changed meanwhile, and nothing is checked by itself', async () => {
    const core = await groupOf(2, 'off');
    core.provider.forget('shop-web-1');
    const slow = Promise.withResolvers<void>();
    core.provider.script = (call) =>
      call.operation === 'update' && call.resource === 'shop-web-2'
        ? slow.promise.then(() => core.provider.act(call))
        : undefined;
    core.source.commit({ [TEMPLATE]: groupText(2, 'large', '100%') });
    await core.poll();
    expect(core.states()).toEqual({ 'shop-web-1': 'pending', 'shop-web-2': 'updating' });
    slow.resolve();
    await core.settle();
    // Its update began before the other one was found gone: it is looked at once more.
    await core.pass(31_000);
    expect(core.states()).toEqual({ 'shop-web-1': 'done', 'shop-web-2': 'done' });
    expect(core.calls('create')).toHaveLength(3);
  });
});
