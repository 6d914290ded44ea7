// Servers whose ProxyTag changes, so that proxies of another site would get them: those that made them do not lose them,
// and the others make no second one.
import { describe, expect, it } from 'vitest';
import type { AgentAction } from '../../src/agents/agent.ts';
import { answerOf } from './build.ts';
import { Core } from './core.ts';
import { proxyOf, takeTurn } from './proxy-turns.ts';
import { shopFiles, TEMPLATE, templateText } from './shop.ts';

const CLIENTS = {
  'clients/B1.yaml': 'role: proxy\ntags: [lab]\n',
  'clients/B2.yaml': 'role: proxy\ntags: [edge]\n',
};

/** Two sites with a proxy each, which see only their own servers. */
class Sites {
  readonly core = new Core({ hasProxied: true, entries: [] });
  readonly servers: Readonly<Record<string, Set<string>>> = { lab: new Set(), edge: new Set() };
  /** `<site> <operation>`, in order. */
  calls: string[] = [];
  readonly #proxies = { lab: proxyOf('B1', 'lab'), edge: proxyOf('B2', 'edge') };

  /** Follows a commit in which the server has this tag, or in which there is none. */
  async commit(tag: string | null, files: object = {}): Promise<void> {
    const resources: Record<string, string> = tag === null ? {} : { web: `name: web, ProxyTag: ${tag}` };
    await this.core.follow({ [TEMPLATE]: templateText(resources), ...files });
  }

  /** Follows a commit in which the server has this tag, and another size. */
  async changeSize(size: string, tag: string): Promise<void> {
    await this.core.follow({ [TEMPLATE]: templateText({ web: `name: web, ProxyTag: ${tag}, size: "${size}"` }) });
  }

  /** Has both proxies take what they are offered until there is nothing more; returns their calls. */
  async work(): Promise<readonly string[]> {
    this.calls = [];
    for (let round = 0; round < 6; round += 1) {
      for (const site of ['lab', 'edge'] as const) await this.workOnce(site);
    }
    return this.calls;
  }

  /** Carries out the first call that is offered at a site, if there is one. */
  async workOnce(site: 'lab' | 'edge'): Promise<void> {
    await takeTurn(this.core, this.#proxies[site], (action) => this.#act(site, action));
  }

  #act(site: 'lab' | 'edge', { operation, resource }: AgentAction) {
    this.calls.push(`${site} ${operation}`);
    const servers = this.servers[site] ?? new Set();
    if (operation === 'create') servers.add(resource);
    const isThere = servers.has(resource);
    if (operation === 'delete') servers.delete(resource);
    return answerOf(isThere ? 'done' : 'absent');
  }
}

/** Two sites, of which `lab` is to make the server. */
async function wantedAtLab(): Promise<Sites> {
  const sites = new Sites();
  sites.core.source.commit({ ...shopFiles({}), ...CLIENTS });
  await sites.commit('lab');
  return sites;
}

/** Two sites, of which `lab` has made the server. */
async function made(): Promise<Sites> {
  const sites = await wantedAtLab();
  expect(await sites.work()).toEqual(['lab check', 'lab create']);
  return sites;
}

/** Two sites that both may have the server. */
async function wantedAtBoth(): Promise<Sites> {
  const sites = new Sites();
  sites.core.source.commit({ ...shopFiles({}), ...CLIENTS });
  await sites.commit('[edge, lab]');
  return sites;
}

/** Two sites that both may have the server, of which one has made it. */
async function madeForBoth(site: 'lab' | 'edge'): Promise<Sites> {
  const sites = await wantedAtBoth();
  for (let i = 0; i < 4; i += 1) await sites.workOnce(site);
  expect(sites.calls).toEqual([`${site} check`, `${site} create`]);
  return sites;
}

async function moved(): Promise<Sites> {
  const sites = await made();
  await sites.commit('edge');
  expect(await sites.work()).toEqual([]);
  return sites;
}

describe('a server whose tag changes to another site', () => {
  it('is blocked until an operator decides, and continues when the tag is restored', async () => {
    const { core, ...sites } = await moved();
    expect(core.states()).toEqual({ web: 'blocked' });
    expect(core.ledger.server('web')?.reason).toEqual({
      code: 'provider_changed',
      text: 'a proxy with the tag "lab" made it, but it would go to a proxy with the tag "edge" now',
    });
    await core.follow({ [TEMPLATE]: templateText({ web: 'name: web, ProxyTag: lab' }) });
    expect(core.states()).toEqual({ web: 'done' });
    expect(sites.servers.edge).toEqual(new Set());
  });

  it('continues when the tag of a layer is restored', async () => {
    const sites = new Sites();
    const layer = 'types/common/global.yaml';
    await sites.core.follow({ ...shopFiles({ web: 'name: web, size: "1"' }), ...CLIENTS, [layer]: 'ProxyTag: lab\n' });
    await sites.work();
    await sites.core.follow({
      [layer]: 'ProxyTag: edge\n',
      [TEMPLATE]: templateText({ web: 'name: web, size: "2"' }),
    });
    expect(await sites.work()).toEqual([]);
    await sites.core.follow({ [layer]: 'ProxyTag: lab\n' });
    expect(await sites.work()).toEqual(['lab update']);
    expect(sites.core.states()).toEqual({ web: 'done' });
  });

  it('is replaced on request: deleted at the old site, checked and created at the new one', async () => {
    const sites = await moved();
    await sites.core.operator.replace(sites.core.order, 'web');
    await sites.core.settle();
    expect(await sites.work()).toEqual(['lab delete', 'lab check', 'edge check', 'edge create']);
    expect(sites.servers).toEqual({ lab: new Set(), edge: new Set(['web']) });
    await sites.commit(null);
    expect(await sites.work()).toEqual(['edge delete']);
  });

  it('is adopted on request if the other proxies find it, and otherwise stays blocked', async () => {
    const sites = await moved();
    const { core } = sites;
    await core.operator.adopt(core.order, { resource: 'web' });
    await core.settle();
    expect(await sites.work()).toEqual(['edge check']);
    expect(core.states()).toEqual({ web: 'blocked' });
    sites.servers.edge?.add('web');
    await core.operator.adopt(core.order, { resource: 'web' });
    await core.settle();
    expect(await sites.work()).toEqual(['edge check']);
    expect(core.states()).toEqual({ web: 'done' });
    await sites.commit(null);
    expect(await sites.work()).toEqual(['edge delete']);
  });
});

describe('a server with the tags of two sites', () => {
  it.each(['lab', 'edge'] as const)('stays with the site that created it: %s', async (site) => {
    const other = site === 'lab' ? 'edge' : 'lab';
    const sites = await madeForBoth(site);
    await sites.changeSize('2', '[edge, lab]');
    for (let i = 0; i < 6; i += 1) await sites.workOnce(other);
    expect(sites.servers).toEqual({ [site]: new Set(['web']), [other]: new Set() });
    expect(await sites.work()).toEqual([`${site} update`]);
    expect(sites.core.ledger.server('web')).toMatchObject({ state: 'done', proxyTags: [site] });
    await sites.commit(null);
    expect(await sites.work()).toEqual([`${site} delete`]);
  });

  it('is blocked if no proxy of the site that created it is registered', async () => {
    const sites = await madeForBoth('lab');
    await sites.changeSize('2', '[edge, lab]');
    await sites.core.follow({ 'clients/B1.yaml': null });
    expect(await sites.work()).toEqual([]);
    expect(sites.core.ledger.server('web')).toMatchObject({
      state: 'blocked',
      reason: {
        code: 'provider_changed',
        text: 'a proxy with the tag "lab" made it, but it would go to a proxy with the tag "edge" now',
      },
    });
    sites.servers.edge?.add('web');
    await sites.core.operator.adopt(sites.core.order, { resource: 'web' });
    await sites.core.settle();
    sites.calls = [];
    for (let i = 0; i < 3; i += 1) await sites.workOnce('edge');
    expect(sites.calls).toEqual(['edge check']);
    expect(sites.core.ledger.server('web')).toMatchObject({ state: 'done', proxyTags: ['edge'] });
  });
});
