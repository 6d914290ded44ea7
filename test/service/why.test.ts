// Tests the answers of `why`: every reason names what is waited for, since when, until when, and what to do.

import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/model/objects.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import type { WaitingItem, Why } from '../../src/service/answers.ts';
import type { Facts } from '../../src/service/progress/facts.ts';
import { serverItems } from '../../src/service/progress/server-items.ts';
import { EVERYTHING } from '../../src/service/scope.ts';
import { answerOf, specOf } from '../reconcile/build.ts';
import type { Core } from '../reconcile/core.ts';
import { buildByHand } from '../reconcile/shop.ts';
import { serverRow } from '../support/rows.ts';
import { untilAborted } from '../support/scripted-provider.ts';
import { coreOn, type Files, failing, MOMENT } from './core-on.ts';
import { refusal } from './service.ts';

const COUNT = 1_010;

function stack(name: string, resources: Readonly<Record<string, string>>): Files {
  const lines = Object.entries(resources).map(
    ([key, properties]) =>
      `  ${key}: { type: Platform::Server, properties: { name: ${name}-${key}, ${properties} } }\n`,
  );
  return {
    [`stacks/templates/${name}.yaml`]: lines.length === 0 ? 'resources: {}\n' : `resources:\n${lines.join('')}`,
    [`stacks/instances/${name}.yaml`]: `stackTemplate: ${name}\n`,
  };
}

function group(size: string, count = 3): Files {
  const member = `resource_def: { properties: { size: ${size} } }`;
  return {
    'stacks/templates/g.yaml': `resources:
  web: { type: Platform::ResourceGroup, properties: { count: "${count}", ${member} } }
`,
    'stacks/instances/g.yaml': 'stackTemplate: g\n',
  };
}

function why(core: Core, instance = 'shop', by: Client = core.order.by): Why {
  return core.operator.why(by, instance);
}

function itemOf(core: Core, resource: string | null, instance = 'shop'): WaitingItem | undefined {
  return why(core, instance).waiting.find((item) => item.resource === resource);
}

describe('an instance that is done', () => {
  it('may have a server that lacks an output for configuration only', async () => {
    const core = await coreOn(stack('shop', { db: 'size: small', web: 'size: small' }));
    const web = `site: "<<(Output)['db']['site']>>", configuration_only: site, size: small`;
    core.source.commit(stack('shop', { db: 'size: small', web }));
    await core.poll();
    expect(why(core)).toMatchObject({
      status: 'Done',
      waiting: [{ resource: 'shop-web', reason: 'it has no "site": the output "site" of shop-db is not reported' }],
    });
  });

  it('may have no servers, or may not exist', async () => {
    const core = await coreOn(stack('shop', {}));
    expect(why(core)).toEqual({ status: 'Done', summary: 'it has no servers', counts: {}, waiting: [] });
    expect(refusal(() => why(core, 'shpo'))).toBe('not_found: There is no stack instance "shpo"; did you mean "shop"?');
  });
});

describe('a server', () => {
  const CHAIN = { db: 'size: small', app: 'depends_on: db', web: 'depends_on: app' };

  it('that failed comes first, and waiting ones name it', async () => {
    const core = await coreOn(stack('shop', CHAIN), failing);
    const { status, summary, counts, waiting } = why(core);
    expect(status).toBe('Failed');
    expect(counts).toEqual({ pending: 2, failed: 1 });
    expect(waiting.map(({ resource }) => resource)).toEqual(['shop-db', 'shop-app', 'shop-web']);
    expect(waiting[0]).toEqual({
      resource: 'shop-db',
      state: 'failed',
      reason: expect.stringContaining('no such image'),
      since: expect.stringMatching(MOMENT),
      until: expect.stringMatching(MOMENT),
      action: 'correct that, then push, or: treeline retry --resource shop-db',
    });
    expect(waiting[1]?.reason).toMatch(
      /^waits until shop-db is done, on which it depends; shop-db is failed \(.*no such image.*\)$/,
    );
    expect(waiting[2]?.reason).toMatch(
      /^waits until shop-app is done, on which it depends; shop-app is pending, and waits in the end for shop-db, which is failed \(/,
    );
    expect(summary).toBe(`shop-db is failed: ${waiting[0]?.reason}; others that are not done: 2`);
  });

  it('that waits for another instance names the next command', async () => {
    const core = await coreOn(
      { ...stack('data', { db: '' }), ...stack('shop', { web: 'depends_on: data-db' }) },
      failing,
    );
    expect(itemOf(core, 'shop-web')).toMatchObject({ state: 'pending', action: 'treeline why data' });
    expect(why(core).summary).toMatch(/^data-db is failed: .*no such image.*; others that are not done: 1$/);
  });

  it('whose provider does not answer names the outcome of its last attempt', async () => {
    const { db } = CHAIN;
    const core = await coreOn(stack('shop', { db }), (_call, signal) => untilAborted(signal));
    const began = itemOf(core, 'shop-db')?.since;
    const checks = 'the provider entry "lab" checks it first, since';
    expect(itemOf(core, 'shop-db')?.reason).toBe(`${checks} ${began}`);
    expect(core.operator.overview(core.order.by).instances[0]?.summary).toContain(checks);
    await core.pass(60_000);
    await core.pass(10_000);
    const silent = `has answered nothing since ${began}, the last time: no answer: it did not end within its time limit (timeoutSeconds)`;
    expect(itemOf(core, 'shop-db')?.reason).toMatch(
      new RegExp(`^${checks} .*; it ${silent.replace(/[()]/g, '\\$&')}$`),
    );
    for (let minutes = 0; minutes < 4; minutes += 1) await core.pass(60_000);
    // No entry has made the server yet, and its instance depends on this one all the same.
    expect(itemOf(core, null)).toMatchObject({ state: 'Outage', reason: `the provider entry "lab" ${silent}` });
    const proxy = { ...core.order.by, role: 'proxy' } as const;
    expect(why(core, 'shop', proxy).waiting.map(({ resource }) => resource)).toEqual(['shop-db']);
  });

  it('that is retried names why its last attempt had no answer', async () => {
    let creates = 0;
    const core = await coreOn(stack('shop', { db: CHAIN.db }), ({ operation }, signal) => {
      if (operation === 'check') return undefined;
      creates += 1;
      return creates > 1 ? untilAborted(signal) : Promise.resolve(answerOf('lost', { message: 'the line was cut' }));
    });
    for (let minutes = 0; minutes < 60 && creates < 2; minutes += 1) await core.pass(60_000);
    expect(itemOf(core, 'shop-db')?.reason).toBe(
      'the provider entry "lab" carries out the create, try 2; the last try had no answer: the line was cut',
    );
  });

  it('that existed before names the command that adopts it', async () => {
    const core = await coreOn(stack('shop', { db: '' }));
    buildByHand(core, 'shop-web');
    core.source.commit(stack('shop', { db: '', web: '' }));
    await core.poll();
    expect(why(core).status).toBe('Blocked');
    expect(itemOf(core, 'shop-web')).toMatchObject({
      state: 'blocked',
      reason: expect.stringMatching(/^exists_already: /),
      action: 'treeline adopt --resource shop-web',
    });
  });

  it('without a matching provider entry names the settings', async () => {
    const entries = [{ name: 'lab', match: { kind: null, properties: { location: ['lab'] } } }];
    const core = await coreOn(stack('shop', { db: '' }), () => undefined, { entries });
    expect(itemOf(core, 'shop-db')).toMatchObject({
      state: 'blocked',
      reason: expect.stringMatching(/^no_provider: /),
      action: 'correct execution.providers in the settings, and start the controller again',
    });
  });
});

describe('an instance as a whole', () => {
  it('that is suspended names client, reason, end and command', async () => {
    const core = await coreOn(stack('shop', { db: '' }));
    const until = '2126-11-20T18:00:00Z';
    await core.operator.suspend({ ...core.order, reason: 'moving house' }, { instance: 'shop', until });
    await core.operator.suspend(core.order, { instance: null, until: null });
    expect(why(core).status).toBe('Suspended');
    const since = expect.stringMatching(MOMENT);
    expect(why(core).waiting).toEqual([
      {
        resource: null,
        state: 'Suspended',
        reason: 'Ada (A1) suspended shop: moving house',
        since,
        until,
        action: 'treeline resume shop',
      },
      {
        resource: null,
        state: 'Suspended',
        reason: 'Ada (A1) suspended every instance',
        since,
        until: null,
        action: 'treeline resume --all',
      },
    ]);
  });

  const SHOP = 'stacks/instances/shop.yaml';
  it('that is protected and has no file names the remedy', async () => {
    const files = stack('shop', { db: '' });
    const core = await coreOn({ ...files, ...stack('rest', { db: '' }), [SHOP]: `${files[SHOP]}protected: true\n` });
    core.source.commit({ [SHOP]: null });
    await core.poll();
    expect(why(core).waiting).toMatchObject([
      {
        state: 'Invalid',
        reason: expect.stringContaining(
          '(bring the file back; to remove it, set protected: false in a commit of its own first',
        ),
        action: 'bring back stacks/instances/shop.yaml, and push',
      },
    ]);
  });

  it('is not Done during an outage, except for proxies', async () => {
    const core = await coreOn(stack('shop', { db: '' }), undefined, { drift: 'report' });
    const since = '2026-11-20T10:13:56.000Z';
    const statuses = { reason: 'the forge answered 500', since };
    core.outages = { repository: { reason: 'no route', since }, statuses };
    expect(why(core)).toMatchObject({ status: 'Done', summary: expect.stringContaining('cannot be followed') });
    expect(why(core).waiting).toEqual([
      {
        resource: null,
        state: 'Outage',
        since,
        until: null,
        reason: expect.stringMatching(/^the repository cannot be followed, .*: no route$/),
        action: 'correct that; the repository is read again automatically',
      },
    ]);
    expect(why(core, 'shop', { ...core.order.by, role: 'proxy' }).waiting).toEqual([]);
    expect(core.operator.overview(core.order.by).instances).toMatchObject([{ summary: 'its server is done' }]);
    core.outages = {};
    core.provider.script = () => Promise.resolve(answerOf('retryable', { message: 'the site is down' }));
    for (let round = 0; round < 4; round += 1) await core.pass(4_000_000);
    expect(why(core).waiting[0]).toMatchObject({
      state: 'Outage',
      reason: expect.stringContaining('"lab" has answered nothing since'),
    });
  });
});

describe('a client of a tenant', () => {
  const files = (tenant: string) => {
    const own = { ...stack('data', { db: '' }), ...stack('shop', { web: 'depends_on: data-db' }) };
    const of = { 'stacks/instances/data.yaml': `stackTemplate: data\ntenant: ${tenant}\n` };
    return { ...own, ...of, 'stacks/instances/shop.yaml': 'stackTemplate: shop\ntenant: ta\n' };
  };

  it.each([
    ['ta', true],
    ['tb', false],
  ])('sees a server of the tenant %s for which its own waits, and the reason: %s', async (tenant, isShown) => {
    const core = await coreOn(files(tenant), failing);
    const [item] = why(core, 'shop', { ...core.order.by, tenant: 'ta' }).waiting;
    expect(item?.reason).toContain('waits until data-db is done');
    expect(item?.reason.includes('no such image')).toBe(isShown);
  });
});

it('a server that keeps an output names its source only if the client may see that', () => {
  const reads = { url: { isList: false, texts: [[{ output: 'address', of: 'db' }]] } };
  const wanted = specOf('small', { properties: { url: '10.0.0.1' }, reads });
  const [web, db] = [serverRow({ state: 'done', wanted }), serverRow({ state: 'done' })];
  const reasons = (rows: Readonly<Record<string, ServerRow>>): unknown => {
    const view = { rows: { server: (name: string) => rows[name] } } as unknown as Facts['view'];
    const facts = { view, scope: EVERYTHING, checkFailureOf: () => undefined } as unknown as Facts;
    return serverItems(['web'], facts, 10).map(({ reason }) => reason);
  };
  expect(reasons({ web, db })).toEqual([expect.stringContaining('it keeps its last "url"')]);
  expect(reasons({ web })).toEqual([]);
});

it('why lists a limited number of servers', async () => {
  const core = await coreOn(group('small', COUNT), failing);
  const { counts, waiting } = why(core, 'g');
  expect(Object.values(counts)).toEqual([COUNT]);
  expect(waiting).toHaveLength(1_000);
});
