// A client that loses its rights while its request is under way, at every place where one waits, by every route: nothing is
// carried out for it after that, and nothing of the answer is sent. Each route of schemas/api.json has one of the ways to lose rights.
import { once } from 'node:events';
import { request as send } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
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
/** The time as the interface sees it; the certificates are of now. */
let aheadMs = 0;
beforeAll(async () => {
  api = await startTestApi({ ...systemClock, now: () => Date.now() + aheadMs });
  for (const service of [api.reader, api.operator, api.explainer, api.writer, api.agent, api.commits]) gateAll(service);
});
afterAll(() => api.api.close());

/** How a client loses its rights, with the error of its requests. */
const ENDINGS = {
  'is removed': ['client_not_registered', ({ serial }) => void api.reader.registry.delete(serial)],
  'gets another fingerprint': [
    'fingerprint_mismatch',
    (identity) => change(identity, { fingerprint: 'AB'.repeat(32) }),
  ],
  'gets another role': [
    'not_allowed',
    (identity, role) => change(identity, { role: role === 'proxy' ? 'administrator' : 'proxy' }),
  ],
  'sees less': ['not_allowed', (identity) => change(identity, { reads: 'site' })],
  expires: [
    'certificate_expired',
    () => {
      aheadMs = YEARS_MS;
    },
  ],
} as const satisfies Readonly<Record<string, readonly [string, (identity: Credential, role: Role) => void]>>;
type How = keyof typeof ENDINGS;

function change({ serial }: Credential, fields: Partial<Client>): void {
  const client = api.reader.registry.get(serial);
  if (client !== undefined) api.reader.registry.set(serial, { ...client, ...fields });
}

/** The place where whatever takes time waits while it is closed. */
const gate = {
  isClosed: false,
  /** The services that were called since, with their arguments. */
  calls: [] as { readonly name: string; readonly given: readonly unknown[] }[],
  /** How often something has come to the gate while it was closed. */
  waiting: 0,
  opened: Promise.withResolvers<void>(),
};

/** Closes the gate, and returns what opens it and gives everybody their rights again. */
function closeGate(): { readonly open: () => void; readonly restore: () => void } {
  const registry = new Map(api.reader.registry);
  Object.assign(gate, { isClosed: true, calls: [], waiting: 0, opened: Promise.withResolvers<void>() });
  const open = (): void => {
    gate.isClosed = false;
    gate.opened.resolve();
  };
  const restore = (): void => {
    aheadMs = 0;
    for (const [serial, client] of registry) api.reader.registry.set(serial, client);
  };
  onTestFinished(() => {
    open();
    restore();
  });
  return { open, restore };
}

/** Has each method of a service that takes time wait at the gate before its result is there. */
function gateAll(service: object): void {
  const isHeld = (): boolean => {
    if (gate.isClosed) gate.waiting += 1;
    return gate.isClosed;
  };
  const waitFor = async (result: Promise<unknown>): Promise<unknown> => {
    if (isHeld()) await gate.opened.promise;
    return await result;
  };
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

/** Returns the calls that ask for something to be done. */
function doneCalls(): typeof gate.calls {
  return gate.calls.filter(({ name }) => !['registered', 'commit', 'reached'].includes(name));
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly role: Role;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** Sends the head of a request, and returns how to send the rest and what is answered. */
function begin({ method, path, role, headers = {}, body }: Asked) {
  const of =
    body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
  const { key, cert } = api.identities[role];
  const options = { host: '127.0.0.1', ...api.server, key, cert, agent: false, path, method };
  const outgoing = send({ ...options, headers: { ...of, ...headers } });
  outgoing.flushHeaders();
  const answer = once(outgoing, 'response').then(async ([incoming]) => {
    const bytes = await buffer(incoming);
    return { status: incoming.statusCode, headers: incoming.headers, body: JSON.parse(bytes.toString()) as unknown };
  });
  return { end: () => outgoing.end(body), answer };
}

/** Checks that an answer is the refusal, and nothing else. */
function expectRefusal(answer: Awaited<ReturnType<typeof begin>['answer']>, how: How): void {
  expect(answer).toMatchObject({ status: 403, body: { error: ENDINGS[how][0], return_code: 403 } });
  expect(Object.keys(answer.body as object).sort()).toEqual(['error', 'message', 'return_code']);
  for (const name of ['x-treeline-commit', 'etag']) expect(answer.headers).not.toHaveProperty(name);
}

/** Plays a request whose client loses its rights once it waits, or once its head is there; the gate opens after that. */
async function play(asked: Asked, how: How, { isLate = false } = {}) {
  const { open, restore } = closeGate();
  const { end, answer } = begin(asked);
  let isAnswered = false;
  void answer.finally(() => {
    isAnswered = true;
  });
  if (!isLate) end();
  const isThere = (): boolean => (isLate ? gate.calls.some(({ name }) => name === 'registered') : gate.waiting > 0);
  await vi.waitFor(() => expect(isThere() || isAnswered).toBe(true), { timeout: 5_000, interval: 2 });
  const isWaiting = isThere();
  const callsBefore = doneCalls();
  ENDINGS[how][1](api.identities[asked.role], asked.role);
  if (isLate) end();
  open();
  const played = { isWaiting, callsBefore, answer: await answer };
  restore();
  return played;
}

const NAMES = Object.keys(ENDINGS) as How[];
/** A stream ends instead: test/api/event-streams.test.ts. */
const CASES = Object.entries(ROUTES)
  .filter(([, { isEndless }]) => !isEndless)
  .map(([route, one], index) => ({ ...one, route, how: NAMES[index % NAMES.length] ?? 'is removed' }));

test.each(CASES)('a client that $how: $route', async ({ route, how, method, roles, status, ...given }) => {
  const [role = 'administrator'] = roles;
  const isRead = method === 'GET';
  const path = given.path.replace('OWN', api.identities[role].serial);
  const asked = { method, path, role, body: isRead ? undefined : JSON.stringify(given.body) };

  // Whatever takes time: the work in a queue or at judgement, a wait, a list that is made.
  const working = await play(asked, how);
  // A proxy that has waited is known anew, and offered what it sees then.
  const isKnownAnew = route === 'GET /agent/actions' && how === 'sees less';
  if (working.isWaiting && !isKnownAnew) expectRefusal(working.answer, how);
  else expect(working.answer.status).toBe(status);
  if (isRead) return;
  if (!AT_ONCE.some((path) => route.endsWith(path))) {
    expect(working.isWaiting).toBe(true);
    const caller = working.callsBefore[0]?.given[0] as Caller;
    // Whoever judges the write is told: by the active registry, and by that of the state it is judged on.
    expect(caller.refusal()).toBeUndefined();
    expect(caller.refusal(() => undefined)).toMatchObject({ code: 'client_not_registered' });
  }
  const late = await play(asked, how, { isLate: true });
  expectRefusal(late.answer, how);
  expect(doneCalls()).toEqual([]);
});

test('a client that is removed while its read waits for a commit is refused', async () => {
  const headers = { 'X-Treeline-Min-Commit': COMMIT };
  const waiting = await play({ method: 'GET', path: '/tree', role: 'administrator', headers }, 'is removed');
  expect(waiting.isWaiting).toBe(true);
  expectRefusal(waiting.answer, 'is removed');
  expect(doneCalls()).toEqual([]);
});

test('a client that is removed while its request is queued is refused', async () => {
  const { open } = closeGate();
  const ask = (path: string) => {
    const { end, answer } = begin({ method: 'GET', path, role: 'administrator' });
    end();
    return answer;
  };
  const knownCount = (): number => gate.calls.filter(({ name }) => name === 'registered').length;
  const first = ask('/stacks/instances/shop/events');
  await vi.waitFor(() => expect(gate.waiting).toBe(1));
  const before = knownCount();
  const second = ask('/operations/recorded');
  await vi.waitFor(() => expect(knownCount()).toBeGreaterThan(before));
  ENDINGS['is removed'][1](api.identities.administrator);
  open();
  for (const answer of await Promise.all([first, second])) expectRefusal(answer, 'is removed');
});
