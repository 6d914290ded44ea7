// Servers that take what providers report of others: when it comes, when it changes, and when it is not there any more.
import { describe, expect, it } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';
import type { Properties } from '../../src/model/objects.ts';
import { answerOf, RETRY } from './build.ts';
import { Core, type CoreOptions } from './core.ts';
import { buildByHand, SHOP, shopFiles, TEMPLATE, templateText } from './shop.ts';

const MINUTE = 60_000;
const ADDRESS = "<<(Output)['db']['address']>>";
const DB = 'name: db, size: small';
const WEB = `name: web, url: "db://${ADDRESS}/"`;

/** A controller at whose site servers have addresses, which creates, updates and checks report. */
async function addressed(
  resources: Readonly<Record<string, string>> = { db: DB, web: WEB },
  addresses: Record<string, JsonMap> = { db: { address: '10.0.0.1' } },
  options: CoreOptions & { readonly instance?: string } = {},
): Promise<{ core: Core; readonly addresses: Record<string, JsonMap> }> {
  const core = new Core({ budget: { percent: 100, least: 100, most: 100 }, ...options });
  report(core, addresses);
  await core.follow(shopFiles(resources, options.instance));
  return { core, addresses };
}

function report(core: Core, addresses: Readonly<Record<string, JsonMap>>): void {
  core.provider.script = (call) => {
    const answer = core.provider.act(call);
    return Promise.resolve({ ...answer, outputs: (answer.outcome === 'done' && addresses[call.resource]) || {} });
  };
}

async function check(core: Core, resource = 'db'): Promise<void> {
  await core.operator.check(core.order, { resource });
  await core.settle();
}

function made(core: Core, server = 'web'): Properties | undefined {
  return core.provider.servers.get(server);
}

async function follow(core: Core, files: Readonly<Record<string, string | null>>): Promise<void> {
  await core.follow(files);
}

describe('a server that uses an output', () => {
  it('waits for repeated checks to report it, and then for an operator', async () => {
    const { core, addresses } = await addressed(undefined, {});
    expect(core.waitReason('web')).toBe(
      'waits for the output "address" of db, which its provider has not reported yet',
    );
    const checks = (): number => core.calls('check').filter((name) => name === 'db').length;
    const before = checks();
    await core.pass(MINUTE);
    await core.pass(MINUTE);
    expect(checks()).toBeGreaterThanOrEqual(before + 2);
    for (let minute = 0; minute < 10; minute += 1) await core.pass(MINUTE);
    expect(core.states()).toEqual({ db: 'done', web: 'blocked' });
    expect(core.ledger.server('web')?.reason?.code).toBe('no_output');
    addresses.db = { address: '10.0.0.1' };
    await check(core);
    expect(core.states()).toEqual({ db: 'done', web: 'done' });
  });

  it('names the reported outputs while it waits, also for servers that wait for it', async () => {
    const { core } = await addressed(
      { db: DB, web: `name: web, url: "<<(Output)['db']['adress']>>"`, proxy: 'name: proxy, depends_on: web' },
      { db: { address: '10.0.0.1', id: 'x' } },
    );
    const reasonOf = (server: string): string | undefined =>
      core.operator.why(core.order.by, 'shop').waiting.find(({ resource }) => resource === server)?.reason;
    const waits = 'waits for the output "adress" of db, which its provider has not reported yet';
    const reported = 'reported of db: "address", "id"; did you mean "address"?';
    expect(reasonOf('web')).toBe(`${waits}; db is done; ${reported}`);
    expect(reasonOf('proxy')).toBe(`waits until web is done, on which it depends; web is pending and ${waits}`);
    for (let minute = 0; minute < 11; minute += 1) await core.pass(MINUTE);
    const held = 'no_output: the output "adress" of db is not reported by its provider';
    expect(reasonOf('web')).toBe(`${held}; ${reported}`);
    expect(reasonOf('proxy')).toBe(`waits until web is done, on which it depends; web is blocked (${held})`);
  });

  it('is not updated if the output is for configuration only, but its record changes', async () => {
    const { core, addresses } = await addressed({ db: DB, web: `${WEB}, configuration_only: url` });
    addresses.db = { address: '10.0.0.2' };
    await check(core);
    expect(core.calls('update')).toEqual([]);
    expect(core.reader.record('web')).toMatchObject({ url: 'db://10.0.0.2/' });
    await follow(core, { [TEMPLATE]: templateText({ db: DB, web: `${WEB}, configuration_only: url, size: large` }) });
    expect(made(core)).toMatchObject({ url: 'db://10.0.0.2/', size: 'large' });
  });
});

describe('an output of a server', () => {
  it.each(['create', 'update'] as const)(
    'that changes with each check adds no attempts to a failing %s',
    async (operation) => {
      const { core, addresses } = await addressed(operation === 'create' ? { db: DB } : undefined);
      core.provider.script = (call) => {
        if (call.operation === operation && call.resource === 'web') return Promise.resolve(answerOf('retryable'));
        const answer = core.provider.act(call);
        return Promise.resolve({ ...answer, outputs: (answer.outcome === 'done' && addresses[call.resource]) || {} });
      };
      await follow(core, { [TEMPLATE]: templateText({ db: DB, web: `${WEB}, size: large` }) });
      for (let second = 1; second <= 600; second += 1) {
        addresses.db = { address: `10.1.${Math.floor(second / 250)}.${second % 250}` };
        await check(core);
        await core.pass(1000);
      }
      expect(core.ledger.server('web')).toMatchObject({ state: 'failed', gaveUp: true });
      expect(core.calls(operation).filter((name) => name === 'web')).toHaveLength(RETRY.attempts);
    },
  );
});

describe('an output that changes with each check', () => {
  it('starts nine updates within a day, and then waits for an operator until a retry', async () => {
    const { core, addresses } = await addressed();
    const change = async (times: number): Promise<void> => {
      for (let time = 0; time < times; time += 1) {
        addresses.db = { address: `10.1.0.${core.calls('check').length}` };
        await check(core);
        await core.pass(MINUTE);
      }
    };
    await change(12);
    expect(core.calls('update')).toHaveLength(9);
    expect(core.ledger.server('web')).toMatchObject({ state: 'blocked', reason: { code: 'output_fight' } });
    expect(core.operator.attention()?.items).toMatchObject([
      { kind: 'blocked', reason: expect.stringContaining('output_fight') },
    ]);
    await change(20);
    expect(core.calls('update')).toHaveLength(9);
    await core.operator.retry(core.order, { resource: 'web' });
    await core.settle();
    expect(core.states()).toEqual({ db: 'done', web: 'done' });
    expect(core.calls('update')).toHaveLength(10);
    await change(1);
    expect(core.calls('update')).toHaveLength(11);
  });

  it('starts updates again with another commit, and after a day', async () => {
    const { core, addresses } = await addressed();
    const change = async (address: string): Promise<void> => {
      addresses.db = { address };
      await check(core);
    };
    for (let time = 1; time <= 12; time += 1) await change(`10.1.0.${time}`);
    expect(core.states()).toEqual({ db: 'done', web: 'blocked' });
    await follow(core, { [TEMPLATE]: templateText({ db: DB, web: `${WEB}, size: large` }) });
    expect(made(core)).toMatchObject({ size: 'large', url: 'db://10.1.0.12/' });
    for (let time = 1; time <= 9; time += 1) await change(`10.2.0.${time}`);
    await core.pass(24 * 60 * MINUTE);
    for (let time = 1; time <= 9; time += 1) await change(`10.3.0.${time}`);
    expect(core.states()).toEqual({ db: 'done', web: 'done' });
  });
});

describe('a group that uses an output of its members', () => {
  const group = (count: number, more = ''): Record<string, string> => ({
    [TEMPLATE]: `resources:
  db: { type: Platform::Server, properties: { ${DB} } }
  web:
    type: Platform::ResourceGroup
    properties: { count: "${count}", resource_def: { properties: { name: "web-<<index>>", url: "${ADDRESS}"${more} } } }
  proxy: { type: Platform::Server, properties: { name: proxy, webs: "<<(Output)['web']['address']>>" } }
`,
  });
  const start = async (count: number) => {
    const addresses: Record<string, JsonMap> = { db: { address: '10.0.0.1' } };
    for (let member = 1; member <= 12; member += 1) addresses[`web-${member}`] = { address: `10.0.1.${member}` };
    const scene = await addressed({}, addresses);
    await follow(scene.core, group(count));
    return scene;
  };

  it('gets another list when a member is added or removed', async () => {
    const { core, addresses } = await start(2);
    delete addresses['web-3'];
    await follow(core, group(3));
    expect(made(core, 'proxy'), 'it waits for the new member').toMatchObject({ webs: ['10.0.1.1', '10.0.1.2'] });
    expect(core.states()).toMatchObject({ 'web-3': 'done', proxy: 'pending' });
    addresses['web-3'] = { address: '10.0.1.3' };
    await check(core, 'web-3');
    expect(made(core, 'proxy')).toMatchObject({ webs: ['10.0.1.1', '10.0.1.2', '10.0.1.3'] });
    await follow(core, group(1));
    expect(made(core, 'proxy')).toMatchObject({ webs: ['10.0.1.1'] });
    const order = core.provider.calls.filter(({ operation }) => operation !== 'check').map(({ resource }) => resource);
    expect(order.slice(-3), 'who took it lets go of it first').toEqual(['proxy', 'web-2', 'web-3']);
  });
});

describe('a server to be adopted that uses an output', () => {
  const WAYS = ['adopt: true', 'treeline adopt', 'treeline adopt after a lost store'] as const;

  /** `web` is there with this URL, and is to be adopted; then `db` reports its address. */
  async function adopted(way: (typeof WAYS)[number], url: string): Promise<Core> {
    const addresses: Record<string, JsonMap> = {};
    let { core } = await addressed({ db: DB }, addresses);
    buildByHand(core, 'web', { name: 'web', url });
    const adopt = way === 'adopt: true' ? 'adopt: true\n' : '';
    await follow(core, { [TEMPLATE]: templateText({ db: DB, web: WEB }), [SHOP]: `stackTemplate: t\n${adopt}` });
    if (way === 'treeline adopt after a lost store') {
      core = await core.lose('the store is empty, and its directory is not');
      report(core, addresses);
    }
    if (way !== 'adopt: true') await core.operator.adopt(core.order, { all: true });
    await core.settle();
    if (way === 'treeline adopt after a lost store') await core.endRecovery();
    expect(core.states()).toEqual({ db: 'done', web: 'pending' });
    addresses.db = { address: '10.0.0.1' };
    await check(core);
    const acted = core.provider.calls.filter(({ resource, operation }) => resource === 'web' && operation !== 'check');
    expect(acted).toEqual([]);
    return core;
  }

  it.each(WAYS)('waits for the value, and starts no action: %s', async (way) => {
    const core = await adopted(way, 'db://10.0.0.1/');
    expect(core.ledger.server('web')).toMatchObject({ state: 'done', applied: core.ledger.server('web')?.wanted });
  });

  it.each(WAYS)('is drifted if it has another value: %s', async (way) => {
    const core = await adopted(way, 'db://10.0.0.8/');
    expect(core.ledger.server('web')).toMatchObject({
      state: 'drifted',
      reason: { code: 'drifted', text: 'differs in url' },
      observed: { url: 'db://10.0.0.8/' },
    });
  });
});
