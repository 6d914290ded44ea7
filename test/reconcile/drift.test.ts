import { describe, expect, it } from 'vitest';
import { answerOf } from './build.ts';
import { Core, type CoreOptions } from './core.ts';
import { shopFiles } from './shop.ts';

const CHECK_MS = 300_000;

/** A shop of one server that is done, with a drift policy of its provider entry and more fields of its instance. */
async function shop(options: CoreOptions = {}, instance = ''): Promise<Core> {
  const core = await Core.following(shopFiles({ web: 'size: small' }, instance), { drift: 'report', ...options });
  expect(core.states()).toEqual({ 'shop-web': 'done' });
  return core;
}

/** Somebody changes a server without Treeline. */
function change(core: Core, resource: string, size: string): void {
  act(core, 'update', resource, { name: resource, size });
}

function remove(core: Core, resource: string): void {
  act(core, 'delete', resource, {});
}

function act(core: Core, operation: 'update' | 'delete', resource: string, properties: Record<string, string>): void {
  const [call] = core.provider.calls;
  if (call === undefined) throw new Error('nothing was called yet');
  core.provider.act({ ...call, operation, resource, properties });
}

function why(core: Core) {
  return core.operator.why(core.order.by, 'shop');
}

/** The transitions of a server as the log tells them. */
function transitions(core: Core, server = 'shop-web'): string[] {
  const lines = core.lines.filter((line) => line.msg === 'state' && line.server === server);
  return lines.map(({ from, to }) => `${from} > ${to}`);
}

describe('an idle server', () => {
  it('is checked every checkSeconds, without a write if nothing has changed', async () => {
    const core = await shop();
    const [before, rows] = [core.calls('check').length, core.ledger.server('shop-web')];
    await core.pass(CHECK_MS - 1);
    const { savedBytes } = core.store;
    expect(core.calls('check').length).toBe(before);
    for (let round = 1; round <= 5; round += 1) {
      await core.pass(round === 1 ? 1 : CHECK_MS);
      expect(core.calls('check').length).toBe(before + round);
    }
    expect(core.store.savedBytes).toBe(savedBytes);
    expect(core.ledger.server('shop-web')).toBe(rows);
  });
});

describe('reported drift', () => {
  it('shows three values, starts no action, and ends when the server is corrected', async () => {
    const core = await shop();
    change(core, 'shop-web', 'large');
    await core.pass(CHECK_MS);
    expect(core.reader.status('shop')).toBe('Drifted');
    expect(why(core).waiting).toEqual([
      {
        resource: 'shop-web',
        state: 'drifted',
        since: expect.any(String),
        until: null,
        reason: 'drifted: differs in size',
        action: 'treeline retry --resource shop-web, or push a commit that changes it',
        difference: [{ property: 'size', applied: 'small', observed: 'large', wanted: 'small' }],
      },
    ]);
    expect(why(core).summary).toBe('shop-web is drifted: differs in size');
    expect(core.operator.overview(core.order.by).attention).toMatchObject([
      { reason: 'shop-web is drifted: differs in size' },
    ]);
    await core.pass(10 * CHECK_MS);
    expect(core.calls('update')).toEqual([]);
    change(core, 'shop-web', 'small');
    await core.pass(CHECK_MS);
    expect(core.reader.status('shop')).toBe('Done');
    expect(transitions(core).slice(-2)).toEqual(['done > drifted', 'drifted > done']);
    expect(core.ledger.server('shop-web')).not.toHaveProperty('observed');
  });

  it('of a missing server ends with a retry, which creates it again', async () => {
    const core = await shop();
    const { incarnation } = core.ledger.server('shop-web') ?? { incarnation: 0 };
    remove(core, 'shop-web');
    await core.pass(CHECK_MS);
    expect(why(core).waiting).toMatchObject([{ state: 'drifted', reason: expect.stringContaining('it is gone') }]);
    await core.pass(5 * CHECK_MS);
    expect(core.calls('create')).toEqual(['shop-web']);
    await core.operator.retry(core.order, { resource: 'shop-web' });
    await core.settle();
    expect(core.states()).toEqual({ 'shop-web': 'done' });
    expect(core.calls('create')).toEqual(['shop-web', 'shop-web']);
    expect(core.ledger.server('shop-web')?.incarnation).toBe(incarnation + 1);
  });
});

describe('a failed check', () => {
  it.each(['off', 'report'] as const)('is shown immediately if an operator requested it: %s', async (drift) => {
    const core = await shop({ drift });
    core.provider.script = () => Promise.reject(new Error('the site is down'));
    await core.operator.check(core.order, { resource: 'shop-web' });
    await core.settle();
    expect(core.operator.attention()?.items.map(({ id }) => id)).toEqual(['unchecked:shop']);
  });

  it('changes nothing, is repeated with a back-off, and is reported after three', async () => {
    const core = await shop({ drift: 'heal' });
    const row = core.ledger.server('shop-web');
    const before = core.calls('check').length;
    core.provider.script = () => Promise.resolve(answerOf('retryable', { message: 'the site is down' }));
    await core.pass(CHECK_MS);
    const since = new Date(core.clock.now()).toISOString();
    await core.pass(2 * CHECK_MS);
    expect(why(core).waiting.map(({ state }) => state)).toEqual([]);
    await core.pass(4 * CHECK_MS);
    const reason = `it could not be checked since ${since}: the site is down`;
    expect(why(core)).toMatchObject({
      status: 'Done',
      waiting: [{ state: 'Outage' }, { resource: 'shop-web', state: 'done', since, reason }],
    });
    expect(core.calls('check').length).toBe(before + 3);
    for (let hour = 0; hour < 10; hour += 1) await core.pass(3_600_000);
    expect(core.calls('check').length).toBeLessThanOrEqual(before + 14);
    expect(core.ledger.server('shop-web')).toBe(row);
    core.provider.script = () => undefined;
    await core.pass(3_600_000);
    expect(why(core).waiting).toEqual([]);
  });
});
