// A replica that does not lead, beside its leader: both over real TLS, and between them too. A client gets the same answer from both.
import { X509Certificate } from 'node:crypto';
import { get } from 'node:https';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { FollowedLeader } from '../../src/api/forward.ts';
import { urlPathOf } from '../../src/api/request-steps.ts';
import { systemClock } from '../../src/base/clock.ts';
import { type Credential, issueClientCertificate } from '../../src/base/development-pki.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import { ClientsSeen } from '../../src/service/progress/clients-seen.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { type Ask, keepAlive, keepAll, type Reply } from '../support/https-client.ts';
import { linkTo, type TestLink } from '../support/leader-link.ts';
import { WHY } from '../support/sample-operator.ts';
import { ACTION } from '../support/sample-parts.ts';
import { createSampleReader } from '../support/sample-reader.ts';
import { startTestApi, startTestStandby, type TestApi, type TestStandby } from '../support/test-api.ts';

const COMMIT = '0123456789abcdef0123456789abcdef01234567';
const JSON_BODY = { method: 'POST', headers: { 'Content-Type': 'application/json' } } as const;

let stranger: Credential;
let leader: TestApi;
let standby: TestStandby;
let between: TestLink;
/** Kept: each handshake takes longer than most answers. */
const connections = keepAll();
/** The time that the leader has to answer is over at once. */
let isLate = false;
/** What the replica is told of the leader; a test may replace parts of it. */
let followed: { -readonly [Key in keyof FollowedLeader]: FollowedLeader[Key] };
/** The targets that were forwarded, and the times at which the rows were read again. */
const seen: string[] = [];

const usual: FollowedLeader = {
  isKnown: () => true,
  lag: () => undefined,
  ask(question, body, gone) {
    seen.push(`${question.method} ${question.path}`);
    return between.link.ask(question, body, gone);
  },
  async refresh() {
    seen.push('refresh');
  },
  shows: async () => false,
};

beforeAll(async () => {
  leader = await startTestApi();
  stranger = await issueClientCertificate(leader.authority, { commonName: 'stranger', now: Date.now() });
  between = await linkTo(leader.handler);
  followed = { ...usual };
  standby = await startTestStandby(
    leader,
    {
      isKnown: () => followed.isKnown(),
      lag: () => followed.lag(),
      ask: (...question) => followed.ask(...question),
      refresh: () => followed.refresh(),
      shows: (commit) => followed.shows(commit),
    },
    { clock: { ...systemClock, after: (ms, wake) => systemClock.after(isLate ? 0 : ms, wake) } },
  );
});
afterAll(async () => {
  connections.destroy();
  await standby.api.close();
  await between.close();
  await leader.api.close();
});
beforeEach(() => {
  seen.length = 0;
  isLate = false;
  Object.assign(followed, usual);
});

/** Returns a reply as far as it is the same on every replica. */
function comparable({ status, headers, bytes }: Reply) {
  const { date: _date, 'x-request-id': _id, 'x-treeline-replica': _replica, ...others } = headers;
  return { status, headers: others, bytes: bytes.toString('latin1') };
}

/** Asks both, and returns the answer of the replica, which is that of the leader. */
async function askBoth(path: string, ask: Ask = {}): Promise<Reply> {
  const direct = await leader.request(path, { agent: connections, ...ask });
  const reply = await standby.request(path, { agent: connections, ...ask });
  expect({ path, ...comparable(reply) }).toEqual({ path, ...comparable(direct) });
  expect([direct, reply].map(({ headers }) => headers['x-treeline-replica'])).toEqual(['test-1', 'test-2']);
  return reply;
}

test.each([['/agent/actions?wait=1'], ['https://treeline.example:8443/agent/actions?wait=https://x']])(
  'urlPathOf returns the path of %s',
  (url) => {
    expect(urlPathOf({ url })).toBe('/agent/actions');
  },
);

describe('reads of progress', () => {
  const PATHS = ['/operations/status', '/stacks/instances/shop/why'];
  const LED = { name: 'test-1', since: '2026-11-20T10:13:56.000Z', fencing: 3 };
  const OUTAGE = { reason: 'the remote – git – cannot be reached', since: '2026-11-20T10:14:56.000Z' };

  beforeEach(() => {
    const { overview, why } = leader.operator;
    onTestFinished(() => void Object.assign(leader.operator, { overview, why }));
    leader.operator.overview = (_by, lag) => ({ ...leader.operator.status, leader: LED, ...(lag && { lag }) });
    leader.operator.why = (_by, _instance, lag) => ({ ...WHY, leader: LED, ...(lag && { lag }) });
  });

  test.each(PATHS)('%s reports the lag of the asked replica', async (path) => {
    followed.lag = () => OUTAGE;
    expect((await standby.request(path)).body).toMatchObject({ leader: LED, lag: OUTAGE });
    expect((await leader.request(path)).body).not.toHaveProperty('lag');
    // A client has no say in it.
    followed.lag = () => undefined;
    const headers = { 'X-Treeline-Lag': encodeURIComponent(JSON.stringify(OUTAGE)) };
    expect((await standby.request(path, { headers })).body).not.toHaveProperty('lag');
    expect((await leader.request(path, { headers })).body).not.toHaveProperty('lag');
  });

  test.each(PATHS)('%s is answered by the replica if no leader answers', async (path) => {
    followed.ask = () => Promise.reject(new ServiceError('not_ready', 'the database is away'));
    const { status, headers, body } = await standby.request(path);
    expect([status, headers['x-treeline-replica'], body]).toEqual([
      200,
      'test-2',
      expect.objectContaining({ counts: expect.anything() }),
    ]);
    followed.isKnown = () => false;
    followed.ask = () => Promise.reject(new Error('nobody is asked'));
    expect((await standby.request(path)).status).toBe(200);
  });

  test('other reads of the leader are refused then', async () => {
    followed.ask = () => Promise.reject(new ServiceError('not_ready', 'the database is away'));
    expect((await standby.request('/operations/held')).status).toBe(503);
  });
});

test('the leader answers the first read of a client each hour, to record it', async () => {
  const own = await startTestStandby(
    leader,
    { ...usual, ask: (...asked) => followed.ask(...asked) },
    {
      seen: new ClientsSeen(systemClock),
    },
  );
  onTestFinished(() => own.api.close());
  const read = async () => (await own.request('/stacks/instances/')).status;
  expect([await read(), await read()]).toEqual([200, 200]);
  expect(seen).toEqual(['GET /stacks/instances/']);
  followed.ask = () => Promise.reject(new ServiceError('not_ready', 'the database is away'));
  const { status } = await own.request('/tree', { identity: leader.identities.proxy });
  expect(status).toBe(200);
});

describe('a forwarded request', () => {
  const shop = '/stacks/instances/shop';
  test.each<[name: string, path: string, ask: Ask]>([
    ['HEAD', '/operations/status', { method: 'HEAD' }],
    ['gzip', '/operations/status', { headers: { 'Accept-Encoding': 'gzip, br' } }],
    [
      'a packed body',
      shop,
      { ...JSON_BODY, headers: { ...JSON_BODY.headers, 'Content-Encoding': 'gzip' }, body: gzipSync('{}') },
    ],
    [
      'a body in chunks',
      shop,
      { ...JSON_BODY, headers: { ...JSON_BODY.headers, 'Transfer-Encoding': 'chunked' }, body: '{}' },
    ],
    [
      'an empty body in chunks',
      shop,
      { method: 'DELETE', headers: { ...JSON_BODY.headers, 'Transfer-Encoding': 'chunked' }, body: '' },
    ],
    ['a body that is no JSON', shop, { ...JSON_BODY, body: '{"a":1,"a":2}' }],
    [
      'another origin',
      shop,
      { ...JSON_BODY, headers: { ...JSON_BODY.headers, Origin: 'https://example.org' }, body: '{}' },
    ],
    ['another method', shop, { method: 'PUT' }],
    ['characters beyond ASCII', '/stacks/instances/%C3%BC/why', {}],
    ['a dry run', `${shop}?dry_run=true`, { ...JSON_BODY, body: '{}' }],
    ['an invalid commit', '/tree', { headers: { 'X-Treeline-Min-Commit': 'main' } }],
  ])('with %s is answered like a direct one', async (_name, path, ask) => {
    await askBoth(path, ask);
    await askBoth(path, { ...ask, identity: leader.identities.proxy });
  });

  test('reaches the leader with its origin, conditions, body and id', async () => {
    const headers = {
      ...JSON_BODY.headers,
      Host: 'localhost',
      Origin: 'https://localhost',
      'If-Match': '"abc.def", W/"x"',
      'If-None-Match': '*',
      'X-Request-Id': '00000000-0000-4000-8000-000000000000',
    };
    const body = JSON.stringify({ description: 'Grüße' });
    const reply = await standby.request(shop, { method: 'POST', headers, body });
    expect(reply.status).toBe(201);
    expect(reply.headers['x-request-id']).not.toBe(headers['X-Request-Id']);
    const order = leader.writer.orders.at(-1);
    expect(order).toMatchObject({
      requestId: reply.headers['x-request-id'],
      ifMatch: ['abc', 'x'],
      ifNoneMatch: ['*'],
    });
    expect(JSON.stringify(leader.writer.asked.at(-1))).toContain('Grüße');
    expect(seen).toEqual([`POST ${shop}`, 'refresh']);
  });

  test('has no unknown headers and no id of the client', async () => {
    const sent: object[] = [];
    followed.ask = (question, ...more) => {
      sent.push(question.headers);
      return usual.ask(question, ...more);
    };
    const id = '00000000-0000-4000-8000-000000000000';
    const reply = await standby.request('/operations/held', {
      headers: {
        Cookie: 'a=b',
        'X-Request-Id': id,
        'X-Forwarded-For': 'x',
        Accept: 'x/y',
        // RFC 9110, 7.6.1: these end here, and so does what `Connection` names.
        Connection: 'keep-alive, X-Own',
        'X-Own': 'x',
        'Keep-Alive': 'timeout=5',
        TE: 'trailers',
        // Only a replica sends these.
        'X-Treeline-Lag': '%7B%7D',
        'X-Treeline-Forwarded-By': 'x',
        'X-Treeline-Client-Certificate': 'x',
      },
    });
    expect(reply.headers['x-request-id']).not.toBe(id);
    expect(sent.map((headers) => Object.keys(headers).sort())).toEqual([
      ['accept', 'host', 'x-request-id', 'x-treeline-client-certificate', 'x-treeline-forwarded-by'],
    ]);
    const raw = new X509Certificate(leader.identities.administrator.cert).raw.toString('base64');
    expect(sent).toMatchObject([{ 'x-treeline-client-certificate': raw, 'x-treeline-forwarded-by': 'test-2' }]);
  });

  test('answered before its body was read leaves the connection usable', async () => {
    const body = JSON.stringify({ description: 'x'.repeat(900 * 1024) });
    const agent = keepAlive();
    onTestFinished(() => agent.destroy());
    for (let again = 0; again < 3; again += 1) {
      expect(
        (await standby.request(shop, { agent, method: 'POST', headers: { 'Content-Type': 'text/plain' }, body }))
          .status,
      ).toBe(415);
    }
    expect((await standby.request(shop, { agent })).status).toBe(200);
  });
});

test('a forwarded request is judged by the rights of the leader', async () => {
  const reader = createSampleReader();
  for (const [serial, client] of leader.reader.registry) reader.registry.set(serial, client);
  const late = await startTestStandby(leader, usual, { reader });
  const { serial } = leader.identities.administrator;
  onTestFinished(async () => {
    await late.api.close();
    leader.register(leader.identities.administrator, { role: 'administrator' });
  });
  leader.reader.registry.delete(serial);
  const before = leader.writer.asked.length;
  const refused = await late.request('/stacks/instances/shop', { ...JSON_BODY, body: '{}' });
  expect(refused).toMatchObject({ status: 403, body: { error: 'client_not_registered' } });
  expect(leader.writer.asked.length).toBe(before);
});

test('a forwarded wait ends on the leader when the proxy disconnects', async () => {
  const { wait } = leader.agent;
  onTestFinished(() => void Object.assign(leader.agent, { wait }));
  const began = Promise.withResolvers<AbortSignal>();
  leader.agent.wait = (_by, _ms, signal) => {
    began.resolve(signal);
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
  };
  const { key, cert } = leader.identities.proxy;
  const asked = get({ ...standby.server, host: '127.0.0.1', path: '/agent/actions?wait=30', key, cert, agent: false });
  asked.on('error', () => undefined);
  const signal = await began.promise;
  asked.destroy();
  await expect.poll(() => signal.aborted, { timeout: 10_000 }).toBe(true);
});

describe('a fault between replicas', () => {
  const write = { ...JSON_BODY, body: '{}' };
  test.each([
    ['not_ready', '5'],
    ['outcome_unknown', undefined],
  ] as const)('a write that ends with %s is 503, and reads are answered', async (error, retryAfter) => {
    followed.ask = () => Promise.reject(new ServiceError(error, 'in these words'));
    for (const path of ['/stacks/instances/shop', '/operations/resume', '/types/zone/']) {
      const reply = await standby.request(path, write);
      expect(reply).toMatchObject({ status: 503, body: { error, message: 'in these words', return_code: 503 } });
      expect(reply.headers['retry-after']).toBe(retryAfter);
    }
    const own = [
      '/stacks/instances/shop',
      '/hiera/all',
      '/operations/explain/shop-web',
      '/stacks/instances/shop/events',
    ];
    for (const path of own) expect((await standby.request(path)).status).toBe(200);
  });

  test('makes a write unknown that this replica does not show yet, except dry runs and claims', async () => {
    followed.refresh = () => Promise.reject(new StoreError('It is away'));
    const reply = await standby.request('/stacks/instances/shop', write);
    expect(reply).toMatchObject({
      status: 503,
      body: {
        error: 'outcome_unknown',
        message: `The leader has carried out request ${reply.headers['x-request-id']}, but this replica cannot show the result yet`,
      },
    });
    isLate = true;
    followed.refresh = () => new Promise(() => undefined);
    expect(await standby.request('/stacks/instances/shop', write)).toMatchObject({ status: 503 });
    expect((await standby.request('/stacks/instances/shop?dry_run=true', write)).status).toBe(201);
    const claim = { ...write, identity: leader.identities.proxy };
    expect((await standby.request(`/agent/actions/${ACTION.id}/claim`, claim)).status).toBe(200);
  });

  /** Has the replica ask another leader until the test is over. */
  async function ask(...to: Parameters<typeof linkTo>): Promise<void> {
    const other = await linkTo(...to);
    onTestFinished(other.close);
    followed.ask = (...question) => other.link.ask(...question);
  }

  test('makes a write unknown if the connection breaks, and repeats a read', async () => {
    await ask((request) => request.socket.destroy());
    const reply = await standby.request('/operations/resume', write);
    expect(reply).toMatchObject({ status: 503, body: { error: 'outcome_unknown' } });
    expect(JSON.stringify(reply.body)).toContain(`Treeline-Request-Id: ${reply.headers['x-request-id']}`);
    expect(await standby.request('/operations/held')).toMatchObject({ status: 503, body: { error: 'not_ready' } });
  });

  test.each<[name: string, message: string, to: Parameters<typeof linkTo>[1]]>([
    ['the leader does not know this replica', 'does not know the certificate of the replica', { isKnown: false }],
    ['another replica answers there', 'its certificate differs from the one in the database', { expected: 'AA:BB' }],
  ])('is 503 without an effect if %s', async (_name, message, to) => {
    const before = leader.writer.asked.length;
    await ask(leader.handler, to);
    const reply = await standby.request('/stacks/instances/shop', write);
    expect(reply).toMatchObject({ status: 503, body: { error: 'not_ready' } });
    expect(JSON.stringify(reply.body)).toContain(message);
    expect(leader.writer.asked.length).toBe(before);
  });

  test('lets a write wait for the next leader, but not a read', async () => {
    const looks = [false, false, false];
    await ask(leader.handler, { leads: async () => looks.shift() ?? true });
    expect(await standby.request('/operations/held')).toMatchObject({ status: 503 });
    const before = leader.writer.asked.length;
    expect((await standby.request('/stacks/instances/shop', write)).status).toBe(201);
    expect(leader.writer.asked.length).toBe(before + 1);
    await ask(leader.handler, { leads: async () => false });
    const reply = await standby.request('/stacks/instances/shop', write);
    expect(reply).toMatchObject({ status: 503, body: { message: expect.stringContaining('No replica leads') } });
  });

  test('never forwards a request twice', async () => {
    await ask(standby.handler);
    for (const asked of ['/operations/held', '/tree']) {
      const { status, body } = await standby.request(asked, { headers: { 'X-Treeline-Min-Commit': COMMIT } });
      expect({ status, body }).toMatchObject({
        status: 503,
        body: { message: expect.stringContaining('does not lead') },
      });
    }
  });

  test('only the listener for replicas accepts a client certificate in a header', async () => {
    const headers = {
      'X-Treeline-Client-Certificate': new X509Certificate(leader.identities.administrator.cert).raw.toString('base64'),
    };
    const { status } = await leader.request('/operations/clients', { headers, identity: stranger });
    expect(status).toBe(403);
  });
});

describe('a read of a replica that is behind', () => {
  beforeEach(() => {
    followed.lag = () => ({ reason: 'the remote cannot be reached', since: '2026-11-20T10:14:56.000Z' });
  });

  test('is answered by the leader, or here if no leader answers', async () => {
    expect((await standby.request('/tree')).status).toBe(200);
    expect(seen).toEqual(['GET /tree']);
    followed.ask = () => Promise.reject(new ServiceError('not_ready', 'No replica leads'));
    expect((await standby.request('/tree')).status).toBe(200);
    followed.isKnown = () => false;
    followed.ask = () => Promise.reject(new Error('nobody is asked'));
    expect((await standby.request('/tree')).status).toBe(200);
  });

  test('is answered here if the leader is silent for 5 s', async () => {
    isLate = true;
    const ends: AbortSignal[] = [];
    followed.ask = (_question, _body, gone) => {
      ends.push(gone);
      return new Promise(() => undefined);
    };
    expect((await standby.request('/tree')).status).toBe(200);
    expect(ends.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test('waits for the leader if it is a long poll', async () => {
    isLate = true;
    followed.ask = async (...question) => {
      await systemClock.nextTurn();
      return await usual.ask(...question);
    };
    expect((await standby.request('/hiera/shop-web?wait=1')).status).toBe(200);
    expect(seen).toEqual(['GET /hiera/shop-web?wait=1']);
  });
});

describe('a read that names a commit', () => {
  const ask = { headers: { 'X-Treeline-Min-Commit': COMMIT } };

  test('is answered by the leader if this replica does not show it yet', async () => {
    leader.commits.asked.length = 0;
    expect((await standby.request('/tree', ask)).status).toBe(200);
    expect(leader.commits.asked).toEqual([COMMIT]);
    expect(seen).toEqual(['GET /tree']);
  });

  test('is answered here if this replica shows it, with or without a leader', async () => {
    followed.shows = async () => true;
    expect((await standby.request('/tree', ask)).status).toBe(200);
    followed.isKnown = () => false;
    expect((await standby.request('/tree', ask)).status).toBe(200);
    expect(seen).toEqual([]);
  });

  test.each([
    ['invalid_input', 400],
    ['not_ready', 503],
  ] as const)('is answered as the leader does where that ends with %s', async (code, status) => {
    const { reached } = leader.commits;
    onTestFinished(() => {
      leader.commits.reached = reached;
    });
    leader.commits.reached = () => Promise.reject(new ServiceError(code, 'not there'));
    expect(await askBoth('/tree', ask)).toMatchObject({ status, body: { error: code, message: 'not there' } });
    expect((await askBoth('/tree', { ...ask, method: 'HEAD' })).status).toBe(status);
  });
});
