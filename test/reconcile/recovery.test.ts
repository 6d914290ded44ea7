// What is recorded may not be what was done: everything is suspended, checks tell what is there, and an operator resumes.
import { describe, expect, it } from 'vitest';
import { longestActionMs, recoverRows } from '../../src/machine/recovery.ts';
import type { ServiceError } from '../../src/model/service-error.ts';
import { answerOf, at } from './build.ts';
import { Core } from './core.ts';
import { answering, SHOP, shopFiles, TEMPLATE, templateText } from './shop.ts';

const LOST = 'the store is empty, and its directory has "repository" of an earlier one';
const OLD = { a: 'size: small', b: 'size: small', c: 'size: small' };
const RUNS_MS = 60_000;

/** A shop with three servers, which are there. */
async function shop(more: Readonly<Record<string, string>> = {}): Promise<Core> {
  const core = await Core.following(
    { ...shopFiles(OLD), ...more },
    { budget: { percent: 100, least: 100, most: 100 } },
  );
  return core;
}

/** Restores a backup of just now. */
async function restore(core: Core, now = core.clock.now()): Promise<Core> {
  const lost = { reason: 'the store was restored from a backup', now, runsMs: RUNS_MS };
  await core.ledger.commit(recoverRows(core.ledger, lost));
  return await core.restart();
}

function found(core: Core, instance = 'shop') {
  const { recovery } = core.operator.recovery(core.order.by);
  const [one] = recovery?.instances.filter((each) => each.instance === instance) ?? [];
  return Object.fromEntries(
    Object.entries(one ?? {}).filter(([, names]) => names !== instance && names !== false && String(names) !== ''),
  );
}

function actions(core: Core): readonly string[] {
  return (['create', 'update', 'delete'] as const).flatMap((operation) => core.calls(operation));
}

async function refusal(resuming: Promise<string>): Promise<Pick<ServiceError, 'code' | 'message'>> {
  return await resuming.then(
    (text) => ({ code: 'conflict' as const, message: text }),
    (error: ServiceError) => error,
  );
}

describe('after a lost store', () => {
  it('nothing is created, and existing servers wait for an operator', async () => {
    const first = await shop();
    first.source.commit({ [TEMPLATE]: templateText({ a: OLD.a, d: 'size: small' }) });
    const core = await first.lose(LOST);
    expect(actions(core)).toEqual([]);
    expect(found(core)).toEqual({ waiting: ['shop-a'], create: ['shop-d'] });
    expect(core.reader.status('shop')).toBe('Suspended');
    const [item] = core.operator.attention()?.items ?? [];
    expect(item).toMatchObject({ kind: 'recovery', action: expect.stringContaining('treeline resume --recovery ') });
    const [why] = core.operator.why(core.order.by, 'shop').waiting;
    expect(why).toMatchObject({ state: 'Suspended', reason: `a recovery suspends every instance: ${LOST}` });
    // Checks of before do not count: an action that no row knows may have run since.
    const checks = (): number => core.calls('check').filter((name) => name === 'shop-d').length;
    const before = checks();
    await core.endRecovery();
    expect(checks()).toBe(before + 1);
    expect(actions(core)).toEqual(['shop-d']);
    expect(core.operator.recovery(core.order.by)).toEqual({ recovery: null });
  });

  it('adopt --all takes over all servers without an action', async () => {
    const core = await (await shop()).lose(LOST);
    await core.operator.adopt(core.order, { all: true });
    await core.settle();
    expect(found(core)).toEqual({ found: ['shop-a', 'shop-b', 'shop-c'] });
    await core.endRecovery();
    await core.pass(600_000);
    expect(actions(core)).toEqual([]);
    expect(core.states()).toEqual({ 'shop-a': 'done', 'shop-b': 'done', 'shop-c': 'done' });
  });
});

describe('after a restored backup', () => {
  it('every delete is held despite budget and trailers, also after the resume', async () => {
    const first = await shop();
    const core = await restore(first);
    core.source.commit({ [SHOP]: null }, { message: 'Close\n\nTreeline-Approve-Deletes: 3\n' });
    await core.poll();
    expect(core.held('shop')).toMatchObject({ resources: ['shop-a', 'shop-b', 'shop-c'] });
    expect(found(core)).toMatchObject({ isHeld: true });
    await core.endRecovery();
    await core.pass(600_000);
    expect(actions(core)).toEqual([]);
    await core.approve(core.held('shop')?.digest ?? '');
    expect(core.calls('delete')).toEqual(['shop-a', 'shop-b', 'shop-c']);
  });

  it('a delete under way is held, and its approval does not count', async () => {
    const first = await shop();
    answering(first, 'delete', async () => answerOf('retryable'));
    await first.pushDelete('shop');
    await first.poll();
    const core = await restore(first);
    expect(core.ledger.list('approval').size).toBe(0);
    expect(core.calls('delete')).toEqual([]);
  });

  it('nothing is updated, and every server has a later incarnation, even if the clock was set back', async () => {
    const first = await shop();
    const before = first.ledger.server('shop-a')?.incarnation ?? 0;
    const core = await restore(first, 0);
    await core.follow({ [TEMPLATE]: templateText({ ...OLD, a: 'size: large' }) });
    expect(actions(core)).toEqual([]);
    expect(found(core)).toEqual({ found: ['shop-b', 'shop-c'], update: ['shop-a'] });
    expect(core.ledger.server('shop-a')?.incarnation).toBeGreaterThan(before);
    await core.endRecovery();
    expect(actions(core)).toEqual(['shop-a']);
  });
});

describe('a recovery ends', () => {
  it('only when no unrecorded action can run, or by force', async () => {
    const core = await restore(await shop());
    const { recovery } = core.operator.recovery(core.order.by);
    const id = recovery?.id ?? '';
    const until = at(core.clock.now() + RUNS_MS);
    expect(await refusal(core.operator.endRecovery(core.order, { recovery: id, force: false }))).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(`An unrecorded action may run until ${until}`),
    });
    await core.pass(RUNS_MS);
    await core.operator.endRecovery(core.order, { recovery: id, force: false });
    expect(core.reader.status('shop')).toBe('Done');
  });

  it('by its id, and not with a suspension', async () => {
    const core = await restore(await shop());
    await core.operator.suspend(core.order, { instance: null, until: null });
    await core.operator.resume(core.order, null);
    expect(await refusal(core.operator.endRecovery(core.order, { recovery: 'x', force: true }))).toMatchObject({
      code: 'not_found',
    });
    expect(core.reader.status('shop')).toBe('Suspended');
  });
});

it('the longest action takes the longest timeout of all entries plus the grace period', () => {
  const timeouts = (timeoutSeconds: number) => ({ timeoutSeconds }) as never;
  const settings = { providers: [timeouts(60), timeouts(3_600)], proxied: timeouts(900), graceSeconds: 30 };
  expect(longestActionMs(settings)).toBe(3_630_000);
});
