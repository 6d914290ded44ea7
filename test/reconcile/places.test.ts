// Proof of place: programs that name what they look at. An answer from another place, such as a folder whose disk is not
// mounted, is an error and no answer: nothing is made again, forgotten or recorded by it.
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/model/call-result.ts';
import { answerOf } from './build.ts';
import { Core } from './core.ts';
import { proxyOf, takeTurn } from './proxy-turns.ts';
import { shopFiles, TEMPLATE, templateText } from './shop.ts';

const ROUND_MS = 300_000;
const HOUR_MS = 3_600_000;
const SERVERS = { web: 'name: web, size: small', db: 'name: db, size: small' };

/** From now on the site answers from this place; `isAway`: nothing of what was made is there. */
function place(core: Core, name: string | undefined, isAway = false): void {
  const named = name === undefined ? {} : { place: name };
  core.provider.script = async (call): Promise<Answer> => {
    if (isAway && call.operation !== 'create') return answerOf('absent', named);
    return { ...core.provider.act(call), ...named };
  };
}

async function siteAt(name: string | undefined, resources: Readonly<Record<string, string>> = SERVERS): Promise<Core> {
  const core = new Core({ drift: 'heal', retry: { failedSeconds: 60 } });
  place(core, name);
  await core.follow(shopFiles(resources));
  expect(new Set(Object.values(core.states()))).toEqual(new Set(['done']));
  return core;
}

/** Lets rounds of checks pass, and returns how many servers were created in them. */
async function rounds(core: Core, count = 3): Promise<number> {
  const before = core.calls('create').length;
  for (let round = 0; round < count; round += 1) await core.pass(ROUND_MS);
  return core.calls('create').length - before;
}

const MOVED = /the provider entry "lab" (names no place|answers from the place "B"), but was at "A" before/;

describe.each([
  ['another place', 'B'],
  ['no place', undefined],
])('an answer from %s', (_, elsewhere) => {
  it('creates no server again, and settles when the place is back', async () => {
    const core = await siteAt('A');
    place(core, elsewhere, true);
    expect(await rounds(core, 12)).toBe(0);
    expect(core.states()).toEqual({ db: 'done', web: 'done' });
    const why = core.operator.why(core.order.by, 'shop');
    expect(why.waiting.map(({ reason }) => reason).join('\n')).toMatch(MOVED);
    const next = await core.restart();
    place(next, elsewhere, true);
    expect(await rounds(next)).toBe(0);
    place(next, 'A');
    expect(await rounds(next, 12)).toBe(0);
    expect(next.operator.why(next.order.by, 'shop').waiting).toEqual([]);
  });

  it('creates no server that an update did not find, and forgets none that a delete did not find', async () => {
    const core = await siteAt('A');
    place(core, elsewhere, true);
    await core.follow({ [TEMPLATE]: templateText({ web: 'name: web, size: large' }) });
    expect(await rounds(core, 6)).toBe(0);
    expect(core.states()).toEqual({ db: 'unknown', web: 'unknown' });
    expect(core.ledger.server('web')?.reason?.text).toMatch(MOVED);
    place(core, 'A');
    await core.pass(HOUR_MS);
    await core.pass(HOUR_MS);
    expect(core.states()).toEqual({ web: 'done' });
    expect(core.ledger.server('web')?.applied?.properties.size).toBe('large');
  });

  it('does not lead to a new server of its entry', async () => {
    const core = await siteAt('A');
    place(core, elsewhere, true);
    await core.follow({ [TEMPLATE]: templateText({ ...SERVERS, new: 'name: new' }) });
    expect(core.calls('create')).not.toContain('new');
    expect(core.ledger.server('new')?.reason?.text).toMatch(MOVED);
    place(core, 'A');
    await core.pass(HOUR_MS);
    expect(core.states()).toEqual({ db: 'done', new: 'done', web: 'done' });
  });
});

it('is accepted by an operator without any delete', async () => {
  const core = await siteAt('A');
  place(core, 'B');
  await rounds(core, 12);
  const waiting = () => core.operator.why(core.order.by, 'shop').waiting;
  expect(waiting()).toMatchObject([{ reason: expect.stringMatching(MOVED) }, { reason: expect.stringMatching(MOVED) }]);
  expect(await core.operator.adopt(core.order, { provider: 'lab' })).toBe('Adopted: 2');
  await core.settle();
  expect(waiting()).toEqual([]);
  expect(await rounds(core)).toBe(0);
  expect(core.calls('delete')).toEqual([]);
  expect(core.ledger.server('web')?.place).toEqual({ name: 'B', provider: 'lab' });
  // From now on it is the other one that is wrong.
  place(core, 'A', true);
  expect(await rounds(core)).toBe(0);
  expect(core.states()).toEqual({ db: 'done', web: 'done' });
});

describe('the place of a proxy', () => {
  const LAB = proxyOf('B1', 'lab');

  /** Carries out all that is offered, with these answers by server. */
  async function work(core: Core, answers: (resource: string, operation: string) => Answer): Promise<void> {
    for (let times = 0; times < 20; times += 1) {
      if (!(await takeTurn(core, LAB, ({ resource, operation }) => answers(resource, operation)))) return;
    }
  }

  it('belongs to its entry: two entries of a site have their own storage', async () => {
    const core = await Core.following(
      {
        ...shopFiles({ web: 'name: web, ProxyTag: lab', dns: 'name: dns, ProxyTag: lab' }),
        'clients/B1.yaml': 'role: proxy\ntags: [lab]\n',
      },
      { hasProxied: true, entries: [] },
    );
    const at = (resource: string) => ({ entry: resource, place: `the place of ${resource}` });
    const make = () =>
      work(core, (resource, operation) => answerOf(operation === 'check' ? 'absent' : 'done', at(resource)));
    await make();
    await core.pass(60_000);
    await make();
    expect(core.states()).toEqual({ dns: 'done', web: 'done' });
    await core.follow({
      [TEMPLATE]: templateText({ web: 'name: web, size: large, ProxyTag: lab', dns: 'name: dns, ProxyTag: lab' }),
    });
    await work(core, () => answerOf('absent', { entry: 'web', place: 'elsewhere' }));
    expect(core.states()).toEqual({ dns: 'done', web: 'updating' });
    expect(core.ledger.server('web')?.reason?.text).toMatch(/"elsewhere", but was at "the place of web" before/);
  });
});
