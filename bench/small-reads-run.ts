// The process that sends a small read every 20 ms, answered or not, until its standard input ends; then it prints all
// times. If it waited for each answer, it would send fewer reads when they are slow.
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { monotonicMs } from './stall-probe.ts';

/** The request, as JSON in the first argument. */
export interface SmallReads {
  readonly port: number;
  readonly path: string;
  /** Files in PEM. */
  readonly ca: string;
  readonly key: string;
  readonly cert: string;
}

/** One read: JSON on a line of standard output. Milliseconds. */
export interface SmallRead {
  /** When it was sent, by the monotonic clock. */
  readonly at: number;
  readonly ms: number;
}

const EVERY_MS = 20;
const CONNECTIONS = 64;

const { port, path, ca, key, cert } = JSON.parse(process.argv[2] ?? '{}') as SmallReads;
const pem = { ca: readFileSync(ca), key: readFileSync(key), cert: readFileSync(cert) };
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
const reads: SmallRead[] = [];

function read(at = monotonicMs()): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const outgoing = request({ host: '127.0.0.1', port, path, agent, ...pem }, (incoming) => {
    if (incoming.statusCode !== 200) throw new Error(`${path} was answered with ${incoming.statusCode}`);
    incoming.resume();
    incoming.on('end', () => {
      reads.push({ at, ms: monotonicMs() - at });
      resolve();
    });
  });
  // The server may have ended an idle connection at the same moment.
  outgoing.on('error', (error) => {
    if (!outgoing.reusedSocket) throw error;
    resolve(read(at));
  });
  outgoing.end();
  return promise;
}

// Opens the connections first, to exclude handshakes from the measurement.
await Promise.all(Array.from({ length: CONNECTIONS }, () => read()));
reads.length = 0;
const timer = setInterval(() => void read(), EVERY_MS);
process.stdin.resume();
process.stdin.on('end', () => {
  clearInterval(timer);
  process.stdout.write(JSON.stringify(reads));
  agent.destroy();
});
