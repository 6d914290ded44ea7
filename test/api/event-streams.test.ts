// The stream of events over real TLS: what is sent to whom, from where, and when it ends. docs/rest.md, GET /events.
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Credential } from '../../src/base/development-pki.ts';
import type { NewEvent } from '../../src/model/instance-event.ts';
import type { EventView, ListedEvents } from '../../src/service/answers.ts';
import { type ReadStream, readStream } from '../support/event-stream.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { COMMIT } from '../support/sample-reader.ts';
import { startTestApi, startTestStandby, type TestApi } from '../support/test-api.ts';

/** So long is gathered, and much longer than a turn. */
const GATHER_MS = 20;
const BEAT_MS = 15_000;

class Scene {
  readonly api: TestApi;
  readonly clock: ManualClock;

  private constructor(api: TestApi, clock: ManualClock) {
    this.api = api;
    this.clock = clock;
  }

  static async start(): Promise<Scene> {
    const clock = new ManualClock(Date.now());
    const api = await startTestApi(clock);
    onTestFinished(() => {
      api.sample.streams.close();
      return api.api.close();
    });
    return new Scene(api, clock);
  }

  async record(...events: readonly Partial<NewEvent>[]): Promise<void> {
    const time = new Date(this.clock.now()).toISOString();
    const usual = { instance: 'shop', time, resource: 'web-1', from: null, to: 'done', reason: '', commit: null };
    await this.api.sample.ledger.recordEvents(events.map((event) => ({ ...usual, client: null, ...event })));
  }

  read(path = '/events', { identity = this.api.identities.administrator, headers = {} } = {}): Promise<ReadStream> {
    return readStream(this.api.server, identity, path, headers);
  }

  /** Lets time pass until a condition holds that needs no longer than what is gathered. */
  async until(isSo: () => boolean): Promise<void> {
    await expect
      .poll(
        () => {
          this.clock.advance(GATHER_MS);
          return isSo();
        },
        { interval: 5, timeout: 10_000 },
      )
      .toBe(true);
  }

  async reasons(stream: ReadStream, count: number): Promise<readonly string[]> {
    await this.until(() => stream.data('instance').length >= count);
    return stream.data('instance').map((event) => (event as EventView).reason);
  }
}

test('a stream sends new events in the order of their ids', async () => {
  const scene = await Scene.start();
  await scene.record({ reason: 'before' });
  const stream = await scene.read();
  expect(stream.status).toBe(200);
  expect(stream.headers).toMatchObject({ 'content-type': 'text/event-stream; charset=utf-8' });
  await scene.record({ reason: 'one' }, { reason: 'a\nb ä', instance: 'mail', client: 'A1' });
  await scene.record({ reason: 'all', instance: '*', resource: null });
  expect(await scene.reasons(stream, 3)).toEqual(['one', 'a\nb ä', 'all']);
  const [begin, ...rest] = stream.messages;
  expect(begin).toEqual({ retry: '2000', id: expect.any(String) });
  expect(rest.map(({ event }) => event)).toEqual(['commit', 'instance', 'instance', 'instance']);
  expect(rest[0]).toEqual({ event: 'commit', data: { commit: COMMIT } });
  const { events } = await scene.api.sample.ledger.listEvents({ after: Number(begin?.id), limit: 9 });
  expect(rest.slice(1).map(({ id }) => Number(id))).toEqual(events.map(({ event }) => event.id));
  expect(rest[2]?.data).toEqual({ ...events[1]?.event, instance: 'mail' });
  expect(rest[3]?.data).toMatchObject({ instance: null });
});

describe('a client that reconnects', () => {
  test('gets all missed events once', async () => {
    const scene = await Scene.start();
    const reasons = Array.from({ length: 450 }, (_, index) => `${index} ${'x'.repeat(500)}`);
    await scene.record(...reasons.map((reason) => ({ reason })));
    const { events } = await scene.api.sample.ledger.listEvents({ after: 0, limit: 1_000 });
    const id = String(events[49]?.event.id);
    const [byHeader, byQuery] = await Promise.all([
      // What it has read since counts more than the address that it began with.
      scene.read('/events?after=0', { headers: { 'Last-Event-ID': id } }),
      scene.read(`/events?after=${id}`),
    ]);
    expect(await scene.reasons(byHeader, 400)).toEqual(reasons.slice(50));
    expect(await scene.reasons(byQuery, 400)).toEqual(reasons.slice(50));
    await scene.record({ reason: 'later' });
    expect((await scene.reasons(byHeader, 401)).at(-1)).toBe('later');
  });

  test('gets one gap event if its events are no longer kept', async () => {
    const scene = await Scene.start();
    // More than a page: what is missing begins behind them.
    const early = Array.from({ length: 150 }, (_, index) => `early ${index}`);
    await scene.record(...early.map((reason) => ({ instance: 'mail', reason })));
    await scene.record(...Array.from({ length: 5_200 }, (_, index) => ({ reason: `${index}` })));
    const all = await scene.read('/events?after=5');
    expect((await scene.reasons(all, 1_150)).slice(0, 151)).toEqual([...early, '4200']);
    expect(all.data('gap')).toEqual([{ after: 5 }]);
    const own = await scene.read('/events?after=5&instance=mail');
    expect(await scene.reasons(own, 150)).toEqual(early);
    expect(own.data('gap')).toEqual([]);
  });
});

test('an impossible id is a gap, and an id that another replica may have sent is not', async () => {
  const scene = await Scene.start();
  await scene.record({ reason: 'before' });
  const [far, near] = [scene.clock.now() + 3_600_000, scene.clock.now() + 60_000];
  const ahead = await scene.read('/events', { headers: { 'Last-Event-ID': String(far) } });
  const behind = await scene.read(`/events?after=${near}`);
  await scene.record({ reason: 'next' });
  expect(await scene.reasons(ahead, 1)).toEqual(['next']);
  expect(ahead.data('gap')).toEqual([{ after: far }]);
  expect(Number(ahead.messages[0]?.id)).toBeLessThan(near);
  scene.clock.advance(120_000);
  await scene.record({ reason: 'later' });
  expect(await scene.reasons(behind, 1)).toEqual(['later']);
  expect(behind.data('gap')).toEqual([]);
});

test('a proxy sees no other client in events, and a limited client only its own events', async () => {
  const scene = await Scene.start();
  const { proxy, administrator, 'automation-endpoint': limited } = scene.api.identities;
  scene.api.register(limited, { role: 'automation-endpoint', reads: 'site' });
  const [own, other] = [await scene.read('/events', { identity: proxy }), await scene.read()];
  const ofSite = await scene.read('/events?instance=shop&instance=*', { identity: limited });
  for (const { serial } of [proxy, administrator]) await scene.record({ client: serial, clientName: 'Ann' });
  await Promise.all([scene.reasons(own, 2), scene.reasons(other, 2)]);
  const clients = (stream: ReadStream): unknown[] =>
    (stream.data('instance') as EventView[]).map(({ client, clientName }) => [client, clientName]);
  expect(clients(own)).toEqual([
    [proxy.serial, 'Ann'],
    [null, null],
  ]);
  expect(clients(other)).toEqual([
    [proxy.serial, 'Ann'],
    [administrator.serial, 'Ann'],
  ]);
  await scene.record({ instance: '*', resource: null, reason: 'all' });
  expect(await scene.reasons(ofSite, 1)).toEqual(['all']);
});

test('a stream has the events of named or all instances, and of followed commits', async () => {
  const scene = await Scene.start();
  const stream = await scene.read('/events?instance=shop&instance=mail');
  await scene.record({ reason: '1' }, { instance: 'other' }, { instance: 'mail', reason: '2' });
  await scene.record({ instance: '*', reason: '3' });
  expect(await scene.reasons(stream, 3)).toEqual(['1', '2', '3']);
  scene.api.sample.commit = 'b'.repeat(40);
  await scene.api.sample.ledger.commit([]);
  await scene.until(() => stream.data('commit').length === 2);
  expect(stream.data('commit')[1]).toEqual({ commit: 'b'.repeat(40) });
});

test('a stream sends a comment every 15 seconds', async () => {
  const scene = await Scene.start();
  const stream = await scene.read();
  await scene.until(() => stream.data('commit').length === 1);
  scene.clock.advance(BEAT_MS);
  await scene.until(() => stream.messages.some(({ comment }) => comment === true));
  expect(stream.isEnded()).toBe(false);
});

describe('a stream ends', () => {
  test.each(['removed', 'another role'])('for a client that is %s, before another event is sent', async (what) => {
    const scene = await Scene.start();
    const identity = scene.api.identities['automation-endpoint'];
    const stream = await scene.read('/events', { identity });
    await scene.until(() => stream.data('commit').length === 1);
    if (what === 'removed') scene.api.reader.registry.delete(identity.serial);
    else scene.api.register(identity, { role: 'proxy' });
    await scene.record({});
    await scene.until(() => stream.isEnded());
    expect(stream.data('instance')).toEqual([]);
  });

  test('for a client that has not read a page for 15 s', async () => {
    const { api, clock } = await Scene.start();
    const [by] = api.reader.registry.values();
    if (by === undefined) throw new Error('nobody is registered');
    const response = Object.assign(new EventEmitter(), {
      destroyed: false,
      writableEnded: false,
      writableNeedDrain: false,
      writeHead: () => response,
      write() {
        response.writableNeedDrain = true;
      },
      destroy() {
        response.destroyed = true;
        response.emit('close');
      },
    });
    let unread = 0;
    const opened = api.sample.streams.open({
      client: 'slow',
      after: 0,
      instances: undefined,
      scope: api.reader.scopeOf(by),
      response: response as unknown as ServerResponse,
      isAllowed: () => true,
      onUnread() {
        unread += 1;
      },
    });
    await expect.poll(() => response.writableNeedDrain).toBe(true);
    expect(unread).toBe(0);
    const isCutOff = (): boolean => {
      clock.advance(BEAT_MS);
      return response.destroyed;
    };
    await expect.poll(isCutOff).toBe(true);
    await opened;
    expect(unread).toBe(1);
  });

  test('when the replica stops, and no other starts', async () => {
    const scene = await Scene.start();
    const stream = await scene.read();
    scene.api.sample.streams.close();
    await expect.poll(() => stream.isEnded()).toBe(true);
    expect((await scene.api.request('/events')).status).toBe(503);
    await scene.api.api.close();
  });
});

test('a client has at most 100 streams at a time', async () => {
  const scene = await Scene.start();
  const streams = await Promise.all(Array.from({ length: 100 }, () => scene.read()));
  expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]));
  const { status, body, headers } = await scene.api.request('/events');
  expect({ status, body }).toMatchObject({ status: 429, body: { error: 'too_many_requests' } });
  expect(headers['retry-after']).toBeDefined();
  const identity: Credential = scene.api.identities.proxy;
  expect((await scene.read('/events', { identity })).status).toBe(200);
  streams[0]?.close();
  await expect.poll(async () => (await scene.read()).status).toBe(200);
});

test('a standby sends its own events without asking the leader', async () => {
  const scene = await Scene.start();
  const refuse = (): never => {
    throw new Error('the leader is asked');
  };
  const standby = await startTestStandby(scene.api, {
    isKnown: () => true,
    lag: () => undefined,
    refresh: refuse,
    ask: refuse,
    shows: async () => true,
  });
  onTestFinished(() => standby.api.close());
  const stream = await readStream(standby.server, scene.api.identities.administrator, '/events');
  await scene.record({ reason: 'seen' });
  expect(await scene.reasons(stream, 1)).toEqual(['seen']);
  expect(stream.headers['x-treeline-replica']).toBe('test-2');
  stream.close();
  await setImmediate();
});

test('pages of events of all or some instances name the instance of each event', async () => {
  const { api } = await Scene.start();
  const { status, body } = await api.request('/operations/events?after=2&limit=2');
  const { events, gap } = body as ListedEvents;
  expect({ status, gap }).toEqual({ status: 200, gap: false });
  expect(events.map(({ id, instance }) => [id, instance])).toEqual([
    [3, 'shop'],
    [4, 'shop'],
  ]);
  const others = await api.request('/operations/events?instance=mail&instance=web');
  expect(others.body).toEqual({ events: [], gap: true });
  const instances = Array.from({ length: 101 }, (_, index) => `instance=${index}`).join('&');
  for (const query of ['after=x', 'instance=', instances]) {
    for (const path of ['/events', '/operations/events']) {
      expect((await api.request(`${path}?${query}`)).status).toBe(400);
    }
  }
  expect((await api.request('/events', { headers: { 'Last-Event-ID': '-1' } })).status).toBe(400);
});
