// Requests from replica to leader, on a real database: what is carried out, how often, and what the asking side is told where it fails.
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { createLog } from '../../../src/base/log.ts';
import type { ForwardedAnswer, ForwardedRequest } from '../../../src/model/forwarded-request.ts';
import { RequestInbox, type RequestInboxOptions } from '../../../src/store/postgres/request-inbox.ts';
import { LeaderRequests, type RequestLimits } from '../../../src/store/postgres/requests.ts';
import { Wakes } from '../../../src/store/postgres/wakes.ts';
import { type AtCommit, cutCommits, type PostgresServer, startPostgresServer } from '../../support/postgres-server.ts';

let server: PostgresServer;
let url: string;

beforeAll(async () => {
  server = await startPostgresServer();
  url = await server.create();
});
afterAll(() => server.remove());
beforeEach(async () => {
  await server.clear(url);
  await lead(1);
});

const LIMITS: RequestLimits = { takeMs: 10_000, answerMs: 10_000, pollMs: 20, awayMs: 300, openMax: 200 };
const NO_WAKES: Pick<Wakes, 'listen' | 'notify'> = { listen: () => () => undefined, notify: () => undefined };
const NEVER = new AbortController().signal;

function lead(fencing: number) {
  return server.run(`UPDATE treeline.state SET fencing = ${fencing}`, url);
}

function asking({
  at = url,
  wakes = NO_WAKES,
  clock = systemClock,
  ...limits
}: { at?: string; wakes?: typeof NO_WAKES; clock?: Clock } & Partial<RequestLimits> = {}) {
  const requests = new LeaderRequests({ url: at }, { wakes, replica: 'b', clock, limits: { ...LIMITS, ...limits } });
  onTestFinished(() => requests.close());
  return requests;
}

function answering(
  carryOut: RequestInboxOptions['carryOut'],
  { at = url, ...options }: { at?: string } & Partial<RequestInboxOptions> = {},
) {
  const inbox = new RequestInbox(
    { url: at },
    {
      ...{ wakes: NO_WAKES, fencing: 1, leads: () => true, carryOut, log: createLog('silent') },
      ...options,
      limits: { ...LIMITS, ...options.limits },
    },
  );
  onTestFinished(() => inbox.stop(0));
  return inbox;
}

function requestOf(fields: Partial<ForwardedRequest> = {}): ForwardedRequest {
  return {
    ...{
      id: randomUUID(),
      certificates: ['pem'],
      method: 'POST',
      target: '/tree?x=1',
      headers: { host: 'a' },
      body: null,
    },
    ...fields,
  };
}

/** Answers with what it got. */
async function echo(request: ForwardedRequest): Promise<ForwardedAnswer> {
  return { status: 201, headers: ['X-Id', request.id], body: request.body ?? new Uint8Array() };
}

async function never(_request: ForwardedRequest, signal: AbortSignal): Promise<ForwardedAnswer> {
  const { promise, reject } = Promise.withResolvers<ForwardedAnswer>();
  signal.addEventListener('abort', () => reject(new Error('gone')));
  return await promise;
}

const rows = () => server.run('SELECT id, taken_by, answer FROM treeline.requests', url);

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    if (await holds()) return;
    await setTimeout(10);
  }
  throw new Error('it does not come about');
}

test('a request comes to the leader as it was asked, and its answer comes back byte by byte', async () => {
  const body = Buffer.from([0, 255, 10, 92, 39]);
  const seen: ForwardedRequest[] = [];
  answering(async (request) => {
    seen.push(request);
    return await echo(request);
  });
  const request = requestOf({ body, headers: { 'if-match': '"ü\\"' } });
  const answer = await asking().send(request, NEVER);
  expect(answer).toEqual({ status: 201, headers: ['X-Id', request.id], body });
  expect(seen).toEqual([request]);
  await until(async () => (await rows()).length === 0);
});

test('wakes come at once, without a poll', async () => {
  const wakes = [new Wakes({ url }), new Wakes({ url })] as const;
  onTestFinished(async () => void (await Promise.all(wakes.map((each) => each.close()))));
  const isConnected = Promise.all(
    wakes.map((each) => new Promise<void>((resolve) => void each.listen('lease', () => resolve()))),
  );
  answering(echo, { wakes: wakes[0], limits: { pollMs: 60_000 } });
  const requests = asking({ wakes: wakes[1], pollMs: 60_000 });
  await isConnected;
  for (let count = 0; count < 3; count++) {
    expect(await requests.send(requestOf(), NEVER)).toMatchObject({ status: 201 });
  }
});

describe('where nobody leads', () => {
  test('a request is not carried out later, and the client may ask again', async () => {
    const request = requestOf();
    const asked = asking({ takeMs: 50 }).send(request, NEVER);
    await expect(asked).rejects.toMatchObject({
      code: 'not_ready',
      message: expect.stringMatching(
        /^No replica leads, or the leader has taken no request for 0\.05 s: .*Nothing was done; ask again$/,
      ),
    });
    let count = 0;
    answering(async (taken) => {
      count += 1;
      return await echo(taken);
    });
    await setTimeout(100);
    expect([count, await rows()]).toEqual([0, []]);
  });

  test('a request goes to the next leader within its time', async () => {
    const asked = asking().send(requestOf(), NEVER);
    await until(async () => (await rows()).length === 1);
    await lead(2);
    answering(echo, { fencing: 2 });
    expect(await asked).toMatchObject({ status: 201 });
  });

  test.each<[string, Partial<RequestInboxOptions>]>([
    ['whose lease is over', { leads: () => false }],
    ['that another has succeeded', { fencing: 0 }],
  ])('a process %s takes nothing', async (_name, options) => {
    let count = 0;
    answering(async (request) => {
      count += 1;
      return await echo(request);
    }, options);
    await expect(asking({ takeMs: 150 }).send(requestOf(), NEVER)).rejects.toMatchObject({ code: 'not_ready' });
    expect(count).toBe(0);
  });
});

describe('a leader that ends after it has taken a request', () => {
  test('has the next one answer that nobody knows what became of a change', async () => {
    let count = 0;
    const carryOut: RequestInboxOptions['carryOut'] = (request, signal) => {
      count += 1;
      return never(request, signal);
    };
    answering(carryOut);
    const request = requestOf();
    const asked = asking().send(request, NEVER);
    asked.catch(() => undefined);
    await until(() => count === 1);
    await lead(2);
    answering(carryOut, { fencing: 2 });
    await expect(asked).rejects.toMatchObject({
      code: 'outcome_unknown',
      message: expect.stringContaining(
        `Nobody knows whether the request was carried out: look before you ask again. The commit of a write has the line "Treeline-Request-Id: ${request.id}"`,
      ),
    });
    expect(count).toBe(1);
  });

  test('has the next one carry out what only reads', async () => {
    let count = 0;
    answering((request, signal) => {
      count += 1;
      return never(request, signal);
    });
    const asked = asking().send(requestOf({ method: 'GET' }), NEVER);
    await until(() => count === 1);
    await lead(2);
    answering(echo, { fencing: 2 });
    expect(await asked).toMatchObject({ status: 201 });
  });

  test('answers what it has done, as long as no other has taken over', async () => {
    const [begun, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const inbox = answering(async (request) => {
      begun.resolve();
      await done.promise;
      return await echo(request);
    });
    const requests = asking();
    const asked = requests.send(requestOf(), NEVER);
    await begun.promise;
    const stopped = inbox.stop(5_000);
    done.resolve();
    expect(await asked).toMatchObject({ status: 201 });
    await stopped;
    const late = requests.send(requestOf(), AbortSignal.timeout(100));
    expect(await late).toBeUndefined();
  });
});

test('a client that is gone ends what is done for it, and its row', async () => {
  const begun = Promise.withResolvers<AbortSignal>();
  answering((request, signal) => {
    begun.resolve(signal);
    return never(request, signal);
  });
  const gone = new AbortController();
  const asked = asking().send(requestOf({ method: 'GET' }), gone.signal);
  const signal = await begun.promise;
  gone.abort();
  expect(await asked).toBeUndefined();
  await until(() => signal.aborted);
  await until(async () => (await rows()).length === 0);
});

test('a row that is no request ends no leader: the others are answered', async () => {
  answering(echo);
  const soon = "now() + interval '10 s'";
  await server.run(
    `INSERT INTO treeline.requests (id, asker, replica, is_read, request, take_until, answer_until)
     VALUES (gen_random_uuid(), gen_random_uuid(), 'b', true, 'none', ${soon}, ${soon})`,
    url,
  );
  await until(async () => (await rows())[0]?.answer === '');
  expect(await asking().send(requestOf(), NEVER)).toMatchObject({ status: 201 });
});

test('an answer that fails is one of which nobody knows', async () => {
  answering(() => Promise.reject(new Error('half an answer')));
  await expect(asking().send(requestOf(), NEVER)).rejects.toMatchObject({ code: 'outcome_unknown' });
});

describe('rows that the database has lost', () => {
  test.each([
    ['POST', 'reject'],
    ['GET', 'resolve'],
  ])('of a %s have it %s', async (method, end) => {
    const asked = asking().send(requestOf({ method }), NEVER);
    // It may be found before the statement below is confirmed.
    asked.catch(() => undefined);
    await until(async () => (await rows()).length === 1);
    await server.run('DELETE FROM treeline.requests', url);
    if (end === 'reject') {
      await expect(asked).rejects.toMatchObject({ code: 'outcome_unknown' });
      return;
    }
    await until(async () => (await rows()).length === 1);
    answering(echo);
    expect(await asked).toMatchObject({ status: 201 });
  });
});

describe('limits', () => {
  test('so many requests wait at once, and the others are told so', async () => {
    const requests = asking({ openMax: 2 });
    const asked = [requests.send(requestOf(), NEVER), requests.send(requestOf(), NEVER)];
    await expect(requests.send(requestOf(), NEVER)).rejects.toMatchObject({
      code: 'not_ready',
      message: 'Too many requests wait for the leader. Nothing was done; ask again',
    });
    answering(echo);
    for (const each of asked) expect(await each).toMatchObject({ status: 201 });
  });

  test('a leader takes so many at once, and the others when it has answered', async () => {
    let [now, most] = [0, 0];
    answering(
      async (request) => {
        now += 1;
        most = Math.max(most, now);
        await until(() => most === 3);
        await setTimeout(5);
        now -= 1;
        return await echo(request);
      },
      { limits: { openMax: 3 } },
    );
    const requests = asking();
    await Promise.all(Array.from({ length: 12 }, () => requests.send(requestOf(), NEVER)));
    expect(most).toBe(3);
  });

  test('a leader that does not answer in time is told to the client', async () => {
    const begun = Promise.withResolvers<void>();
    answering((request, signal) => {
      begun.resolve();
      return never(request, signal);
    });
    let passedMs = 0;
    const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passedMs };
    const asked = asking({ clock }).send(requestOf(), NEVER);
    asked.catch(() => undefined);
    await begun.promise;
    passedMs = LIMITS.takeMs + LIMITS.answerMs;
    await expect(asked).rejects.toMatchObject({
      code: 'outcome_unknown',
      message: expect.stringMatching(/^The leader has not answered in time\. Nobody knows/),
    });
  });

  test('rows that nobody fetches are removed', async () => {
    await server.run(
      `INSERT INTO treeline.requests (id, asker, replica, is_read, request, take_until, answer_until)
       VALUES (gen_random_uuid(), gen_random_uuid(), 'x', true, '{}', now() - interval '1 hour', now() - interval '1 hour')`,
      url,
    );
    answering(echo);
    await until(async () => (await rows()).length === 0);
  });

  test('a replica that stops tells its clients', async () => {
    const requests = asking();
    const asked = requests.send(requestOf({ method: 'GET' }), NEVER);
    await until(async () => (await rows()).length === 1);
    const closed = requests.close();
    await expect(asked).rejects.toMatchObject({
      code: 'not_ready',
      message: expect.stringMatching(/^This replica is stopping\./),
    });
    await closed;
    expect(await rows()).toEqual([]);
    await expect(requests.send(requestOf(), NEVER)).rejects.toMatchObject({ code: 'not_ready' });
  });
});

describe('a replica that stops', () => {
  const STOPPING = { code: 'not_ready', message: 'This replica is stopping. Nothing was done; ask again' };

  test('takes back what no leader has taken, and refuses what only reads', async () => {
    const requests = asking();
    const asked = ['POST', 'GET'].map((method) => requests.send(requestOf({ method }), NEVER));
    const refused = Promise.all(asked.map((each) => expect(each).rejects.toMatchObject(STOPPING)));
    await until(async () => (await rows()).length === 2);
    await requests.stop(60_000);
    await refused;
    await expect(requests.send(requestOf(), NEVER)).rejects.toMatchObject(STOPPING);
    await until(async () => (await rows()).length === 0);
  });

  test('waits for the answer to a change that a leader has begun', async () => {
    const [begun, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    answering(async (request) => {
      begun.resolve();
      await done.promise;
      return await echo(request);
    });
    const requests = asking();
    const asked = requests.send(requestOf(), NEVER);
    await begun.promise;
    const stopped = requests.stop(60_000);
    done.resolve();
    expect(await asked).toMatchObject({ status: 201 });
    await stopped;
  });

  test('says that nobody knows of it where the leader does not answer in time', async () => {
    const begun = Promise.withResolvers<void>();
    answering((request, signal) => {
      begun.resolve();
      return never(request, signal);
    });
    const requests = asking();
    const refused = expect(requests.send(requestOf(), NEVER)).rejects.toMatchObject({ code: 'outcome_unknown' });
    await begun.promise;
    await requests.stop(50);
    await refused;
  });
});

test('nothing is carried out twice, with lines that break at commits and leaders that follow one another', async () => {
  const next = { asking: 'pass' as AtCommit, answering: 'pass' as AtCommit };
  const lines = {
    asking: await cutCommits(url, {
      get atCommit() {
        return next.asking;
      },
      set atCommit(at) {
        next.asking = at;
      },
    }),
    answering: await cutCommits(url, {
      get atCommit() {
        return next.answering;
      },
      set atCommit(at) {
        next.answering = at;
      },
    }),
  };
  const carried = new Map<string, number>();
  const carryOut: RequestInboxOptions['carryOut'] = async (request) => {
    carried.set(request.id, (carried.get(request.id) ?? 0) + 1);
    await setTimeout(3);
    return await echo(request);
  };
  let fencing = 1;
  let inbox = answering(carryOut, { at: lines.answering, fencing });
  const requests = asking({ at: lines.asking, awayMs: 5_000 });
  let isOver = false;
  const told: { readonly id: string; readonly code: string | undefined }[] = [];
  const clients = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      const request = requestOf();
      const code = await requests.send(request, NEVER).then(
        () => undefined,
        (error: { code: string }) => error.code,
      );
      told.push({ id: request.id, code });
    }
  });
  for (let turn = 0; turn < 24 || told.length < 60; turn++) {
    await setTimeout(40);
    next[turn % 2 === 0 ? 'asking' : 'answering'] = turn % 4 < 2 ? 'cut after' : 'cut before';
    if (turn % 6 !== 5) continue;
    fencing += 1;
    await lead(fencing);
    const before = inbox;
    inbox = answering(carryOut, { at: lines.answering, fencing });
    await before.stop(0);
  }
  isOver = true;
  await Promise.all(clients);
  expect(Math.max(...carried.values())).toBe(1);
  for (const { id, code } of told) {
    if (code === undefined) expect(carried.get(id)).toBe(1);
    else if (code === 'not_ready') expect(carried.get(id)).toBeUndefined();
    else expect(code).toBe('outcome_unknown');
  }
});

describe('with the database away', () => {
  test('what was not asked yet fails at once, what was asked after a while, and later all is well', async () => {
    const away = { atCommit: 'pass' as AtCommit, isAway: false };
    const line = await cutCommits(url, away);
    const requests = asking({ at: line });
    const asked = requests.send(requestOf(), NEVER);
    await until(async () => (await rows()).length === 1);
    Object.assign(away, { atCommit: 'cut before', isAway: true });
    await expect(asked).rejects.toMatchObject({ code: 'outcome_unknown' });
    await expect(requests.send(requestOf(), NEVER)).rejects.toMatchObject({
      code: 'not_ready',
      message: expect.stringMatching(/^The database "t\d+" at 127\.0\.0\.1:\d+ .* Nothing was done; ask again$/),
    });
    away.isAway = false;
    answering(echo);
    expect(await requests.send(requestOf(), NEVER)).toMatchObject({ status: 201 });
  });
});
