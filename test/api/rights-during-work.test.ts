// A client that loses its rights while its request is under way, at every place where one waits, by every route: nothing is
// carried out for it after that, and nothing of the answer is sent. Each route of schemas/api.json has one of the ways to lose rights.
import { once } from 'node:events';
import { request as send } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import type { Credential } from '../../src/base/development-pki.ts';
import type { Role } from '../../src/model/names.ts';
import type { Client } from '../../src/model/objects.ts';
import type { Caller } from '../../src/service/caller.ts';
import { heldList } from '../support/held-list.ts';
import { ROUTES } from '../support/route-table.ts';
import { COMMIT } from '../support/sample-reader.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

const YEARS_MS = 50 * 365 * 24 * 60 * 60 * 1000;
/** The methods of the reader whose lists are written item by item. */
const WRITTEN_LISTS = ['instances', 'objects', 'nodes'];
/** They are carried out at once, when the body is there: nothing waits in between. */
const AT_ONCE = ['/heartbeat', '/report'];

let api: TestApi;
/** Since 1970, as the interface sees it; the certificates are of now. */
let aheadMs = 0;
beforeAll(async () => {
  const clock: Clock = { ...systemClock, now: () => Date.now() + aheadMs };
  api = await startTestApi(clock);
  for (const service of [api.reader, api.operator, api.explainer, api.writer, api.agent, api.commits]) gateAll(service);
});
afterAll(() => api.api.close());

/** How a client loses its rights. */
const ENDINGS = {
  'is removed': {
    error: 'client_not_registered',
    end: async (identity: Credential) => void api.reader.registry.delete(identity.serial),
  },
  'gets another fingerprint': {
    error: 'fingerprint_mismatch',
    end: async (identity: Credential) => change(identity, { fingerprint: 'AB'.repeat(32) }),
  },
  'gets another role': {
    error: 'not_allowed',
    end: async (identity: Credential, role: Role) =>
      change(identity, { role: role === 'proxy' ? 'administrator' : 'proxy' }),
  },
  'sees less': {
    error: 'not_allowed',
    end: async (identity: Credential) => change(identity, { reads: 'site' }),
  },
  expires: {
    error: 'certificate_expired',
    async end() {
      aheadMs = YEARS_MS;
    },
  },
} as const;
type Ending = (typeof ENDINGS)[keyof typeof ENDINGS];

function change({ serial }: Credential, fields: Partial<Client>): void {
  const client = api.reader.registry.get(serial);
  if (client !== undefined) api.reader.registry.set(serial, { ...client, ...fields });
}

/** Gives everybody their rights again. */
function restore(registry: ReadonlyMap<string, Client>): void {
  aheadMs = 0;
  for (const [serial, client] of registry) api.reader.registry.set(serial, client);
}

/** The place where whatever takes time waits while it is closed. */
const gate = {
  isClosed: false,
  /** The services that were called since, with their arguments. */
  calls: [] as { readonly name: string; readonly given: readonly unknown[] }[],
  /** How often something has come to the gate while it was closed. */
  waiting: 0,
  opened: Promise.withResolvers<void>(),
  close(): void {
    Object.assign(gate, { isClosed: true, calls: [], waiting: 0, opened: Promise.withResolvers<void>() });
  },
  open(): void {
    gate.isClosed = false;
    gate.opened.resolve();
  },
};

/** Has each method of a service that takes time wait at the gate before its result is there. */
function gateAll(service: object): void {
  for (const [name, method] of Object.entries(service)) {
    if (typeof method !== 'function') continue;
    const gated = (...given: readonly unknown[]): unknown => {
      gate.calls.push({ name, given });
      const result: unknown = method(...given);
      if (result instanceof Promise) return waitFor(result);
      return Array.isArray(result) && WRITTEN_LISTS.includes(name) ? heldList(result, isHeld) : result;
    };
    Object.assign(service, { [name]: gated });
  }
}

async function waitFor(result: Promise<unknown>): Promise<unknown> {
  if (gate.isClosed) {
    gate.waiting += 1;
    await gate.opened.promise;
  }
  return await result;
}

/** Is asked before each item of a list that is written. */
function isHeld(): boolean {
  if (gate.isClosed) gate.waiting += 1;
  return gate.isClosed;
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly identity: Credential;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends the head of a request, and returns how to send the rest and what is answered. */
function begin({ method, path, identity: { key, cert }, headers = {} }: Asked, body: string | undefined) {
  const of =
    body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
  const { port, ca } = api.server;
  const options = { host: '127.0.0.1', port, ca, key, cert, agent: false, path, method };
  const outgoing = send({ ...options, headers: { ...of, ...headers } });
  outgoing.flushHeaders();
  const answer = once(outgoing, 'response').then(async ([incoming]) => {
    const bytes = await buffer(incoming);
    return { status: incoming.statusCode, headers: incoming.headers, body: JSON.parse(bytes.toString()) as unknown };
  });
  return { end: () => outgoing.end(body), answer };
}

/** Checks that an answer is the refusal, and nothing else. */
function expectRefusal(answer: Awaited<ReturnType<typeof begin>['answer']>, { error }: Ending): void {
  expect(answer).toMatchObject({ status: 403, body: { error, return_code: 403 } });
  expect(Object.keys(answer.body as object).sort()).toEqual(['error', 'message', 'return_code']);
  expect(Object.keys(answer.headers)).not.toEqual(expect.arrayContaining(['x-treeline-commit']));
  expect(Object.keys(answer.headers)).not.toEqual(expect.arrayContaining(['etag']));
}

/** Returns the calls that ask for something to be done. */
function doneCalls(): typeof gate.calls {
  return gate.calls.filter(({ name }) => !['registered', 'commit', 'reached'].includes(name));
}

/** Plays a request whose client loses its rights once it waits, or once its head is there; the gate opens after that. */
async function play(asked: Asked, role: Role, { ending, body, isLate = false }: Played) {
  const registry = new Map(api.reader.registry);
  onTestFinished(() => {
    gate.open();
    restore(registry);
  });
  gate.close();
  const { end, answer } = begin(asked, body);
  let isAnswered = false;
  void answer.finally(() => {
    isAnswered = true;
  });
  if (!isLate) end();
  const isThere = (): boolean => (isLate ? gate.calls.some(({ name }) => name === 'registered') : gate.waiting > 0);
  await vi.waitFor(() => expect(isThere() || isAnswered).toBe(true), { timeout: 5_000, interval: 2 });
  const isWaiting = isThere();
  const callsBefore = doneCalls();
  await ending.end(asked.identity, role);
  if (isLate) end();
  gate.open();
  const played = { isWaiting, callsBefore, answer: await answer };
  restore(registry);
  return played;
}

interface Played {
  readonly ending: Ending;
  readonly body?: string | undefined;
  /** The rights are lost between the head and the body. */
  readonly isLate?: boolean;
}

const NAMES = Object.keys(ENDINGS) as (keyof typeof ENDINGS)[];
/** A stream ends instead: test/api/event-streams.test.ts. */
const CASES = Object.entries(ROUTES)
  .filter(([, { isEndless }]) => !isEndless)
  .map(([route, one], index) => ({ ...one, route, how: NAMES[index % NAMES.length] ?? 'is removed' }));

test.each(CASES)('a client that $how: $route', async ({ route, how, method, roles, status, ...given }) => {
  const ending = ENDINGS[how];
  const [role = 'administrator'] = roles;
  const identity = api.identities[role];
  const isRead = method === 'GET';
  const body = isRead ? undefined : JSON.stringify(given.body);
  const asked = { method, path: given.path.replace('OWN', identity.serial), identity };

  // Whatever takes time: the work in a queue or at judgement, a wait, a list that is made.
  const working = await play(asked, role, { ending, body });
  // A proxy that has waited is known anew, and offered what it sees then.
  const isKnownAnew = route === 'GET /agent/actions' && how === 'sees less';
  if (working.isWaiting && !isKnownAnew) expectRefusal(working.answer, ending);
  else expect(working.answer.status).toBe(status);
  if (isRead) return;
  if (!AT_ONCE.some((path) => route.endsWith(path))) {
    expect(working.isWaiting).toBe(true);
    const caller = working.callsBefore[0]?.given[0] as Caller;
    // Whoever judges the write is told: by the active registry, and by that of the state it is judged on.
    expect(caller.refusal()).toBeUndefined();
    expect(caller.refusal(() => undefined)).toMatchObject({ code: 'client_not_registered' });
  }
  const late = await play(asked, role, { ending, body, isLate: true });
  expectRefusal(late.answer, ending);
  expect(doneCalls()).toEqual([]);
});

test.each(['is removed', 'gets another fingerprint', 'expires'] as const)(
  'a client that %s while it waits for a commit is refused',
  async (how) => {
    const [identity, ending] = [api.identities.administrator, ENDINGS[how]];
    const headers = { 'X-Treeline-Min-Commit': COMMIT };
    const waiting = await play({ method: 'GET', path: '/tree', identity, headers }, 'administrator', { ending });
    expect(waiting.isWaiting).toBe(true);
    expectRefusal(waiting.answer, ending);
    expect(doneCalls()).toEqual([]);
  },
);

test('a client that is removed while its request waits behind another of its own is refused', async () => {
  const registry = new Map(api.reader.registry);
  onTestFinished(() => {
    gate.open();
    restore(registry);
  });
  const identity = api.identities.administrator;
  const ask = (asked: string) => {
    const { end, answer } = begin({ method: 'GET', path: asked, identity }, undefined);
    end();
    return answer;
  };
  const knownCount = (): number => gate.calls.filter(({ name }) => name === 'registered').length;
  gate.close();
  const first = ask('/stacks/instances/shop/events');
  await vi.waitFor(() => expect(gate.waiting).toBe(1));
  const before = knownCount();
  const second = ask('/operations/recorded');
  await vi.waitFor(() => expect(knownCount()).toBeGreaterThan(before));
  await ENDINGS['is removed'].end(identity);
  gate.open();
  for (const answer of await Promise.all([first, second])) expectRefusal(answer, ENDINGS['is removed']);
});
