// Servers whose proxies do not ask for work: they are not in progress for ever, and go on by themselves.
import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/model/objects.ts';
import { Core } from './core.ts';
import { proxyOf } from './proxy-turns.ts';
import { shopFiles } from './shop.ts';

const MINUTE = 60_000;
const CLIENTS = { 'clients/B1.yaml': 'role: proxy\ntags: [lab]\n', 'clients/B2.yaml': 'role: proxy\ntags: [edge]\n' };

const LAB = proxyOf('B1', 'lab');

function servers(tags: Readonly<Record<string, string>>) {
  return shopFiles(
    Object.fromEntries(Object.entries(tags).map(([name, tag]) => [name, `name: ${name}, ProxyTag: ${tag}`])),
  );
}

async function coreOf(tags: Readonly<Record<string, string>>): Promise<Core> {
  return await await Core.following({ ...servers(tags), ...CLIENTS }, { hasProxied: true, entries: [] });
}

/** Lets minutes pass, in each of which these proxies ask. */
async function minutes(core: Core, count: number, ...asking: readonly Client[]): Promise<void> {
  for (let minute = 0; minute < count; minute += 1) {
    for (const by of asking) core.agent?.actions(by, 10);
    await core.pass(MINUTE);
  }
}

function offered(core: Core, by: Client): readonly string[] {
  return core.agent?.actions(by, 10).map(({ resource }) => resource) ?? [];
}

describe('servers whose proxies do not ask for work', () => {
  it('show when a proxy asked last, in why and status', async () => {
    const core = await coreOf({ a: 'lab', b: 'lab' });
    const words = 'a is pending: waits for a proxy with the tag "lab"';
    const told = (): readonly unknown[] => [
      core.operator.why(core.order.by, 'shop').summary,
      core.operator.overview(core.order.by).instances.find(({ name }) => name === 'shop')?.summary,
    ];
    const others = 'others that are not done: 1';
    await core.pass(12_000);
    const atStart = `${words}; no request for 12 s; ${others}`;
    expect(told()).toEqual([atStart, atStart]);
    await core.follow({ 'clients/B1.yaml': null, 'clients/B7.yaml': 'role: proxy\ntags: [lab]\n' });
    const registered = `${words}; no request for 0 s; ${others}`;
    expect(told()).toEqual([registered, registered]);
    core.agent?.actions(proxyOf('B7', 'lab'), 10);
    await core.pass(57_000);
    const asked = `${words}; last request 57 s ago; ${others}`;
    expect(told()).toEqual([asked, asked]);
  });

  it('continue when a proxy asks, and are all offered to it', async () => {
    const core = await coreOf({ a: 'lab', b: 'lab', c: 'edge' });
    await minutes(core, 6);
    expect(core.states()).toEqual({ a: 'blocked', b: 'blocked', c: 'blocked' });
    expect(offered(core, LAB)).toEqual(['a', 'b']);
    await core.settle();
    expect(core.states()).toEqual({ a: 'pending', b: 'pending', c: 'blocked' });
    expect(await core.missedWakeUps()).toBe(0);
  });
});
