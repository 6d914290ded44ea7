// The process that sends requests: many kept-alive connections, each of which repeats its request as soon as it has the
// answer. It only counts answers, so that the server is the bottleneck.
import { readFileSync } from 'node:fs';
import { connect, type TLSSocket } from 'node:tls';

/** The load: JSON in the first argument. */
export interface Load {
  readonly port: number;
  readonly path: string;
  /** Files in PEM. */
  readonly ca: string;
  readonly key: string;
  readonly cert: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly connections: number;
  readonly warmUpMs: number;
  readonly ms: number;
}

/** The result: JSON on standard output. */
export interface LoadResult {
  readonly answers: number;
  readonly seconds: number;
  /** The number of answers, including the warm-up. */
  readonly all: number;
  /** The size of one answer including its head, which is the same for all. */
  readonly bytes: number;
  readonly status: number;
}

const HEAD_END = '\r\n\r\n';

class Asker {
  readonly #socket: TLSSocket;
  readonly #request: Buffer;
  #head = '';
  /** The remaining bytes of the current answer; NaN before its head is complete. */
  #left = Number.NaN;
  #length = 0;
  answers = 0;
  bytes = 0;
  status = 0;

  constructor({ port, path, ca, key, cert, headers }: Load) {
    const lines = [
      `GET ${path} HTTP/1.1`,
      'Host: 127.0.0.1',
      ...Object.entries(headers).map((pair) => pair.join(': ')),
    ];
    this.#request = Buffer.from(lines.join('\r\n') + HEAD_END, 'latin1');
    const pem = { ca: readFileSync(ca), key: readFileSync(key), cert: readFileSync(cert) };
    this.#socket = connect({ host: '127.0.0.1', port, ...pem });
    this.#socket.setNoDelay(true);
    this.#socket.once('secureConnect', () => this.#socket.write(this.#request));
    this.#socket.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#socket.on('error', (error) => fail(`the connection failed: ${error.message}`));
    this.#socket.on('close', () => fail('the server ended a connection'));
  }

  stop(): void {
    this.#socket.removeAllListeners('close');
    this.#socket.destroy();
  }

  /** Reads one answer at a time, because the next request follows it. */
  #take(chunk: Buffer): void {
    if (Number.isNaN(this.#left)) {
      this.#head += chunk.toString('latin1');
      const end = this.#head.indexOf(HEAD_END);
      if (end === -1) return;
      this.status = Number(this.#head.slice(9, 12));
      const length = this.status === 304 ? 0 : Number(/\r\ncontent-length: *(\d+)/i.exec(this.#head)?.[1]);
      this.#length = end + HEAD_END.length + length;
      this.#left = this.#length - this.#head.length;
      this.#head = '';
    } else {
      this.#left -= chunk.length;
    }
    if (this.#left > 0) return;
    if (this.#left < 0 || Number.isNaN(this.#left)) fail('an answer has no length, or more bytes than it says');
    this.answers += 1;
    this.bytes = this.#length;
    this.#left = Number.NaN;
    this.#socket.write(this.#request);
  }
}

function fail(text: string): never {
  process.stderr.write(`${text}\n`);
  process.exit(1);
}

const load = JSON.parse(process.argv[2] ?? '{}') as Load;
const askers = Array.from({ length: load.connections }, () => new Asker(load));
const answered = (): number => askers.reduce((sum, { answers }) => sum + answers, 0);

setTimeout(() => {
  const before = answered();
  const began = performance.now();
  setTimeout(() => {
    const [first] = askers;
    const result: LoadResult = {
      answers: answered() - before,
      seconds: (performance.now() - began) / 1000,
      all: answered(),
      bytes: first?.bytes ?? 0,
      status: first?.status ?? 0,
    };
    for (const asker of askers) asker.stop();
    process.stdout.write(`${JSON.stringify(result)}\n`);
  }, load.ms);
}, load.warmUpMs);
