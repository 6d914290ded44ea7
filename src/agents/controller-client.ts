// Sends requests to the controller over TLS with the certificate of the proxy. Connections are kept; new ones use the
// files as they are then, so that a renewed certificate needs no restart.
import { readFile, stat } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { createSecureContext } from 'node:tls';
import type { Logger } from '../base/log.ts';
import { isMap, type JsonMap, parseJson } from '../model/json.ts';
import { plainText } from '../providers/plain-text.ts';
import type { ProxyTlsFiles } from './load-proxy-settings.ts';

/**
 * How long the controller may take to begin its answer, beyond what it waits for actions. Counted from the start of the
 * request: an idle time-out of the socket misses its first expiry while a TLS handshake has not ended.
 */
const BEGIN_MS = 30_000;
/** How long a request may take in all, beyond that: an answer that comes byte by byte is no answer. */
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
  /** Omitted: it is a GET. */
  readonly body?: JsonMap;
  /** How long the controller may wait before it answers. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

/** The controller, and who the proxy is there. */
export interface ControllerClientOptions {
  readonly server: string;
  readonly tls: ProxyTlsFiles;
  readonly log: Logger;
  /** How long the answer may take to begin, beyond what it waits for actions; default: 30 s. */
  readonly beginMs?: number;
  /** How long a request may take, beyond what it waits for actions; default: 2 minutes. */
  readonly wholeMs?: number;
}

/** A client of the REST interface of one controller. */
export class ControllerClient {
  readonly #options: ControllerClientOptions;
  #agent: Agent | undefined;
  /** The files as the agent has them. */
  #version = '';

  constructor(options: ControllerClientOptions) {
    this.#options = options;
  }

  /** Returns the answer. Throws ControllerRefusal if it is an error, and other errors if there is none. */
  async send({ path, body, waitMs = 0, signal }: SentRequest): Promise<JsonMap> {
    const agent = await this.#currentAgent();
    const { promise, resolve, reject } = Promise.withResolvers<JsonMap>();
    const { beginMs = BEGIN_MS, wholeMs = WHOLE_MS } = this.#options;
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers =
      text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    const method = body === undefined ? 'GET' : 'POST';
    const late = AbortSignal.timeout(waitMs + wholeMs);
    const options = {
      agent,
      method,
      headers,
      signal: signal === undefined ? late : AbortSignal.any([signal, late]),
    };
    const sent = request(new URL(`${this.#options.server}${path}`), options, (response) => {
      clearTimeout(silent);
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > ANSWER_BYTES_MAX) sent.destroy(new Error('the answer of the controller is too large'));
      });
      buffer(response)
        .then((bytes) => resolve(contentOf(response.statusCode ?? 0, bytes)), reject)
        .catch(reject);
    });
    const limitMs = waitMs + beginMs;
    const silent = setTimeout(() => sent.destroy(new Error(`no answer within ${limitMs / 1000} s`)), limitMs);
    sent.on('error', reject);
    sent.end(text);
    return await promise.finally(() => clearTimeout(silent));
  }

  /** Ends all connections. */
  close(): void {
    this.#agent?.destroy();
  }

  /** Throws if the files cannot be used and none were used before. */
  async #currentAgent(): Promise<Agent> {
    const { tls, log } = this.#options;
    try {
      const version = await versionOf(tls);
      if (this.#agent !== undefined && version === this.#version) return this.#agent;
      const [cert, key, ca] = await Promise.all([tls.cert, tls.key, tls.ca].map((file) => readFile(file)));
      const material = { cert, key, ca };
      // Throws where they do not fit together, as in the middle of a renewal.
      createSecureContext(material);
      const before = this.#agent;
      this.#agent = new Agent({ keepAlive: true, ...material });
      this.#version = version;
      if (before !== undefined) log.info('the certificate has changed; new connections use it');
      // Requests under way keep their connections.
      for (const socket of Object.values(before?.freeSockets ?? {}).flat()) socket?.destroy();
      return this.#agent;
    } catch (error) {
      if (this.#agent === undefined) throw error;
      log.warn({ err: error }, 'the changed certificate cannot be used yet; the one before is used on');
      return this.#agent;
    }
  }
}

async function versionOf({ cert, key, ca }: ProxyTlsFiles): Promise<string> {
  const files = await Promise.all([cert, key, ca].map((file) => stat(file)));
  return files.map(({ ino, mtimeMs, size }) => `${ino} ${mtimeMs} ${size}`).join(' ');
}

function contentOf(status: number, bytes: Buffer): JsonMap {
  const body = parseJson(bytes.toString());
  if (status >= 200 && status < 300 && isMap(body)) return body;
  const message = isMap(body) && typeof body.message === 'string' ? body.message : bytes.toString('utf8', 0, 200);
  throw new ControllerRefusal(`the controller answered ${status}: ${plainText(message, MESSAGE_LENGTH_MAX)}`, status);
}
