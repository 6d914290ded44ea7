import { describe, expect, it } from 'vitest';
import type { Agent, AgentAction, ClaimedAction } from '../../src/agents/agent.ts';
import { noProxyReason } from '../../src/machine/responsibility.ts';
import type { Client } from '../../src/model/objects.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import { allowed } from '../support/allowed.ts';
import { answerOf } from './build.ts';
import { Core } from './core.ts';
import { proxyOf } from './proxy-turns.ts';
import { shopFiles, TEMPLATE, templateText } from './shop.ts';

const SECOND = 1_000;
/** So long a create of a store that begins waits at most for the first checks of other servers. */
const FIRST_CHECKS = 60 * SECOND;

const LAB = proxyOf('B1', 'lab');
const EDGE = proxyOf('B2', 'edge', 'other');
const PLAIN = proxyOf('B3');

const CLIENTS = {
  'clients/B1.yaml': 'role: proxy\ntags: [lab]\n',
  'clients/B2.yaml': 'role: proxy\ntags: [edge, other]\n',
  'clients/B3.yaml': 'role: proxy\n',
};

const IN_LAB = 'name: web, ProxyTag: lab';

/** Returns a core without entries, after a commit of these servers, all of which are for proxies. */
async function coreOf(resources: Readonly<Record<string, string>>, clients: object = CLIENTS): Promise<Core> {
  return await await Core.following({ ...shopFiles(resources), ...clients }, { hasProxied: true, entries: [] });
}

function agentOf(core: Core): Agent {
  if (core.agent === undefined) throw new Error('the core has no agent');
  return core.agent;
}

function offered(core: Core, by: Client): readonly string[] {
  return agentOf(core)
    .actions(by, 10)
    .map(({ id }) => id.replace(/\.\d{5,}\./, '.N.'))
    .sort();
}

function firstOf(core: Core, by: Client): AgentAction {
  const [action] = agentOf(core).actions(by, 10);
  if (action === undefined) throw new Error(`nothing is offered to ${by.serial}`);
  return action;
}

async function claim(core: Core, by: Client, id = firstOf(core, by).id, key: string | null = null) {
  const claimed = agentOf(core).claim(allowed(by), id, key);
  // Looked at below; a refusal is no unhandled one meanwhile.
  claimed.catch(() => undefined);
  await core.settle();
  return await claimed;
}

async function report(core: Core, by: Client, { lease, action }: ClaimedAction, answer = answerOf('done')) {
  const reported = agentOf(core).report(by, action.id, { lease, answer });
  reported.catch(() => undefined);
  await core.settle();
  await reported;
}

/** Carries out what is offered first, as a proxy does. */
async function carryOut(core: Core, by: Client, outcome: 'done' | 'absent' = 'done'): Promise<AgentAction> {
  const claimed = await claim(core, by);
  await report(core, by, claimed, answerOf(outcome));
  return claimed.action;
}

describe('idle servers', () => {
  it('need an operator when no proxy asks for work, or none is registered', async () => {
    const core = await coreOf({ web: IN_LAB });
    await carryOut(core, LAB, 'absent');
    await carryOut(core, LAB);
    const attention = () => core.operator.overview(core.order.by).attention;
    expect([core.states(), attention()]).toEqual([{ web: 'done' }, []]);
    for (let minute = 0; minute < 6; minute += 1) await core.pass(60 * SECOND);
    expect(core.states()).toEqual({ web: 'done' });
    expect(attention()).toMatchObject([
      {
        id: 'proxies:lab',
        instances: ['shop'],
        servers: { count: 1 },
        since: expect.stringMatching(/Z$/),
        reason: expect.stringMatching(/^no proxy with the tag "lab" has asked for work since /),
        action: expect.stringContaining('treeline client list'),
      },
    ]);
    const why = () => core.operator.why(core.order.by, 'shop');
    expect(why()).toMatchObject({ status: 'Done', summary: attention()[0]?.reason });
    expect(why().waiting).toMatchObject([{ resource: null, state: 'Outage', since: attention()[0]?.since }]);
    agentOf(core).actions(LAB, 10);
    expect([attention(), why().waiting]).toEqual([[], []]);
    await core.follow({ 'clients/B1.yaml': null });
    expect(attention()).toMatchObject([
      {
        id: 'proxies:lab',
        since: null,
        reason: expect.stringContaining('"lab" is registered: its servers are neither changed'),
      },
    ]);
  });
});

describe('a server that no provider entry matches', () => {
  it('is blocked if no registered proxy has its tag, and says how to register one', async () => {
    const core = await coreOf({ web: IN_LAB }, {});
    expect(core.states()).toEqual({ web: 'blocked' });
    expect(core.ledger.server('web')?.reason).toEqual({
      code: 'no_proxy',
      tags: ['lab'],
      text: 'no entry under execution.providers matches it, and no proxy with the tag "lab" is registered; "treeline client add CERTIFICATE --role proxy --tag lab" registers one',
    });
  });

  it('names a command that is safe to paste into a shell', () => {
    expect(noProxyReason(["it's $(reboot)"]).text).toContain(`--role proxy --tag 'it'\\''s $(reboot)'"`);
    expect(noProxyReason(['lab-1']).text).toContain('--role proxy --tag lab-1"');
  });

  it('goes to proxies with one of its tags; without tags, to proxies without tags', async () => {
    const core = await coreOf({
      a: IN_LAB.replace('web', 'a'),
      b: 'name: b, ProxyTag: [edge, lab]',
      c: 'name: c',
      d: 'name: d, ProxyTag: ""',
    });
    expect(offered(core, LAB)).toEqual(['a.N.check', 'b.N.check']);
    expect(offered(core, EDGE)).toEqual(['b.N.check']);
    expect(offered(core, PLAIN)).toEqual(['c.N.check', 'd.N.check']);
  });

  it('is checked, created, updated and deleted by proxies in turn', async () => {
    const core = await coreOf({ web: `${IN_LAB}, size: small` });
    expect((await carryOut(core, LAB, 'absent')).operation).toBe('check');
    const created = await carryOut(core, LAB);
    expect(created).toMatchObject({
      operation: 'create',
      resource: 'web',
      instance: 'shop',
      group: 'web',
      kind: 'Platform::Server',
      generation: 1,
      attempt: 0,
      applied: null,
      outputs: null,
      timeoutSeconds: 60,
      properties: { name: 'web', ProxyTag: 'lab', size: 'small' },
      record: { size: 'small', stackInstance: ['shop'] },
    });
    expect(core.states()).toEqual({ web: 'done' });
    await core.follow({ [TEMPLATE]: templateText({ web: `${IN_LAB}, size: large` }) });
    expect(await carryOut(core, LAB)).toMatchObject({
      operation: 'update',
      applied: { properties: { size: 'small' } },
    });
    await core.follow({ [TEMPLATE]: templateText({}) });
    expect((await carryOut(core, LAB, 'absent')).operation).toBe('delete');
    expect(core.states()).toEqual({});
  });
});

describe('a claim', () => {
  it('is answered again if the same request is repeated', async () => {
    const core = await coreOf({ web: IN_LAB });
    const { id } = firstOf(core, LAB);
    const first = await claim(core, LAB, id, 'key-1');
    expect(await claim(core, LAB, id, 'key-1')).toEqual(first);
    await expect(claim(core, LAB, id, 'key-2')).rejects.toMatchObject({ code: 'conflict' });
  });

  it.each<[what: string, id: string]>([
    ['a server of another proxy', 'web.5.check'],
    ['a server that does not exist', 'nothing.5.check'],
    ['an invalid id', 'web'],
  ])('is refused as unknown for %s', async (_what, id) => {
    const core = await coreOf({ web: IN_LAB });
    await expect(claim(core, EDGE, id)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('shows the proxy that carries it out, but to other proxies only that one does', async () => {
    const core = await coreOf({ web: IN_LAB });
    await carryOut(core, LAB, 'absent');
    const { action } = await claim(core, LAB);
    const whyOf = (by: Client) => core.operator.why(by, 'shop').waiting[0]?.reason;
    const moment = new Date(core.clock.now()).toISOString();
    expect(whyOf(core.order.by)).toBe(`the proxy B1, last heard of at ${moment}, carries out the create`);
    expect(whyOf(EDGE)).toBe(`a proxy, last heard of at ${moment}, carries out the create`);
    const next = await core.restart();
    expect(next.operator.why(LAB, 'shop').waiting[0]?.reason).toContain('not heard of since the start');
    expect(next.ledger.server('web')?.action?.id).toBe(action.id.slice('web.'.length));
  });

  it('is not given to a proxy that is revoked before its pass', async () => {
    const core = await coreOf({ web: IN_LAB });
    const { id } = firstOf(core, LAB);
    const revoked = new ServiceError('unauthorized', 'revoked');
    const claimed = agentOf(core).claim({ by: LAB, refusal: () => revoked }, id, 'key-1');
    claimed.catch(() => undefined);
    await core.settle();
    await expect(claimed).rejects.toMatchObject({ code: 'conflict' });
    expect((await claim(core, LAB, id, 'key-1')).action.id).toBe(id);
  });
});

describe('a report', () => {
  it('succeeds again if it is repeated, and is refused with another outcome', async () => {
    const core = await coreOf({ web: IN_LAB });
    await carryOut(core, LAB, 'absent');
    const claimed = await claim(core, LAB);
    await report(core, LAB, claimed);
    await report(core, LAB, claimed);
    await expect(report(core, LAB, claimed, answerOf('failed'))).rejects.toMatchObject({ code: 'conflict' });
    expect(core.states()).toEqual({ web: 'done' });
  });

  it('is refused with another lease, and from another client', async () => {
    const core = await coreOf({ web: IN_LAB });
    const claimed = await claim(core, LAB);
    const wrong = { ...claimed, lease: `${claimed.lease}x` };
    await expect(report(core, LAB, wrong)).rejects.toMatchObject({ code: 'conflict' });
    await expect(report(core, EDGE, claimed)).rejects.toMatchObject({ code: 'not_found' });
    await report(core, LAB, claimed, answerOf('absent'));
    expect(core.ledger.server('web')?.checked).toBe(true);
  });
});

describe('a restart of the controller', () => {
  it('leaves a claimed action to its proxy, whose report concludes it', async () => {
    const core = await coreOf({ web: IN_LAB });
    await carryOut(core, LAB, 'absent');
    const claimed = await claim(core, LAB);
    const next = await core.restart();
    expect(next.states()).toEqual({ web: 'creating' });
    expect(offered(next, LAB)).toEqual([]);
    await expect(claim(next, LAB, claimed.action.id)).rejects.toMatchObject({ code: 'conflict' });
    agentOf(next).heartbeat(LAB, claimed.action.id, claimed.lease);
    await report(next, LAB, claimed, answerOf('done', { outputs: { address: '10.0.0.1' } }));
    expect(next.states()).toEqual({ web: 'done' });
    expect(next.ledger.server('web')?.outputs).toEqual({ address: '10.0.0.1' });
    await report(next, LAB, claimed, answerOf('done', { outputs: { address: '10.0.0.1' } }));
  });
});

describe('a request for actions', () => {
  it('waits for an action of that proxy, or until its time limit', async () => {
    const core = await coreOf({});
    const ends: string[] = [];
    const wait = (name: string, by: Client, ms: number): void => {
      void agentOf(core)
        .wait(by, ms, new AbortController().signal)
        .then(() => ends.push(name));
    };
    wait('lab', LAB, 30 * SECOND);
    wait('edge', EDGE, 30 * SECOND);
    await core.settle();
    expect(ends).toEqual([]);
    await core.follow({ [TEMPLATE]: templateText({ web: IN_LAB }) });
    expect(ends).toEqual(['lab']);
    await core.pass(30 * SECOND);
    expect(ends).toEqual(['lab', 'edge']);
  });

  it('is refused if its client already waits ten times', async () => {
    const core = await coreOf({});
    const { signal } = new AbortController();
    for (let count = 0; count < 10; count += 1) void agentOf(core).wait(LAB, SECOND, signal);
    await expect(agentOf(core).wait(LAB, SECOND, signal)).rejects.toMatchObject({ code: 'too_many_requests' });
    await core.pass(SECOND);
    await core.settle();
    const again = agentOf(core).wait(LAB, SECOND, signal);
    await core.settle();
    await core.pass(SECOND);
    await again;
  });

  it('is offered other actions first next time', async () => {
    const names = Array.from({ length: 15 }, (_, index) => `s${index}`);
    const core = await coreOf(Object.fromEntries(names.map((name) => [name, `name: ${name}`])));
    const first = agentOf(core).actions(PLAIN, 10);
    const second = agentOf(core).actions(PLAIN, 10);
    expect(new Set([...first, ...second].map(({ resource }) => resource)).size).toBe(15);
  });

  it('is offered servers first that were just checked', async () => {
    const names = ['a', 'b', 'c', 'd'];
    const core = await coreOf(Object.fromEntries(names.map((name) => [name, `name: ${name}, ProxyTag: lab`])));
    await core.pass(FIRST_CHECKS);
    const calls: string[] = [];
    for (let turn = 0; turn < 8; turn += 1) {
      const [action] = agentOf(core).actions(LAB, 1);
      const claimed = await claim(core, LAB, action?.id);
      await core.pass(14 * SECOND);
      calls.push(`${action?.operation} ${action?.resource}`);
      await report(core, LAB, claimed, answerOf(action?.operation === 'check' ? 'absent' : 'done'));
    }
    expect(calls).toEqual(names.flatMap((name) => [`check ${name}`, `create ${name}`]));
  });
});

describe('a routine check of a server of a proxy', () => {
  /** Returns a core whose server was made by a proxy, and is at rest. */
  async function resting(): Promise<Core> {
    const core = await Core.following(
      { ...shopFiles({ web: IN_LAB }), ...CLIENTS },
      { hasProxied: true, entries: [], drift: 'report' },
    );
    await carryOut(core, LAB, 'absent');
    while (core.states().web !== 'done') await carryOut(core, LAB);
    return core;
  }

  it('is offered when it is due, after every action, and its report counts', async () => {
    const core = await resting();
    expect(offered(core, LAB)).toEqual([]);
    await core.pass(300 * SECOND);
    expect(core.states()).toEqual({ web: 'done' });
    expect(firstOf(core, LAB).operation).toBe('check');
    await core.follow({ [TEMPLATE]: templateText({ web: IN_LAB, another: 'name: another, ProxyTag: lab' }) });
    expect(
      agentOf(core)
        .actions(LAB, 10)
        .map(({ resource }) => resource),
    ).toEqual(['another', 'web']);
    const claimed = await claim(core, LAB, agentOf(core).actions(LAB, 10)[1]?.id);
    await report(core, LAB, claimed, answerOf('absent'));
    expect(core.states().web).toBe('drifted');
  });
});
