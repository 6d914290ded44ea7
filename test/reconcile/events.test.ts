// The events of an instance, as following, reconciling and people make them.

import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/model/objects.ts';
import { Core, type CoreOptions } from './core.ts';
import { SHOP, shopFiles, TEMPLATE, templateText } from './shop.ts';

const ALL = { after: 0, limit: 1_000 };
const PROXY: Client = {
  name: 'P1',
  type: 'client',
  description: '',
  role: 'proxy',
  fingerprint: '',
  serial: 'P1',
  tenant: '',
};

/** Returns the events of the instance `shop`, one line each: server, states, reason, commit as its number, client. */
async function told(core: Core, after = 0): Promise<string[]> {
  const { events } = await core.operator.events(core.order.by, 'shop', { ...ALL, after });
  return events.map(({ resource, from, to, reason, client }) => {
    const words = `${resource ?? '-'}: ${from ?? '-'} > ${to ?? '-'}: ${reason}`;
    return `${words}${client === null ? '' : ` (${client})`}`.replaceAll(/[0-9a-f]{64}/g, 'DIGEST');
  });
}

async function lastId(core: Core): Promise<number> {
  return (await core.operator.events(core.order.by, 'shop', ALL)).events.at(-1)?.id ?? 0;
}

async function up(options: CoreOptions = {}, instance = ''): Promise<Core> {
  return await await Core.following(shopFiles({ web: 'name: web, size: small' }, instance), options);
}

describe('the events of an instance', () => {
  it('name every step of a server, with the commit that caused it', async () => {
    const core = await up();
    expect(await told(core)).toEqual([
      'web: - > pending: a commit wants it',
      expect.stringMatching(/^web: pending > creating: create begins: action \d+\.create of the provider entry "lab"$/),
      'web: creating > done: create succeeded',
    ]);
    const first = core.reader.commit();
    const { events } = await core.operator.events(core.order.by, 'shop', ALL);
    expect(events.map(({ commit }) => commit)).toEqual([first, first, first]);
    const after = await lastId(core);
    await core.follow({ [TEMPLATE]: templateText({ web: 'name: web, size: large' }) });
    expect(await told(core, after)).toEqual([
      'web: done > pending: a commit changes it',
      expect.stringMatching(
        /^web: pending > updating: update begins: action \d+\.update\.2 of the provider entry "lab"$/,
      ),
      'web: updating > done: update succeeded',
    ]);
    const later = (await core.operator.events(core.order.by, 'shop', { ...ALL, after })).events;
    expect(new Set(later.map(({ commit }) => commit))).toEqual(new Set([core.reader.commit()]));
  });

  it('name the client and reason of a requested check before its result', async () => {
    const core = await up();
    const after = await lastId(core);
    core.provider.build('web', { name: 'web', size: 'odd' });
    const order = { ...core.order, reason: 'a strange page' };
    expect(await core.operator.check(order, { resource: 'web' })).toBe('Being checked: 1');
    await core.settle();
    await core.operator.check(core.order, { instance: 'shop' });
    expect(await told(core, after)).toEqual([
      'web: done > done: check: a strange page (A1)',
      'web: done > drifted: drifted: differs in size',
      '-: - > -: check; servers: 1 (A1)',
    ]);
    const before = await lastId(core);
    await expect(core.operator.check(core.order, { resource: 'wob' })).rejects.toMatchObject({ code: 'not_found' });
    expect(await lastId(core)).toBe(before);
  });

  it('name the hold, the approval and the end of the instance, and remain readable', async () => {
    const core = await up({ budget: { percent: 0, least: 0, most: 0 } });
    const after = await lastId(core);
    await core.follow({ [SHOP]: null });
    await core.approve(core.held('shop')?.digest ?? '');
    expect(core.states()).toEqual({});
    const lines = await told(core, after);
    expect(lines.filter((line) => line.startsWith('-'))).toEqual([
      '-: - > -: it stays at the commit commit-1',
      expect.stringMatching(/^-: - > Awaiting approval: .*; approve with: treeline approve DIGEST$/),
      '-: - > -: approve; deletes, under the digest DIGEST (A1)',
      '-: - > -: it is at the followed commit again, or gone',
      '-: Awaiting approval > -: the deletes are not held any more',
      '-: - > Marked for delete: no commit has it any more; its servers are removed first',
      '-: Marked for delete > -: its last server is gone',
    ]);
    expect(lines).toContain('web: deleting > -: deleted');
    expect(() => core.reader.status('shop')).toThrow();
    await expect(core.operator.events(core.order.by, 'shap', ALL)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('name the place of a mistake without its text, and the correction', async () => {
    const core = await up();
    const after = await lastId(core);
    await core.follow({ [SHOP]: 'stackTemplate: t\nparameters: { secret: x }\n' });
    await core.follow({ [SHOP]: 'stackTemplate: t\n' });
    const lines = await told(core, after);
    expect(lines).toEqual([
      expect.stringMatching(
        /^-: - > Invalid: stacks\/instances\/shop.yaml:2:\d+ \[undeclared_parameter\]; it stays at the commit \S+; see treeline problems$/,
      ),
      '-: - > -: it is at the followed commit again, or gone',
    ]);
  });
});

it('keep the name of a client that was removed since', async () => {
  const client = { serial: 'A1', role: 'administrator', description: 'Ann' };
  const core = new Core();
  const files = shopFiles({ web: 'name: web, size: small' });
  await core.follow({
    ...files,
    'clients/A1.yaml': JSON.stringify(client),
    'clients/B2.yaml': 'role: administrator\n',
  });
  await core.operator.retry({ ...core.order, reason: 'once more' }, { instance: 'shop' }).catch(() => undefined);
  await core.operator.check(core.order, { instance: 'shop' });
  await core.settle();
  await core.follow({ 'clients/A1.yaml': null });
  expect(core.reader.registered('A1')).toBeUndefined();
  const again = await core.restart();
  const { events } = await again.operator.events(core.order.by, 'shop', ALL);
  const checked = events.find(({ reason }) => reason.startsWith('check'));
  expect(checked).toMatchObject({ client: 'A1', clientName: 'Ann' });
  expect(events[0]).toMatchObject({ client: null, clientName: null });
  const seen = await again.operator.events(PROXY, 'shop', ALL);
  expect(seen.events.every((event) => event.clientName === null)).toBe(true);
  const own = await again.operator.events({ ...PROXY, serial: 'A1' }, 'shop', ALL);
  expect(own.events.some((event) => event.clientName === 'Ann')).toBe(true);
});
