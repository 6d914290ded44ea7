// Sends one request to a controller over HTTPS with a client certificate, and reads the whole answer, within limits that
// count from the start of the request. The caller words what is refused.
import { type RequestOptions, request } from 'node:https';
import { StringDecoder } from 'node:string_decoder';
import { isMap, parseJson } from '../model/json.ts';

/** A request, ready to be sent. */
export interface ControllerRequest {
  readonly url: URL;
  /** The certificate of the client, its key and the authority of the controller; or an agent that has them. */
  readonly credentials: Pick<RequestOptions, 'agent' | 'cert' | 'key' | 'ca'>;
  /** Omitted: it is a POST with a body, else a GET. */
  readonly method?: 'DELETE' | undefined;
  /** JSON. */
  readonly body?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly limits: AnswerLimits;
  /** Gets each part of a success as it comes, in place of the body. */
  readonly onText?: ((text: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What an answer may take. */
export interface AnswerLimits {
  /**
   * How long the controller may be silent, from the start of the request: an idle time-out of the socket misses its first
   * expiry while a TLS handshake has not ended.
   */
  readonly silenceMs: number;
  /** How long the request may take in all. Omitted: as long as the answer comes. */
  readonly wholeMs?: number;
  readonly bytesMax: number;
}

/** A whole answer. */
export interface ControllerAnswer {
  readonly status: number;
  /** The JSON of a success; undefined: it is an error, or no JSON. */
  readonly body: unknown;
  /** What the controller says of an error; else the beginning of the text. */
  readonly message: string;
  readonly etag?: string | undefined;
}

/** The connection ended after the head of the answer and before its end. */
export class BrokenAnswer extends Error {
  override readonly name = 'BrokenAnswer';
}

/** So much of a text without a message is kept. */
const TEXT_LENGTH_MAX = 200;

/** Returns the answer. Throws BrokenAnswer, at a limit an error that names it, and Node's own error where none came. */
export async function sendToController(sending: ControllerRequest): Promise<ControllerAnswer> {
  const { url, credentials, method, body, headers, limits, onText, signal } = sending;
  const { silenceMs, wholeMs, bytesMax } = limits;
  const { promise, resolve, reject } = Promise.withResolvers<ControllerAnswer>();
  const ends = [signal, wholeMs === undefined ? undefined : AbortSignal.timeout(wholeMs)];
  const options = {
    ...credentials,
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...headers,
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    signal: AbortSignal.any(ends.filter((end) => end !== undefined)),
  };
  const sent = request(url, options, (response) => {
    const chunks: Buffer[] = [];
    const decoder = new StringDecoder();
    let size = 0;
    silence.refresh();
    response.on('data', (chunk: Buffer) => {
      silence.refresh();
      if (onText !== undefined && response.statusCode === 200) return onText(decoder.write(chunk));
      size += chunk.length;
      if (size > bytesMax) end(new Error(`the answer has more than ${bytesMax} bytes`));
      else chunks.push(chunk);
    });
    response.on('end', () => {
      resolve({ ...readAnswer(response.statusCode ?? 0, Buffer.concat(chunks)), etag: response.headers.etag });
    });
    response.on('error', (error) => reject(new BrokenAnswer(error.message, { cause: error })));
  });
  // Rejects first: the end of an answer may arrive with the bytes that were too many.
  const end = (error: Error): void => {
    reject(error);
    sent.destroy();
  };
  const silence = setTimeout(() => end(new Error(`no answer within ${silenceMs / 1000} s`)), silenceMs);
  sent.on('error', reject);
  sent.end(body);
  return await promise.finally(() => clearTimeout(silence));
}

function readAnswer(status: number, bytes: Buffer): ControllerAnswer {
  const text = bytes.toString();
  const body = parseJson(text);
  const message = isMap(body) && typeof body.message === 'string' ? body.message : text.slice(0, TEXT_LENGTH_MAX);
  return { status, body: status >= 200 && status < 300 ? body : undefined, message };
}
