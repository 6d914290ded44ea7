// The list of servers, page by page and filtered, and one server with its properties.
import { expect, it } from 'vitest';
import type { ServerPage } from '../../src/service/answers.ts';
import type { ServerQuery } from '../../src/service/progress/server-list.ts';
import { answerOf } from '../reconcile/build.ts';
import { Core } from '../reconcile/core.ts';
import { shopFiles } from '../reconcile/shop.ts';

const ALL: ServerQuery = { instance: null, states: [], search: '', after: '', limit: 100 };
const NAMES = Array.from({ length: 25 }, (_, index) => `web-${index + 10}`);

/** 25 servers of `shop`, one of which fails, and none of `rest`. */
async function filled(): Promise<Core> {
  const core = new Core({ retry: { attempts: 1 } });
  const resources = Object.fromEntries(NAMES.map((name) => [name, `name: ${name}, size: small`]));
  core.provider.script = ({ operation, resource }) =>
    operation === 'create' && resource === 'web-13'
      ? Promise.resolve(answerOf('failed', { message: 'no quota' }))
      : undefined;
  core.source.commit({
    ...shopFiles({
      ...resources,
      'web-10': 'name: web-10, size: small, depends_on: DB',
      DB: 'name: DB, root_password: secret/db, size: big',
    }),
    'hierarchy.yaml': 'secrets: { keys: ["_password$"], reference: "^secret/" }\n',
  });
  await core.poll();
  return core;
}

function ask(core: Core, query: Partial<ServerQuery>): ServerPage {
  return core.operator.servers(core.order.by, { ...ALL, ...query });
}

const namesIn = ({ servers }: ServerPage): string[] => servers.map(({ name }) => name);

it('the list of servers has every server once over all pages, sorted by name', async () => {
  const core = await filled();
  const found: string[] = [];
  for (let next: string | null = ''; next !== null; ) {
    const page = ask(core, { after: next, limit: 7 });
    expect(page.total).toBe(26);
    expect(page.servers.length).toBeLessThanOrEqual(7);
    found.push(...namesIn(page));
    next = page.next;
  }
  expect(found).toEqual(['DB', ...NAMES]);
  // The last page is full, and still the last one.
  expect(ask(core, { limit: 26 }).next).toBeNull();
});

it('the list of servers names reason and time of a server that is not done', async () => {
  const { servers } = ask(await filled(), { search: 'web-1', limit: 5 });
  expect(servers[0]).toEqual({
    name: 'web-10',
    instance: 'shop',
    group: 'web-10',
    state: 'done',
    since: expect.stringMatching(/^\d{4}-/),
    reason: null,
    attempt: 0,
    until: null,
    action: null,
    dependsOn: ['DB'],
  });
  expect(servers[3]).toMatchObject({
    name: 'web-13',
    state: 'failed',
    reason: expect.stringContaining('no quota'),
    action: 'correct that, then push, or: treeline retry --resource web-13',
  });
});

const FILTERS: readonly (readonly [Partial<ServerQuery>, readonly string[]])[] = [
  [{ states: ['failed'] }, ['web-13']],
  [{ states: ['failed', 'blocked'] }, ['web-13']],
  [{ states: ['done'], search: 'db' }, ['DB']],
  [{ search: 'WEB-3' }, NAMES.slice(20)],
  [{ search: 'shop' }, ['DB', ...NAMES]],
  [{ search: 'web-1', after: 'web-17' }, ['web-18', 'web-19']],
  [{ instance: 'rest' }, []],
  [{ instance: 'shop', search: '4' }, ['web-14', 'web-24', 'web-34']],
];

it.each(FILTERS)('the search %j finds %j', async (query, names) => {
  const page = ask(await filled(), query);
  expect(namesIn(page)).toEqual(names);
  expect(page.next).toBeNull();
});

it('the list of servers suggests the right instance name', async () => {
  const core = await filled();
  expect(() => ask(core, { instance: 'shpo' })).toThrow('There is no stack instance "shpo"; did you mean "shop"?');
});

it('a server shows wanted and applied values without secrets', async () => {
  const core = await filled();
  const { order, operator } = core;
  expect(operator.server(order.by, 'DB')).toMatchObject({
    name: 'DB',
    state: 'done',
    provider: 'lab',
    generation: 1,
    commit: core.reader.commit(),
    outputs: {},
    neededBy: ['web-10'],
    checked: { time: expect.stringMatching(/^\d{4}-/), outcome: 'absent' },
    properties: [
      { property: 'name', wanted: 'DB', applied: 'DB' },
      { property: 'root_password', wanted: '(secret)', applied: '(secret)' },
      { property: 'size', wanted: 'big', applied: 'big' },
    ],
  });
  expect(operator.server(order.by, 'web-13').properties).toContainEqual({
    property: 'size',
    wanted: 'small',
    applied: null,
  });
  const shown = operator.server({ ...order.by, role: 'proxy' }, 'DB');
  expect([shown.properties, shown.outputs]).toEqual([[], undefined]);
  expect(() => operator.server(order.by, 'web-99')).toThrow('There is no server "web-99"');
});

it('a retry of a provider entry includes servers that it has not created', async () => {
  const { operator, order } = await filled();
  expect(await operator.retry(order, { provider: 'lab' })).toBe('Tried again: 1');
});
