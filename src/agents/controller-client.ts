// Sends requests to the controller over TLS with the certificate of a proxy or node. Keeps connections. After a change
// of a file, new requests use new connections, so that a renewed certificate needs no restart.
import { readFile, stat } from 'node:fs/promises';
import { Agent } from 'node:https';
import { type ControllerAnswer, sendToController } from '../base/controller-request.ts';
import { isMap, type JsonMap } from '../model/json.ts';
import { plainText } from '../providers/answer-json.ts';
import type { ProxySettings } from './load-proxy-settings.ts';

/** How long the controller may be silent, in addition to `waitMs`. */
const SILENCE_MS = 30_000;
/** The total time limit of a request, in addition to `waitMs`. It also ends an answer that arrives too slowly. */
const WHOLE_MS = 120_000;
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
const MESSAGE_LENGTH_MAX = 1_000;

/** The controller answered with an error. */
export class ControllerRefusal extends Error {
  override readonly name = 'ControllerRefusal';
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** A request to the controller. */
export interface SentRequest {
  readonly path: string;
  /** Omitted for a GET. */
  readonly body?: JsonMap;
  /** How long the controller may wait before it answers. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A body with its tag. */
export interface TaggedBody {
  readonly etag: string;
  readonly body: JsonMap;
}

/** A client of the REST interface of one controller. */
export class ControllerClient {
  readonly #options: Pick<ProxySettings, 'server' | 'tls'>;
  #agent: Agent | undefined;
  /** The modification times of the files of the agent. */
  #changed = '';

  constructor(options: Pick<ProxySettings, 'server' | 'tls'>) {
    this.#options = options;
  }

  /** Resolves with the answer. Throws ControllerRefusal for an error answer, and other errors if there is no answer. */
  async send(request: SentRequest): Promise<JsonMap> {
    const answer = await this.#ask(request);
    if (isMap(answer.body)) return answer.body;
    throw refusalIn(answer);
  }

  /** Resolves with the body at a path; undefined if it still has the tag `known`. Throws like {@link send}. */
  async read(request: SentRequest, known: string | undefined): Promise<TaggedBody | undefined> {
    const answer = await this.#ask({ ...request, headers: known === undefined ? {} : { 'if-none-match': known } });
    const { status, body, etag } = answer;
    if (status === 304 && known !== undefined) return undefined;
    if (isMap(body) && etag !== undefined) return { etag, body };
    throw refusalIn(answer);
  }

  async #ask({ path, body, waitMs = 0, signal, headers }: SentRequest): Promise<ControllerAnswer> {
    return await sendToController({
      url: new URL(`${this.#options.server}${path}`),
      tls: { agent: await this.#currentAgent() },
      body: body === undefined ? undefined : JSON.stringify(body),
      limits: { silenceMs: waitMs + SILENCE_MS, wholeMs: waitMs + WHOLE_MS, bytesMax: ANSWER_BYTES_MAX },
      signal,
      headers,
    });
  }

  /** Ends all connections. */
  close(): void {
    this.#agent?.destroy();
  }

  /** Resolves with an agent for the current files. Throws if they cannot be read. */
  async #currentAgent(): Promise<Agent> {
    const { cert, key, ca } = this.#options.tls;
    const files = [cert, key, ca];
    const changed = (await Promise.all(files.map((file) => stat(file)))).map(({ mtimeMs }) => mtimeMs).join(' ');
    if (this.#agent !== undefined && changed === this.#changed) return this.#agent;
    const [certText, keyText, caText] = await Promise.all(files.map((file) => readFile(file)));
    this.#agent = new Agent({ keepAlive: true, cert: certText, key: keyText, ca: caText });
    this.#changed = changed;
    return this.#agent;
  }
}

function refusalIn({ status, message }: ControllerAnswer): ControllerRefusal {
  return new ControllerRefusal(`the controller answered ${status}: ${plainText(message, MESSAGE_LENGTH_MAX)}`, status);
}
