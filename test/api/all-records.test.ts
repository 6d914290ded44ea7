// The answer with all records: computed in slices, and only what changed since the last one.
import { createServer, get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { answerAllRecords } from '../../src/api/all-records.ts';
import type { ExplainedRecord, NodeAtMoment, NodeRecord } from '../../src/model/record.ts';
import { withResult } from '../../src/model/steps.ts';
import { Shares } from '../../src/shares.ts';
import { listenInTest } from '../support/listen-in-test.ts';

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** Nodes whose records are computed, and how often they were. */
class Nodes {
  readonly computed: string[] = [];
  readonly #nodes = new Map<string, NodeAtMoment>();
  commit = 'a'.repeat(40);
  version = 0;
  found = 0;
  port = 0;

  set(name: string, record: NodeRecord, work: () => void = () => undefined): void {
    const recordOf = (): NodeRecord => {
      this.computed.push(name);
      work();
      return record;
    };
    const sources = [record, undefined] as const;
    const explained = (): ExplainedRecord => {
      this.computed.push(name);
      return { note: { value: String(record.note), type: 'common', name: 'global', overridden: [] } as never };
    };
    this.version += 1;
    this.#nodes.set(name, { name, sources, record: recordOf, explained, value: () => undefined });
  }

  remove(name: string): void {
    this.version += 1;
    this.#nodes.delete(name);
  }

  get list(): readonly NodeAtMoment[] {
    return [...this.#nodes.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Starts a server that answers with them, and with 500 where that fails. */
  async serve(): Promise<(headers?: Readonly<Record<string, string>>) => Promise<Answer>> {
    const all = answerAllRecords(
      {
        commit: () => this.commit,
        nodes: () => {
          this.found += 1;
          return withResult(this.list);
        },
        sources: { nodes: () => [this.commit, this.version] },
      },
      new Shares({ atOnce: 4, ofClient: 1, waitingOfClient: 100 }),
    );
    const server = createServer((request, response) => {
      all(request, response, { client: 'ab', isExplained: request.url === '/?info=true' }).catch(() =>
        response.writeHead(500).end(),
      );
    });
    this.port = await listenInTest(server);
    return (headers = {}) => ask(this.port, headers);
  }
}

interface Answer {
  readonly status: number | undefined;
  readonly etag: string;
  readonly commit: unknown;
  readonly length: number;
  readonly body: string;
}

function ask(port: number, headers: Readonly<Record<string, string>>): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  get({ host: '127.0.0.1', port, headers, agent: false }, async (incoming) => {
    const body = await text(incoming);
    const { etag, 'x-treeline-commit': commit, 'content-length': length } = incoming.headers;
    resolve({ status: incoming.statusCode, etag: String(etag), commit, length: Number(length), body });
  }).on('error', reject);
  return promise;
}

function manyNodes(count: number): Nodes {
  const nodes = new Nodes();
  for (let number = 0; number < count; number += 1) nodes.set(`web-${number}`, { port: number, note: 'Grüße' });
  return nodes;
}

it.each([0, 1, 199, 200, 201, 400, 1_000])(
  '%d records are one JSON object, in the order of the names',
  async (count) => {
    const answer = await (await manyNodes(count).serve())();
    const names = Array.from({ length: count }, (_, number) => `web-${number}`).sort();
    expect(Object.keys(JSON.parse(answer.body) as object)).toEqual(names);
    expect(answer.length).toBe(Buffer.byteLength(answer.body));
  },
);

it('computes only what changed since the last time, and sends the same as if it had computed all', async () => {
  const nodes = manyNodes(500);
  const get = await nodes.serve();
  const first = await get();
  expect(nodes.computed).toHaveLength(500);
  expect(await get()).toEqual(first);
  expect(nodes.computed).toHaveLength(500);
  nodes.set('web-7', { port: 70 });
  nodes.set('web-new', { port: 1 });
  nodes.remove('web-8');
  nodes.commit = 'b'.repeat(40);
  const second = await get();
  expect(nodes.computed.slice(500)).toEqual(['web-7', 'web-new']);
  expect(second.etag).not.toBe(first.etag);
  expect(second.commit).toBe(nodes.commit);
  expect(second).toEqual(await (await nodes.serve())());
});

it('looks at no node where neither the desired state nor a row changed', async () => {
  const nodes = manyNodes(500);
  const get = await nodes.serve();
  const first = await get();
  expect(await get()).toEqual(first);
  expect(nodes.found).toBe(1);
  nodes.commit = 'b'.repeat(40);
  expect(await get()).toEqual({ ...first, commit: nodes.commit });
  expect(nodes.found).toBe(2);
  expect(nodes.computed).toHaveLength(500);
});

it('answers 304 to who has it', async () => {
  const get = await manyNodes(10).serve();
  const { etag } = await get();
  expect(await get({ 'If-None-Match': etag })).toMatchObject({ status: 304, etag, body: '' });
});

it('computes once for all who ask at the same time', async () => {
  const nodes = manyNodes(1_000);
  const get = await nodes.serve();
  const answers = await Promise.all(Array.from({ length: 10 }, () => get()));
  expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
  expect(nodes.computed).toHaveLength(1_000);
});

it('computes each explained text once for clients that do not read', async () => {
  const nodes = new Nodes();
  for (let number = 0; number < 1_000; number += 1) nodes.set(`web-${number}`, { note: 'x'.repeat(20_000) });
  await nodes.serve();
  const ask = async (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const request = 'GET /?info=true HTTP/1.1\r\nHost: x\r\n\r\n';
    const socket = connect(nodes.port, '127.0.0.1', () => socket.write(request));
    sockets.push(socket);
    socket.once('readable', () => resolve());
    await promise;
  };
  // Nothing is kept: these have it in use.
  for (let count = 0; count < 3; count += 1) await ask();
  expect(nodes.computed).toHaveLength(1_000);
  nodes.set('web-7', { note: 'changed' });
  await ask();
  expect(nodes.computed.slice(1_000)).toEqual(['web-7']);
});

it('a client that goes away while it is sent to ends nothing else', async () => {
  const nodes = manyNodes(20_000);
  const get = await nodes.serve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const socket = connect(nodes.port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
  socket.once('data', () => socket.destroy());
  socket.once('close', () => resolve());
  await promise;
  expect((await get()).status).toBe(200);
});

it('lets others have their turn while it computes', async () => {
  const nodes = new Nodes();
  const stop = performance.now();
  for (let number = 0; number < 400; number += 1) {
    nodes.set(`web-${number}`, { port: number }, () => {
      const until = performance.now() + 0.5;
      while (performance.now() < until) Math.sqrt(stop);
    });
  }
  const get = await nodes.serve();
  let turns = 0;
  let isAnswered = false;
  const answer = get().then((got) => {
    isAnswered = true;
    return got;
  });
  while (nodes.computed.length === 0) await setImmediate();
  while (!isAnswered) {
    if (nodes.computed.length < 400) turns += 1;
    await setImmediate();
  }
  // 400 records of half a millisecond, 5 ms and at least 20 records a slice.
  expect(turns).toBeGreaterThanOrEqual(15);
  expect((await answer).status).toBe(200);
});

it('one that fails to compute fails alone', async () => {
  const nodes = manyNodes(3);
  let isBroken = true;
  nodes.set('web-x', { port: 1 }, () => {
    if (isBroken) throw new Error('broken');
  });
  const get = await nodes.serve();
  expect((await get()).status).toBe(500);
  isBroken = false;
  expect((await get()).status).toBe(200);
});
