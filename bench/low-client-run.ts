// The process of one client that asks as often as it can, on many connections, until its standard input ends; then it prints
// how often it was answered with which status.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';

/** The requests, as JSON in the first argument. `{id}` in a path or header becomes 40 random hexadecimal digits each time. */
export interface LowClient {
  readonly port: number;
  /** Files in PEM. */
  readonly ca: string;
  readonly key: string;
  readonly cert: string;
  readonly connections: number;
  readonly path: string;
  readonly minCommit?: string;
  /** Of a POST. */
  readonly body?: string;
  /** Opens this many connections a second, asks once on each, and reads nothing. Left out: reads every answer and asks again. */
  readonly silentPerSecond?: number;
}

/** Answers by status. 0: the connection ended. */
export type LowAnswers = Readonly<Record<string, number>>;

const order = JSON.parse(process.argv[2] ?? '{}') as LowClient;
const pem = { ca: readFileSync(order.ca), key: readFileSync(order.key), cert: readFileSync(order.cert) };
const answers: Record<string, number> = {};
const isOver = false;
/** After an answer that tells to come later, less than it tells: a low client. */
const PAUSE_MS = 20;

function withId(text: string): string {
  return text.replace('{id}', () => randomBytes(20).toString('hex'));
}

async function askAgainAndAgain(): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  while (!isOver) {
    const status = await ask(agent);
    answers[status] = (answers[status] ?? 0) + 1;
    if (status === 0 || status === 429 || status === 503) await sleep(PAUSE_MS);
  }
  agent.destroy();
}

function ask(agent: Agent): Promise<number> {
  const { port, path, minCommit, body } = order;
  const { promise, resolve } = Promise.withResolvers<number>();
  const headers = {
    ...(minCommit === undefined ? {} : { 'X-Treeline-Min-Commit': withId(minCommit) }),
    ...(body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
  };
  const method = body === undefined ? 'GET' : 'POST';
  const outgoing = request(
    { host: '127.0.0.1', port, path: withId(path), method, headers, agent, ...pem },
    (incoming) => {
      incoming.resume();
      incoming.on('close', () => resolve(incoming.statusCode ?? 0));
    },
  );
  outgoing.on('error', () => resolve(0));
  outgoing.end(body);
  return promise;
}

async function askSilently(perSecond: number): Promise<void> {
  for (let opened = 0; !isOver && opened < order.connections; opened += 1) {
    const socket = connect({ host: '127.0.0.1', port: order.port, ...pem });
    socket.on('error', () => {
      answers[0] = (answers[0] ?? 0) + 1;
    });
    socket.once('secureConnect', () => socket.pause().write(`GET ${order.path} HTTP/1.1\r\nHost: low\r\n\r\n`));
    await sleep(1000 / perSecond);
  }
}

process.stdin.resume();
process.stdin.on('end', () => {
  process.stdout.write(JSON.stringify(answers), () => process.exit());
});
if (order.silentPerSecond !== undefined) await askSilently(order.silentPerSecond);
else await Promise.all(Array.from({ length: order.connections }, askAgainAndAgain));
