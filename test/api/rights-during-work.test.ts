// A client that loses its rights while its request is under way, at every place where one waits, by every route: nothing is
// carried out for it after that, and nothing of the answer is sent. test/support/route-table.ts has the routes; a new one is
// played here by itself, under some of the ways to lose rights, and by `npm run test:long` under all.
import { once } from 'node:events';
import { request as send } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import type { Credential } from '../../src/base/development-pki.ts';
import type { Role } from '../../src/model/names.ts';
import type { Client } from '../../src/model/objects.ts';
import type { Caller } from '../../src/service/caller.ts';
import { pickCases } from '../support/count-runs.ts';
import { heldList } from '../support/held-list.ts';
import { EXCEPTIONS, pathsOf, ROUTES, type Row } from '../support/route-table.ts';
import { COMMIT, INSTANCE, RECORD, TEMPLATE } from '../support/sample-reader.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

const YEARS_MS = 50 * 365 * 24 * 60 * 60 * 1000;
const MIB = 2 ** 20;
/** The methods of the reader whose lists are written item by item. */
const WRITTEN_LISTS = ['instances', 'objects', 'nodes'];
/** In the order of a row's statuses. */
const ROLES = ['administrator', 'automation-endpoint', 'proxy'] as const;
/** They are carried out at once, when the body is there: nothing waits in between. */
const AT_ONCE = ['POST /agent/actions/:id/heartbeat', 'POST /agent/actions/:id/report'];

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

function roleFor({ statuses }: Row): (typeof ROLES)[number] {
  return ROLES[statuses.findIndex((status) => status < 400)] ?? 'administrator';
}

/** A stream ends instead: test/api/event-streams.test.ts. */
const CASES = [...Object.entries(ROUTES), ...Object.entries(EXCEPTIONS)]
  .filter(([, row]) => row.isEndless !== true)
  .flatMap(([route, row]) =>
    pathsOf(route, row).map((path) => [`${route.split(' ')[0]} ${path}`, route, row, path] as const),
  );

const LONG_ANSWERS = ['/stacks/instances', '/stacks/templates', '/hiera/all', '/operations/status'];

/** Returns the cases that are tried under an ending: in `npm test` each is under two or three of them. */
function casesUnder(ending: string): typeof CASES {
  return CASES.filter((_, index) => pickCases(Object.keys(ENDINGS), index).includes(ending));
}

describe.each(Object.entries(ENDINGS))('a client that %s', (name, ending) => {
  /** Plays a request whose client loses its rights once `isThere`; the gate opens after that. */
  async function play(
    asked: Asked,
    role: Role,
    options: { readonly body?: string | undefined; readonly isLate?: boolean },
  ) {
    const registry = new Map(api.reader.registry);
    onTestFinished(() => {
      gate.open();
      restore(registry);
    });
    gate.close();
    const { end, answer } = begin(asked, options.body);
    let isAnswered = false;
    void answer.finally(() => {
      isAnswered = true;
    });
    if (options.isLate !== true) end();
    const isThere = (): boolean =>
      options.isLate === true ? gate.calls.some((call) => call.name === 'registered') : gate.waiting > 0;
    await vi.waitFor(() => expect(isThere() || isAnswered).toBe(true), { timeout: 5_000, interval: 2 });
    const isWaiting = isThere();
    const callsBefore = doneCalls();
    await ending.end(asked.identity, role);
    if (options.isLate === true) end();
    gate.open();
    return { isWaiting, callsBefore, answer: await answer };
  }

  test.each(casesUnder(name))('%s', async (_name, route, row, given) => {
    const [method = ''] = route.split(' ');
    const role = roleFor(row);
    const identity = api.identities[role];
    const path = given.replace('ADMINISTRATOR', api.identities.administrator.serial);
    const isRead = method === 'GET';
    const body = isRead ? undefined : JSON.stringify(row.body ?? {});
    const asked = { method, path, identity };

    // Whatever takes time: the work in a queue or at judgement, a wait, a list that is made.
    const working = await play(asked, role, { body });
    // A proxy that has waited is known anew, and offered what it sees then.
    const isKnownAnew = route === 'GET /agent/actions' && name === 'sees less';
    if (working.isWaiting && !isKnownAnew) expectRefusal(working.answer, ending);
    else expect(working.answer.status).toBe(row.statuses[ROLES.indexOf(role)]);
    if (!isRead && !AT_ONCE.includes(route)) {
      expect(working.isWaiting).toBe(true);
      const [call] = working.callsBefore;
      const caller = call?.given[0] as Caller;
      // Whoever judges the write is told: by the active registry, and by that of the state it is judged on.
      restoreNow();
      expect(caller.refusal()).toBeUndefined();
      expect(caller.refusal(() => undefined)).toMatchObject({ code: 'client_not_registered' });
      await ending.end(identity, role);
      expect(caller.refusal()).toMatchObject({ code: ending.error });
    }
    restoreNow();

    if (!isRead) {
      // Between the headers and the body.
      const late = await play(asked, role, { body, isLate: true });
      expect(late.isWaiting).toBe(true);
      expectRefusal(late.answer, ending);
      expect(doneCalls()).toEqual([]);
      return;
    }
    // Who waited for a commit is known anew, with the role of then.
    if (name === 'gets another role' || name === 'sees less') return;
    const waiting = await play({ ...asked, headers: { 'X-Treeline-Min-Commit': COMMIT } }, role, {});
    expect(waiting.isWaiting).toBe(true);
    expectRefusal(waiting.answer, ending);
    expect(doneCalls()).toEqual([]);

    function restoreNow(): void {
      aheadMs = 0;
      for (const [known, credential] of Object.entries(api.identities)) {
        api.register(credential, { role: known as Role, ...(known === 'proxy' ? { tags: ['lab'] } : {}) });
      }
    }
  });

  test.each(pickCases(LONG_ANSWERS, Object.keys(ENDINGS).indexOf(name)))(
    'is sent no more of a long answer: %s',
    async (path) => {
      const before = { list: api.reader.list, status: api.operator.status, registry: new Map(api.reader.registry) };
      const { nodes, templates } = api.reader;
      const identity = api.identities.proxy;
      onTestFinished(() => {
        Object.assign(api.reader, { list: before.list, nodes, templates });
        api.operator.status = before.status;
        restore(before.registry);
      });
      const text = 'x'.repeat(10_000);
      const count = (32 * MIB) / text.length;
      api.reader.list = Array.from({ length: count }, (_, index) => ({ ...INSTANCE, description: `${index}${text}` }));
      const instances = before.status.instances.flatMap((instance) =>
        api.reader.list.map(({ description }) => ({ ...instance, summary: description })),
      );
      api.operator.status = { ...before.status, instances };
      api.reader.nodes = () => {
        return api.reader.list.map(({ description }, index) => {
          const record = { ...RECORD, description };
          return {
            name: `n-${index}`,
            group: null,
            record: () => record,
            explained: () => ({}),
            value: () => undefined,
          };
        });
      };
      api.reader.templates = () => api.reader.list.map(({ description }) => ({ ...TEMPLATE, description }));
      const { key, cert } = identity;
      const socket = connect({ host: '127.0.0.1', ...api.server, key, cert });
      onTestFinished(() => void socket.destroy());
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await once(socket, 'readable');
      await ending.end(identity, 'proxy');
      let received = 0;
      socket.on('data', (bytes: Buffer) => (received += bytes.length));
      socket.on('error', () => socket.destroy());
      await once(socket, 'close');
      expect(received).toBeGreaterThan(0);
      expect(received).toBeLessThan(24 * MIB);
    },
  );
});

test.each(['/operations/recorded', '/operations/events', '/operations/held'])(
  'a client that is removed while its request waits behind another of its own is told so: %s',
  async (path) => {
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
    const second = ask(path);
    await vi.waitFor(() => expect(knownCount()).toBeGreaterThan(before));
    await ENDINGS['is removed'].end(identity);
    gate.open();
    for (const answer of await Promise.all([first, second])) expectRefusal(answer, ENDINGS['is removed']);
  },
);
