// Tests what needs an operator: each cause is one item, whatever it concerns, and what waits for it is none.

import { describe, expect, it } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import type { Client } from '../../src/model/objects.ts';
import type { AttentionItem, Cause, Overview } from '../../src/service/answers.ts';
import { firstOf } from '../../src/service/progress/attention.ts';
import { AttentionWatch } from '../../src/service/progress/attention-watch.ts';
import { causesOf } from '../../src/service/progress/causes.ts';
import type { EndingCertificate } from '../../src/service/progress/clients-seen.ts';
import type { Facts } from '../../src/service/progress/facts.ts';
import { Scope } from '../../src/service/scope.ts';
import { answerOf } from '../reconcile/build.ts';
import type { Core } from '../reconcile/core.ts';
import { coreOn, type Files, failing, MOMENT, type Script } from './core-on.ts';
import { ADMINISTRATOR } from './service.ts';

const NO_SERVERS = { count: 0, examples: [] };

function stack(name: string, count = 1, properties = ''): Files {
  const member = `resource_def: { properties: { name: "${name}-<<index>>", ${properties} } }`;
  return {
    [`stacks/templates/${name}.yaml`]: `resources:
  web: { type: Platform::ResourceGroup, properties: { count: "${count}", max_unavailable: "100%", ${member} } }
`,
    [`stacks/instances/${name}.yaml`]: `stackTemplate: ${name}\n`,
  };
}

function overview(core: Core, by: Client = core.order.by): Overview {
  return core.operator.overview(by);
}

function attention(core: Core, by?: Client): readonly AttentionItem[] {
  return overview(core, by).attention;
}

function ids(core: Core): readonly string[] {
  return attention(core).map(({ id }) => id);
}

describe('attention', () => {
  it('is empty if all servers are done or continue automatically', async () => {
    const core = await coreOn(stack('shop', 2));
    expect(ids(core)).toEqual([]);
    core.provider.script = () => Promise.resolve(answerOf('retryable', { message: 'busy' }));
    core.source.commit(stack('shop', 2, 'size: large'));
    await core.poll();
    expect(overview(core).counts).toEqual({ retrying: 2 });
    expect(ids(core)).toEqual([]);
  });

  it('has one item for all failed servers of an instance, and none for those that wait', async () => {
    const web = stack('web', 3, 'depends_on: shop-1');
    const core = await coreOn({ ...stack('shop', 12), ...web }, failing);
    expect(attention(core)).toEqual([
      {
        id: 'failed:shop',
        kind: 'failed',
        instances: ['shop'],
        acknowledged: null,
        servers: { count: 12, examples: ['shop-1', 'shop-10', 'shop-11', 'shop-12', 'shop-2'] },
        reason: 'shop-1 is failed: action_failed: create: no such image; others: 11',
        since: expect.stringMatching(MOMENT),
        action: 'correct that, then push, or: treeline retry shop',
      },
    ]);
  });

  it('has one item per kind and instance, in the order of kinds', async () => {
    const core = await coreOn({ ...stack('app'), ...stack('shop', 3) }, (call, servers) => {
      if (call.resource === 'shop-1') return failing(call, servers);
      return call.resource === 'shop-3' ? Promise.resolve(answerOf('done')) : undefined;
    });
    expect(attention(core).map(({ id, action }) => [id, action])).toEqual([
      ['failed:shop', 'correct that, then push, or: treeline retry --resource shop-1'],
      ['blocked:shop', 'treeline adopt --resource shop-3'],
    ]);
  });

  it('has a server with an unknown outcome after three failed checks', async () => {
    let isMade = false;
    const core = await coreOn(
      stack('shop'),
      ({ operation }) => {
        isMade ||= operation === 'create';
        if (operation === 'create') return Promise.reject(new Error('the line was cut'));
        return isMade ? Promise.resolve(answerOf('retryable', { message: 'no report' })) : undefined;
      },
      { retry: { attempts: 20 } },
    );
    for (let checks = 1; checks <= 3; checks += 1) await core.pass(600_000);
    // Its entry has answered nothing since: that is the one cause, until it answers that it cannot tell.
    expect([overview(core).instances[0]?.status, ids(core)]).toEqual(['Blocked', ['provider:lab']]);
    core.provider.script = () => Promise.resolve(answerOf('failed', { message: 'no report' }));
    await core.pass(3_600_000);
    expect(attention(core)).toMatchObject([{ id: 'lost:shop', servers: { count: 1 } }]);
    expect(attention(core)[0]?.action).toContain('treeline retry --resource shop-1');
    core.provider.script = () => undefined;
    await core.pass(3_600_000);
    await core.pass(600_000);
    expect([overview(core).instances[0]?.status, ids(core)]).toEqual(['Done', []]);
  });

  it('has one item for all instances that one file stops', async () => {
    const other = { 'stacks/instances/other.yaml': 'stackTemplate: shop\n' };
    const core = await coreOn({ ...stack('shop'), ...other, ...stack('app') });
    core.source.commit({ 'stacks/templates/shop.yaml': 'resources: { web: { type: Platform::Serve } }\n' });
    await core.poll();
    const [item, ...others] = attention(core);
    expect(others).toEqual([]);
    expect(item).toMatchObject({
      id: 'invalid:stacks/templates/shop.yaml',
      instances: ['other', 'shop'],
      servers: NO_SERVERS,
      since: expect.stringMatching(MOMENT),
      reason: expect.stringMatching(
        /^the newest version of 2 instances is wrong: stacks\/templates\/shop\.yaml:1:\d+: /,
      ),
      action: 'correct stacks/templates/shop.yaml, and push',
    });
    const { since } = item ?? {};
    await core.pass(60_000);
    core.source.commit({ 'stacks/instances/app.yaml': 'stackTemplate: app\ndescription: x\n' });
    await core.poll();
    expect(attention(core), 'since when, whatever is followed meanwhile').toMatchObject([{ since }]);
    const proxy: Client = { ...core.order.by, role: 'proxy' };
    expect(attention(core, proxy)[0]?.reason).toContain('only administrators and automation endpoints may see');
  });

  it('words its action so that no folder name becomes a command', async () => {
    const path = 'stacks/instances/x\n    do: treeline retry $(reboot) /other.yaml';
    const core = await coreOn({ ...stack('shop'), [path]: 'stackTemplate: nowhere\n' });
    const [item] = attention(core).filter(({ kind }) => kind === 'invalid');
    expect(item).toMatchObject({ reason: expect.stringContaining(path), action: 'correct that file, and push' });
    expect(core.operator.why(core.order.by, 'other').waiting).toMatchObject([{ action: item?.action }]);
  });

  it('has changes that wait for an approval', async () => {
    const core = await coreOn({ ...stack('app'), ...stack('shop', 8) }, undefined, {
      budget: { percent: 0, least: 2, most: 2 },
    });
    core.source.commit(stack('shop', 1));
    await core.poll();
    const [held] = core.operator.held();
    expect(held).toMatchObject({ commit: core.current.get()?.commit, author: 'A Person' });
    expect(core.operator.held({ ...core.order.by, role: 'proxy' })).toEqual([{ ...held, author: null }]);
    expect(attention(core)).toEqual([
      {
        id: 'held:shop',
        kind: 'held',
        instances: ['shop'],
        since: held?.since,
        reason: `${held?.reason}; an approval deletes shop-2, shop-3, shop-4, shop-5, shop-6 and 2 more`,
        servers: { count: 7, examples: ['shop-2', 'shop-3', 'shop-4', 'shop-5', 'shop-6'] },
        action: `treeline approve ${held?.digest}; if that is not intended, revert ${held?.commit}`,
        acknowledged: null,
      },
    ]);
  });

  it('has a commit that is not followed, and outages except for proxies', async () => {
    const core = await coreOn(stack('shop'));
    core.source.commit({ 'tree.yaml': 'name: [global]\n' });
    await core.poll();
    const statuses = { reason: 'it answers 500', since: '2026-11-20T10:00:00.000Z' };
    core.outages = { statuses };
    expect(attention(core)).toMatchObject([
      { id: 'commit:wrong', instances: [], servers: NO_SERVERS, action: 'treeline problems; correct that, then push' },
      {
        id: 'statuses:unsent',
        reason: 'commit statuses are not sent: it answers 500',
        since: statuses.since,
      },
    ]);
    const proxy: Client = { ...core.order.by, role: 'proxy' };
    expect(attention(core, proxy).map(({ id }) => id)).toEqual(['commit:wrong']);
    expect(overview(core).newest?.reason).toContain('lacks the field');
    expect(JSON.stringify([core.operator.why(proxy, 'shop'), overview(core, proxy)])).not.toContain('lacks the field');
  });
});

describe('an acknowledged cause', () => {
  const UNTIL = '2026-11-21T10:00:00Z';

  async function failedShop(): Promise<Core> {
    return await coreOn({ ...stack('app'), ...stack('shop', 2) }, failing);
  }

  function watchOf(core: Core): { readonly watch: AttentionWatch; readonly told: readonly string[] } {
    const told: string[] = [];
    const watch = new AttentionWatch({
      attention: () => core.operator.attention(),
      clock: core.clock,
      endAcknowledgements: (ended) => core.requests.endAcknowledgements(ended),
      log: createLog('info', {
        write(text) {
          const { level, attention } = JSON.parse(text);
          if (attention) told.push(`${level === 40 ? '+' : '-'}${attention}`);
        },
      }),
    });
    return { watch, told };
  }

  function acknowledge(core: Core, until: string | null, instance = 'shop'): Promise<string> {
    return core.operator.acknowledge({ ...core.order, reason: 'a new disk comes' }, { instance, until });
  }

  it('is listed last with client and reason until its time is over', async () => {
    const core = await failedShop();
    expect(await acknowledge(core, UNTIL, 'app')).toBe(
      `The problems of app are acknowledged until ${UNTIL}: failed:app`,
    );
    const acknowledged = { by: 'Ada (A1)', until: UNTIL, reason: 'a new disk comes' };
    const known = attention(core).map((item) => [item.id, item.acknowledged]);
    expect(known).toEqual([
      ['failed:shop', null],
      ['failed:app', acknowledged],
    ]);
    const proxy: Client = { ...core.order.by, role: 'proxy' };
    expect(attention(core, proxy)[1]?.acknowledged?.by).toBe('an administrator');
    core.clock.setWall(Date.parse(UNTIL));
    expect(attention(core).map((item) => item.acknowledged)).toEqual([null, null]);
  });

  it('is acknowledged for all its instances or not at all', async () => {
    const other = { 'stacks/instances/other.yaml': 'stackTemplate: shop\n' };
    const core = await coreOn({ ...stack('shop'), ...other, ...stack('app') });
    core.source.commit({ 'stacks/templates/shop.yaml': 'resources: { web: { type: Platform::Serve } }\n' });
    await core.poll();
    await acknowledge(core, UNTIL);
    expect(attention(core)[0]?.acknowledged).toBeNull();
    await acknowledge(core, '2026-11-20T20:00:00Z', 'other');
    expect(attention(core)[0]?.acknowledged?.until).toBe('2026-11-20T20:00:00Z');
  });

  it('becomes open at the request of an operator, and ends with the instance', async () => {
    const core = await failedShop();
    await acknowledge(core, UNTIL);
    await acknowledge(core, null);
    expect(attention(core).every((item) => item.acknowledged === null)).toBe(true);
    const { events } = await core.operator.events(core.order.by, 'shop', { after: 0, limit: 1_000 });
    expect(events.flatMap(({ reason }) => (reason.includes('cknowledge') ? [reason] : []))).toEqual([
      `acknowledge: a new disk comes; the acknowledgement ends ${UNTIL}: failed:shop`,
      'acknowledge: a new disk comes; the acknowledgement is over',
    ]);
    await acknowledge(core, UNTIL);
    core.source.commit({ 'stacks/instances/shop.yaml': null });
    await core.poll();
    expect(core.ledger.list('acknowledgement').size).toBe(0);
  });

  it('is open again if it returns', async () => {
    const core = await failedShop();
    const { watch, told } = watchOf(core);
    await core.pass(1_000);
    await acknowledge(core, UNTIL);
    await core.pass(5_000);
    expect(attention(core).map(({ id, acknowledged }) => [id, acknowledged === null])).toEqual([
      ['failed:app', true],
      ['failed:shop', false],
    ]);
    core.provider.script = () => undefined;
    await core.operator.retry(core.order, { instance: 'shop' });
    await core.settle();
    await core.pass(5_000);
    expect([core.ledger.list('acknowledgement').size, ids(core)]).toEqual([0, ['failed:app']]);
    await core.pass(60_000);
    core.provider.script = () => Promise.resolve(answerOf('failed', { message: 'no such image' }));
    core.source.commit(stack('shop', 2, 'size: large'));
    await core.poll();
    await core.pass(5_000);
    expect(told).toEqual(['+failed:app', '+failed:shop', '-failed:shop', '+failed:shop']);
    const { events } = await core.operator.events(core.order.by, 'shop', { after: 0, limit: 1_000 });
    expect(events.map(({ reason }) => reason)).toContain('the acknowledgement is over');
    await watch.stop();
  });

  it.each<[string, string, string | null, string]>([
    ['an instance without a cause', 'calm', UNTIL, 'Nothing of calm needs an operator'],
    ['an unknown instance', 'shpo', UNTIL, 'There is no stack instance "shpo"; did you mean "shop"?'],
    ['until a past time', 'shop', '2026-11-20T10:00:00Z', 'within 30 days'],
    ['for longer than 30 days', 'shop', '2027-01-20T10:00:00Z', 'within 30 days'],
    ['with "end" without an acknowledgement', 'shop', null, 'No problem of shop is acknowledged'],
  ])('cannot be acknowledged: %s', async (_what, instance, until, message) => {
    const calm = {
      'stacks/templates/calm.yaml': 'resources: {}\n',
      'stacks/instances/calm.yaml': 'stackTemplate: calm\n',
    };
    const core = await coreOn({ ...calm, ...stack('shop') }, failing);
    await expect(acknowledge(core, until, instance)).rejects.toThrow(message);
  });
});

it('attention has a thousand causes, and the number of the others', () => {
  const items = Array.from({ length: 1_003 }, (_, index): AttentionItem => {
    const instances = Array.from({ length: index === 0 ? 101 : 1 }, (_, at) => `i${at}`);
    const facts = { instances, servers: NO_SERVERS, reason: '', since: null, action: null, acknowledged: null };
    return { id: `failed:${index}`, kind: 'failed', ...facts };
  });
  const { attention, attentionLeftOut } = firstOf(items);
  expect([attention.length, attentionLeftOut, attention[0]?.instances.length]).toEqual([1_000, 3, 100]);
  expect(firstOf(items.slice(0, 2))).not.toHaveProperty('attentionLeftOut');
});

describe('attention for many servers', () => {
  const lost: Script = () => Promise.reject(new Error('connection refused'));

  it('has one item for a provider entry that does not answer, until one answer', async () => {
    const core = await coreOn(stack('shop', 6), lost);
    await core.pass(40_000);
    await core.pass(40_000);
    await core.pass(40_000);
    expect(attention(core)).toEqual([
      {
        id: 'provider:lab',
        kind: 'provider',
        instances: ['shop'],
        acknowledged: null,
        servers: { count: 6, examples: ['shop-1', 'shop-2', 'shop-3', 'shop-4', 'shop-5'] },
        reason: expect.stringMatching(
          /^the provider entry "lab" has answered nothing since \S+Z, the last time: .*refused/,
        ),
        since: expect.stringMatching(MOMENT),
        action: expect.stringMatching(/treeline retry --provider lab$/),
      },
    ]);
    core.provider.script = () => undefined;
    await core.pass(3_600_000);
    await core.pass(3_600_000);
    expect(ids(core)).toEqual([]);
  });

  it('has one item for idle servers of an instance whose checks fail while their entry answers', async () => {
    const core = await coreOn({ ...stack('app', 2), ...stack('shop', 3) }, undefined, { drift: 'report' });
    core.provider.script = ({ operation, resource }) =>
      operation === 'check' && resource.startsWith('shop')
        ? Promise.resolve(answerOf('failed', { message: 'no such console' }))
        : undefined;
    for (let round = 0; round < 4; round += 1) await core.pass(4_000_000);
    expect(overview(core).counts).toEqual({ done: 5 });
    expect(attention(core)).toEqual([
      {
        id: 'unchecked:shop',
        kind: 'unchecked',
        instances: ['shop'],
        acknowledged: null,
        servers: { count: 3, examples: ['shop-1', 'shop-2', 'shop-3'] },
        reason: expect.stringMatching(/^shop-1: it could not be checked since \S+Z: no such console; others: 2$/),
        since: expect.stringMatching(MOMENT),
        action: expect.stringMatching(/treeline retry --resource shop-1$/),
      },
    ]);
    core.provider.script = () => undefined;
    await core.operator.retry({ ...core.order }, { instance: 'shop' });
    await core.settle();
    expect(ids(core)).toEqual([]);
  });

  it('has one item for the nodes of an instance that could not apply their record', async () => {
    const core = await coreOn({ ...stack('shop', 3), 'types/clientcert/printer.yaml': 'port: 1\n' });
    const since = '2026-11-20T10:00:00.000Z';
    const confirm = (node: string, outcome: 'applied' | 'failed', message: string): Promise<void> => {
      const expected = core.ledger.read('delivery', node);
      const { incarnation = 0 } = core.ledger.server(node) ?? {};
      const value = { digest: 'aaa', commit: null, incarnation, by: 'B1', time: since, outcome, message };
      return core.ledger.commit([{ kind: 'delivery', name: node, value, expected }]);
    };
    for (const node of ['shop-3', 'shop-2', 'printer']) await confirm(node, 'failed', 'no space left');
    await confirm('shop-1', 'applied', '');
    expect(attention(core)).toEqual([
      {
        id: 'unapplied:shop',
        kind: 'unapplied',
        instances: ['shop'],
        acknowledged: null,
        since,
        servers: { count: 2, examples: ['shop-2', 'shop-3'] },
        reason: 'shop-2 could not apply its record: no space left; others: 1',
        action: 'treeline delivered shop',
      },
      {
        id: 'unapplied:types/clientcert',
        kind: 'unapplied',
        instances: [],
        acknowledged: null,
        since,
        servers: { count: 1, examples: ['printer'] },
        reason: 'printer could not apply its record: no space left',
        action: 'treeline delivered',
      },
    ]);
    // What a consumer says may hold anything, and a proxy is not told of it.
    expect(attention(core, { ...core.order.by, role: 'proxy' })).toEqual([]);
    for (const node of ['shop-3', 'printer']) await confirm(node, 'applied', '');
    expect(ids(core)).toEqual(['unapplied:shop']);
    await confirm('shop-2', 'applied', '');
    expect(ids(core)).toEqual([]);
  });

  it('has one item for a removed entry with servers, even idle ones', async () => {
    const core = await coreOn(stack('shop', 2));
    const next = await core.restart({ entries: [{ name: 'other', match: { kind: null, properties: {} } }] });
    expect(attention(next)).toMatchObject([
      { id: 'entry:lab', instances: ['shop'], servers: { count: 2 }, reason: expect.stringContaining('"lab"') },
    ]);
    next.source.commit(stack('shop', 2, 'size: large'));
    await next.poll();
    expect(overview(next).counts).toEqual({ blocked: 2 });
    expect(ids(next)).toEqual(['entry:lab']);
  });
});

describe('causes without rows', () => {
  const DAY = 86_400_000;
  const NOW = Date.parse('2026-11-20T10:00:00.000Z');
  function told(
    ending: readonly Pick<EndingCertificate, 'begins' | 'ends'>[],
    client: Client = ADMINISTRATOR,
    replica: Partial<Pick<Facts, 'leader' | 'isUnled'>> = {},
  ): readonly Cause[] {
    const none = (): Map<string, unknown> => new Map();
    const index = { needingOperator: none, serversOfProxies: none, openUpdates: none };
    const rows = { list: none, read: () => undefined, index };
    const dated = ending.map((dates) => ({ id: 'crl', name: 'the list', action: 'renew it', ...dates }));
    const noticed = { silent: [], cycles: [], unchecked: new Set(), ending: dated };
    const facts = {
      view: { now: NOW, rows, desired: { invalid: new Set(), problems: [] } },
      scope: new Scope(client),
      outages: {},
      noticed,
      ...replica,
    };
    return causesOf(facts as unknown as Facts).causes;
  }

  it.each([
    [31, undefined],
    [30, 'the list ends in 30 days, at 2026-12-20T10:00:00.000Z'],
    [7, 'the list ends in 7 days, at 2026-11-27T10:00:00.000Z'],
    [1, 'the list ends in 1 day, at 2026-11-21T10:00:00.000Z'],
    [0.5, 'the list ends within a day, at 2026-11-20T22:00:00.000Z'],
    [-1, 'the list has ended, at 2026-11-19T10:00:00.000Z'],
  ])('report a certificate from 30 days before its end: %s days', (days, reason) => {
    const items = told([{ begins: NOW - 365 * DAY, ends: NOW + days * DAY }]);
    expect(items[0]?.reason).toBe(reason);
    if (reason !== undefined)
      expect(items).toMatchObject([{ id: 'certificate:crl', kind: 'certificate', action: 'renew it' }]);
  });

  it('report a short validity in its last quarter, the first to expire', () => {
    expect(told([{ begins: NOW - 3 * DAY, ends: NOW + 2 * DAY }])).toEqual([]);
    const ends = [2.1 * DAY, DAY].map((ms) => ({ begins: NOW - 7 * DAY, ends: NOW + ms }));
    expect(told(ends).map(({ reason }) => reason)).toEqual(['the list ends in 1 day, at 2026-11-21T10:00:00.000Z']);
  });

  it('report a missing leader, and one that does not answer this replica', () => {
    const leader = { name: 'one', since: '2026-11-20T10:00:00.000Z', fencing: 3 };
    const first = (replica: Parameters<typeof told>[2]) => told([], ADMINISTRATOR, replica).map(({ id }) => id);
    expect(first({ leader: null, isUnled: true })).toEqual(['leader:none']);
    expect(first({ leader, isUnled: true })).toEqual(['leader:silent']);
    expect(first({ leader })).toEqual([]);
    expect(told([], ADMINISTRATOR, { leader, isUnled: true })[0]?.reason).toContain('the leader "one" does not answer');
  });

  it('are not shown to proxies', () => {
    expect(told([{ begins: NOW - 365 * DAY, ends: NOW }], { ...ADMINISTRATOR, role: 'proxy' })).toEqual([]);
  });
});
