// Sends one request to a controller over HTTPS with a client certificate, and reads the JSON. The caller words errors.
import { isMap, parseJson } from '../model/json.ts';
import { type HttpAnswer, type HttpRequest, sendRequest } from './http-request.ts';

/** A request, ready to be sent. */
export interface ControllerRequest extends Pick<HttpRequest, 'url' | 'tls' | 'body' | 'onText' | 'signal'> {
  /** Omitted: POST with a body, else GET. */
  readonly method?: 'DELETE' | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly limits: AnswerLimits;
}

/** The limits of an answer. */
export interface AnswerLimits {
  readonly silenceMs: number;
  /** How long the whole request may take. Omitted: no limit. */
  readonly wholeMs?: number;
  readonly bytesMax: number;
}

/** A whole answer. */
export interface ControllerAnswer {
  readonly status: number;
  /** The JSON of a success; undefined for an error, or if the body is not JSON. */
  readonly body: unknown;
  /** The message of an error; else the beginning of the text. */
  readonly message: string;
  readonly etag?: string | undefined;
}

/** The length that is kept of an error without a message. */
const TEXT_LENGTH_MAX = 200;

/** Returns the answer. Throws like {@link sendRequest}. */
export async function sendToController(sending: ControllerRequest): Promise<ControllerAnswer> {
  const { method, body, headers, limits, signal, ...rest } = sending;
  const { wholeMs, ...answerLimits } = limits;
  const ends = [signal, wholeMs === undefined ? undefined : AbortSignal.timeout(wholeMs)];
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const answer = await sendRequest({
    ...rest,
    ...answerLimits,
    body,
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { ...headers, accept: 'application/json', ...type },
    signal: AbortSignal.any(ends.filter((end) => end !== undefined)),
  });
  return readAnswer(answer);
}

function readAnswer({ status, headers, body: bytes }: HttpAnswer): ControllerAnswer {
  const text = bytes.toString();
  const body = parseJson(text);
  const message = isMap(body) && typeof body.message === 'string' ? body.message : text.slice(0, TEXT_LENGTH_MAX);
  return { status, body: status >= 200 && status < 300 ? body : undefined, message, etag: headers.etag };
}
