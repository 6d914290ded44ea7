// Long answers: whole at the client that reads, and held once for those that do not.
import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { connect, TLSSocket } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import type { AgentAction } from '../../src/agents/agent.ts';
import type { AnswerText } from '../../src/api/answer.ts';
import { clientTurns } from '../../src/api/client-turns.ts';
import { SentAnswers, sentAnswers } from '../../src/api/sent-answers.ts';
import type { InstanceView } from '../../src/service/read/instance-views.ts';
import { heldList } from '../support/held-list.ts';
import { ACTION } from '../support/sample-agent.ts';
import { INSTANCE } from '../support/sample-reader.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

const MIB = 2 ** 20;

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());

/** Instances of which a list is about as long. Each piece of it ends elsewhere in a character of four bytes. */
function listOf(bytes: number, text: string): readonly InstanceView[] {
  const description = text.repeat(Math.ceil(1_000 / text.length));
  const count = bytes / Buffer.byteLength(description);
  return Array.from({ length: count }, (_, index) => ({ ...INSTANCE, description: `${index}${description}` }));
}

async function openSilently(path: string): Promise<void> {
  const { key, cert } = api.identities.proxy;
  const socket = connect({ host: '127.0.0.1', ...api.server, key, cert });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'secureConnect');
  socket.pause().write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
}

it.each([
  ['/stacks/instances', 'kept'],
  ['/stacks/instances?', 'made each time'],
])('GET %s is whole, packed or not, %s', async (path) => {
  for (const text of ['x', '\u{1f600}', 'é\u{1f600}']) {
    api.reader.list = listOf(MIB, text);
    const plain = await api.request(path);
    expect(plain.body).toEqual(api.reader.list);
    expect(plain.headers['content-length']).toBe(String(plain.bytes.length));
    const packed = await api.request(path, { headers: { 'Accept-Encoding': 'gzip' } });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(packed.bytes)).toEqual(plain.bytes);
    const head = await api.request(path, { method: 'HEAD' });
    expect(head).toMatchObject({ status: 200, bytes: Buffer.alloc(0), headers: { etag: plain.headers.etag } });
  }
});

it.each([
  ['gzip', 'gzip'],
  ['br, gzip, deflate', 'gzip'],
  ['br;q=1.0, *;q=0.5', 'gzip'],
  ['*', 'gzip'],
  ['br', undefined],
  ['BR , deflate', undefined],
  ['gzip;q=0, *', undefined],
  ['br, *;q=0', undefined],
  ['', undefined],
])('is packed with gzip alone, whatever else is accepted: %s', async (accepted, encoding) => {
  api.reader.list = listOf(MIB, 'x');
  for (const path of ['/stacks/instances', '/stacks/instances?']) {
    const { status, headers } = await api.request(path, { headers: { 'Accept-Encoding': accepted } });
    expect([status, headers['content-encoding'], headers.vary]).toEqual([200, encoding, 'Accept-Encoding']);
  }
});

it.each([
  ['/stacks/instances', 'kept'],
  ['/stacks/instances?', 'made each time'],
])('clients of %s that do not read hold the text once, %s, and others are answered', async (path) => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  api.reader.list = listOf(8 * MIB, 'x');
  expect((await api.request(path)).bytes.length).toBeGreaterThan(8 * MIB);
  gc();
  const memory = (): number => process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  const before = memory();
  for (let count = 0; count < 10; count += 1) await openSilently(path);
  await pause(1_000);
  expect((await api.request('/tree')).status).toBe(200);
  // Lists that are being made are held for a moment.
  const held = (): number => {
    gc();
    return (memory() - before) / MIB;
  };
  await expect.poll(held, { timeout: 20_000, interval: 500 }).toBeLessThan(24);
});

it('a client that goes away while it is sent to ends nothing else', async () => {
  api.reader.list = listOf(8 * MIB, 'x');
  const { key, cert } = api.identities.proxy;
  const socket = connect({ host: '127.0.0.1', ...api.server, key, cert });
  await once(socket, 'secureConnect');
  socket.write('GET /stacks/instances HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'data');
  socket.destroy();
  await once(socket, 'close');
  expect((await api.request('/stacks/instances')).bytes.length).toBeGreaterThan(8 * MIB);
});

it.each([
  ['the actions of proxies', (index: number) => `GET /agent/actions?wait=0&limit=${index + 1}`],
  ['dry runs', () => 'DELETE /stacks/instances/shop?dry_run=true'],
] as const)('answers to %s that a client does not read take no more than its share', async (name, requestOf) => {
  const long = 'x'.repeat(8 * MIB);
  let made = 0;
  api.agent.actions = () => {
    made += 1;
    return [{ ...ACTION, record: { text: long } }];
  };
  api.writer.outcome = { commit: 'c'.repeat(40), branch: null, preview: { diff: long, servers: [] } };
  const { key, cert, serial } = name === 'dry runs' ? api.identities.administrator : api.identities.proxy;
  const sockets = await Promise.all(
    Array.from({ length: 16 }, async (_, index) => {
      const socket = connect({ host: '127.0.0.1', ...api.server, key, cert });
      onTestFinished(() => void socket.destroy());
      await once(socket, 'secureConnect');
      socket.pause().write(`${requestOf(index)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      return socket;
    }),
  );
  await expect.poll(() => made + api.writer.asked.length, { timeout: 20_000 }).toBe(16);
  expect((await api.request('/tree')).status).toBe(200);
  const received = await Promise.all(sockets.map((socket) => buffer(socket).catch(() => Buffer.alloc(0))));
  const whole = received.filter(({ length }) => length > 8 * MIB).length;
  const closed = api.lines
    .map((line) => JSON.parse(line))
    .filter(({ reason }) => reason === 'answers that it does not read');
  expect(closed).toContainEqual(expect.objectContaining({ msg: 'a client is over its share', serial }));
  // 64 MiB of one client.
  expect(whole).toBeGreaterThan(0);
  expect(whole).toBeLessThan(8);
});

it('an action of a proxy is written as JSON once', async () => {
  let written = 0;
  const record = {
    toJSON() {
      written += 1;
      return { name: 'x' };
    },
  };
  api.agent.actions = () => [1, 2, 3].map(() => ({ ...ACTION, record }) as unknown as AgentAction);
  const { body } = await api.request('/agent/actions?wait=0', { identity: api.identities.proxy });
  expect(body).toMatchObject({ actions: [1, 2, 3].map(() => ({ record: { name: 'x' } })) });
  expect(written).toBe(3);
});

it.each([
  ['/stacks/instances?', 'instances'],
  ['/hiera/all?info=true', 'nodes'],
] as const)('%s is made for nobody who went away while it waited for its turn', async (path, name) => {
  const { reader } = api;
  let asked = 0;
  let isHeld = true;
  const { [name]: original } = reader;
  onTestFinished(() => void Object.assign(reader, { [name]: original }));
  const ask = () => {
    asked += 1;
    return heldList<unknown>(original(), () => isHeld);
  };
  Object.assign(reader, { [name]: ask });
  const first = api.request(path);
  const { key, cert } = api.identities.proxy;
  for (let count = 0; count < 5; count += 1) {
    const socket = connect({ host: '127.0.0.1', ...api.server, key, cert });
    await once(socket, 'secureConnect');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await pause(50);
    socket.destroy();
  }
  const last = api.request(path);
  await pause(100);
  isHeld = false;
  expect([(await first).status, (await last).status]).toEqual([200, 200]);
  expect(asked).toBe(2);
});

/** An answer in pieces that counts as so many bytes. */
function answerOf(bytes: number): AnswerText {
  return { pieces: ['x', 'y', 'z'], bytes };
}

/** A response whose client does not read. */
class UnreadResponse extends EventEmitter {
  readonly req = { socket: {} };
  readonly isPacked: boolean;
  destroyed = false;

  constructor(isPacked = false) {
    super();
    this.isPacked = isPacked;
  }

  hasHeader(name: string): boolean {
    return this.isPacked && name === 'Content-Encoding';
  }

  write(): boolean {
    return false;
  }

  readonly writableHighWaterMark = 64 * 1024;

  /** It has no other way to end than to be closed. */
  end(): void {
    this.emit('end');
  }

  closings = 0;

  destroy(): void {
    this.closings += 1;
    this.destroyed = true;
    this.emit('close');
  }
}

it('clients that read nothing are closed before answers of many moments take all memory, and those that read are not', async () => {
  const answers = new SentAnswers({ bytes: 10, bytesOfClient: 10, bytesOfConnection: 0, bytesOfPacker: 0 });
  const [a, b, c, large] = [answerOf(4), answerOf(5), answerOf(4), answerOf(11)];
  const responses: UnreadResponse[] = [];
  const ends: Promise<void>[] = [];
  async function send(answer: AnswerText): Promise<readonly boolean[]> {
    const response = new UnreadResponse();
    responses.push(response);
    ends.push(answers.send(response as unknown as ServerResponse, 'ab', answer));
    await pause(1);
    return responses.map(({ destroyed }) => destroyed);
  }
  expect([await send(a), await send(b)]).toEqual([[false], [false, false]]);
  responses[0]?.emit('drain');
  await pause(1);
  expect(await send(c)).toEqual([false, true, false]);
  expect(await send(c)).toEqual([false, true, false, false]);
  expect(await send(large)).toEqual([true, true, true, true, false]);
  responses[4]?.destroy();
  await Promise.all(ends);
});

it('a client that reads nothing loses its own connections, and no other client one of its', async () => {
  const answers = new SentAnswers({ bytes: 100, bytesOfClient: 20, bytesOfConnection: 0, bytesOfPacker: 0 });
  const sent: { readonly client: string; readonly response: UnreadResponse }[] = [];
  const ends: Promise<void>[] = [];
  function send(client: string, bytes: number): void {
    const response = new UnreadResponse();
    sent.push({ client, response });
    ends.push(answers.send(response as unknown as ServerResponse, client, answerOf(bytes)));
  }
  const openOf = (client: string): number =>
    sent.filter((each) => each.client === client && !each.response.destroyed).length;
  send('other', 15);
  for (let count = 0; count < 50; count += 1) send('low', 9);
  // Each of the 48 once: the log says how many there were.
  expect(sent.reduce((sum, { response }) => sum + response.closings, 0)).toBe(48);
  await pause(1);
  expect([openOf('other'), openOf('low')]).toEqual([1, 2]);
  // An answer that is larger than the share of its client is sent alone.
  send('other', 50);
  await pause(1);
  expect([openOf('other'), openOf('low')]).toEqual([1, 2]);
  for (const { response } of sent) response.destroy();
  await Promise.all(ends);
});

it.each([
  ['plain', false, { bytesOfConnection: 4, bytesOfPacker: 11 }],
  ['packed', true, { bytesOfConnection: 1, bytesOfPacker: 3 }],
])('connections that are sent the same answer %s count for what each holds of it', async (_how, isPacked, held) => {
  const answers = new SentAnswers({ bytes: 100, bytesOfClient: 20, ...held });
  const answer = answerOf(5);
  const responses = Array.from({ length: 10 }, () => new UnreadResponse(isPacked));
  const ends = responses.map((response) => {
    return answers.send(response as unknown as ServerResponse, 'low', answer);
  });
  await pause(1);
  // (20 - 5) / 4
  expect(responses.map(({ destroyed }) => destroyed)).toEqual([...Array(7).fill(true), false, false, false]);
  for (const response of responses) response.destroy();
  await Promise.all(ends);
});

it.each([
  // The text, and as bytes and encrypted.
  ['plain', 'x'.repeat(8 * 1024), false, 24],
  ['packed', 'x'.repeat(8 * 1024), true, 24],
  ['packed in more than one go', 'x'.repeat(96 * 1024), true, 3 * 96 + 100],
] as const)('short answers count too, until they are read: %s', async (_how, text, isPacked, kibibytes) => {
  const share = 4 * kibibytes * 1024;
  const limits = { bytes: 10 * MIB, bytesOfClient: share, bytesOfConnection: MIB, bytesOfPacker: 100 * 1024 };
  const answers = new SentAnswers(limits);
  const ends: Promise<void>[] = [];
  function send(): UnreadResponse {
    const response = new UnreadResponse(isPacked);
    const answer = { pieces: [text], bytes: text.length };
    ends.push(answers.send(response as unknown as ServerResponse, 'low', answer));
    return response;
  }
  const first = Array.from({ length: 10 }, send);
  expect(first.map(({ destroyed }) => destroyed)).toEqual([...Array(6).fill(true), ...Array(4).fill(false)]);
  // Its client has read it.
  first[9]?.emit('close');
  await pause(1);
  const next = send();
  expect([...first.slice(6), next].map(({ destroyed }) => destroyed)).toEqual(Array(5).fill(false));
  send();
  expect([...first.slice(6), next].map(({ destroyed }) => destroyed)).toEqual([true, false, false, false, false]);
  for (const response of [...first, next]) response.emit('close');
  await Promise.all(ends.slice(0, -1));
});

it('an answer for a client that is gone is not counted', async () => {
  const answers = new SentAnswers({ bytes: 10, bytesOfClient: 10, bytesOfConnection: 0, bytesOfPacker: 0 });
  const gone = new UnreadResponse();
  gone.destroy();
  await answers.send(gone as unknown as ServerResponse, 'low', answerOf(9));
  const response = new UnreadResponse();
  const end = answers.send(response as unknown as ServerResponse, 'low', answerOf(9));
  expect([gone.closings, response.destroyed]).toEqual([1, false]);
  response.destroy();
  await end;
});

it.each([
  ['plain', undefined],
  ['packed', 'gzip'],
])('answers of 4 KiB and more are counted for who asks: %s', async (_how, accepted) => {
  const counted = vi.spyOn(sentAnswers, 'send');
  onTestFinished(() => counted.mockRestore());
  const headers = accepted === undefined ? {} : { 'Accept-Encoding': accepted };
  for (const path of ['/stacks/instances', '/stacks/instances?']) {
    api.reader.list = listOf(8 * 1024, 'x');
    expect((await api.request(path, { headers })).headers['content-encoding']).toBe(accepted);
    api.reader.list = [];
    expect((await api.request(path, { headers })).status).toBe(200);
  }
  expect(counted.mock.calls.map(([, , { pieces }]) => pieces.length)).toEqual([1, 1]);
  await Promise.all(counted.mock.results.map(({ value }) => value));
});

it('answers of one tag are in memory once, and count once', async () => {
  const answers = new SentAnswers({ bytes: 100, bytesOfClient: 20, bytesOfConnection: 1, bytesOfPacker: 0 });
  const responses = Array.from({ length: 5 }, () => new UnreadResponse());
  const ends = responses.map((response) => {
    return answers.send(response as unknown as ServerResponse, 'low', { ...answerOf(15), etag: '"same"' });
  });
  expect(responses.map(({ destroyed }) => destroyed)).toEqual(Array(5).fill(false));
  for (const response of responses) response.destroy();
  await Promise.all(ends);
});

// Node corks what is written, and encrypts it once the step is over: nothing would count how long that takes.
it('is encrypted in the turns of its client', async () => {
  api.reader.list = listOf(2 * MIB, 'x');
  let inTurn = 0;
  let isTurn = false;
  const take = clientTurns.inTurn.bind(clientTurns);
  const turns = vi.spyOn(clientTurns, 'inTurn').mockImplementation((client, work) =>
    take(client, () => {
      isTurn = true;
      work();
      isTurn = false;
    }),
  );
  const write = TLSSocket.prototype._write;
  const writes = vi.spyOn(TLSSocket.prototype, '_write').mockImplementation(function (this: TLSSocket, chunk, ...rest) {
    if (isTurn) inTurn += chunk.length;
    Reflect.apply(write, this, [chunk, ...rest]);
  });
  const { bytes } = await api.request('/stacks/instances');
  turns.mockRestore();
  writes.mockRestore();
  expect(bytes.length).toBeGreaterThan(2 * MIB);
  expect(inTurn).toBeGreaterThan(0.9 * bytes.length);
});
