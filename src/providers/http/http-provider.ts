// Provides servers by sending every call as a signed POST to a service, and polling for the end of long work. The
// signature proves sender and content to the service. docs/providers.md is the contract for authors of services.
import { createHmac } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { type HttpAnswer, type HttpRequest, sendRequest } from '../../base/http-request.ts';
import { readSecretFile, readSettingFile, SecretFileError } from '../../base/secrets.ts';
import { quote, reasonOf } from '../../base/wording.ts';
import type { Answer } from '../../model/call-result.ts';
import type { ServiceSettings } from '../../model/settings.ts';
import { ANSWER_BYTES_MAX, AnswerError, plainText, readAnswer } from '../answer-json.ts';
import { encodeCall, type Provider } from '../provider.ts';

/** The service, and the clock. */
export interface HttpOptions extends ServiceSettings {
  readonly clock: Clock;
}

/** There is no complete answer. */
class ExchangeError extends Error {
  override readonly name = 'ExchangeError';
  /** False: no byte of the request was sent, so it has no effect. */
  readonly isSent: boolean;

  constructor(message: string, isSent: boolean, options?: ErrorOptions) {
    super(message, options);
    this.isSent = isSent;
  }
}

const CA_BYTES_MAX = 4 * 1024 * 1024;
const POLLS_MAX = 100_000;
const POLL_SECONDS = 2;
const POLL_SECONDS_MAX = 300;
const SHOWN_LENGTH_MAX = 500;
const ACCEPTED = 202;
/** The service has not begun or has failed, and the call may be repeated. */
const RETRYABLE: ReadonlySet<number> = new Set([408, 429, 500, 503]);
/** A gateway got no answer, so the service may be at work. */
const LOST: ReadonlySet<number> = new Set([502, 504]);
/** A poll with such a status is repeated. */
const POLL_AGAIN: ReadonlySet<number> = new Set([...RETRYABLE, ...LOST]);

/** Returns a provider for a service. A call without a valid answer throws; then the service may still be at work. */
export function createHttpProvider(options: HttpOptions): Provider {
  return {
    lostActionEnds: 'after its deadline',
    perform: (call, signal) => askService(encodeCall(call), options, signal),
    close: async () => undefined,
  };
}

/**
 * Returns the answer of a service to an input. Throws if there is none, and the signal's reason if the signal ended it.
 */
export async function askService(input: string, options: HttpOptions, signal: AbortSignal): Promise<Answer> {
  signal.throwIfAborted();
  let reply: HttpAnswer;
  const url = new URL(options.url);
  try {
    reply = await send({ method: 'POST', url, body: input }, options, signal);
  } catch (error) {
    if (error instanceof ExchangeError && !error.isSent) return answerOnly('retryable', error.message);
    throw error;
  }
  return reply.status === ACCEPTED ? await poll(reply, { url, options, signal }) : readReply(reply, url);
}

interface Polling {
  readonly url: URL;
  readonly options: HttpOptions;
  readonly signal: AbortSignal;
}

async function poll(accepted: HttpAnswer, { url, options, signal }: Polling): Promise<Answer> {
  let place = readLocation(accepted, url);
  let waitSeconds = retryAfter(accepted, options.clock);
  for (let polls = 0; polls < POLLS_MAX; polls += 1) {
    await pause(waitSeconds * 1000, options.clock, signal);
    const reply = await pollOnce(place, options, signal);
    if (reply !== undefined && reply.status !== ACCEPTED && !POLL_AGAIN.has(reply.status))
      return readReply(reply, place, 'poll');
    waitSeconds = reply === undefined ? POLL_SECONDS : retryAfter(reply, options.clock);
    if (reply?.status === ACCEPTED && reply.headers.location !== undefined) place = readLocation(reply, url);
  }
  throw new AnswerError(`there was no answer after ${POLLS_MAX} polls`);
}

/** Returns undefined if the service cannot be reached, in which case it may still be at work. */
async function pollOnce(url: URL, options: HttpOptions, signal: AbortSignal): Promise<HttpAnswer | undefined> {
  try {
    return await send({ method: 'GET', url }, options, signal);
  } catch (error) {
    if (error instanceof ExchangeError) return undefined;
    throw error;
  }
}

async function send(
  { method, url, body }: Pick<HttpRequest, 'method' | 'url' | 'body'>,
  { secretFile, caFile, clock }: HttpOptions,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  let isSent = false;
  const onConnect = (): void => {
    isSent = true;
  };
  try {
    const secret = await readSecretFile(secretFile, 'secretFile');
    const tls = caFile === null ? {} : { ca: await readSettingFile(caFile, 'caFile', CA_BYTES_MAX) };
    const headers = {
      accept: 'application/json',
      'content-type': 'application/json',
      ...signatureHeaders({ method, url, body: body ?? '' }, secret, clock.now()),
    };
    return await sendRequest({ method, url, body, headers, tls, bytesMax: ANSWER_BYTES_MAX, onConnect, signal });
  } catch (error) {
    signal.throwIfAborted();
    throw new ExchangeError(whyNoAnswer(error, isSent, url), isSent, { cause: error });
  }
}

function whyNoAnswer(error: unknown, isSent: boolean, { origin }: URL): string {
  if (error instanceof SecretFileError) return error.message;
  return `${isSent ? `the answer of ${origin} was lost` : `${origin} cannot be reached`}: ${reasonOf(error)}`;
}

/** An answer counts with any status. Without an answer, the status shows whether the service may be at work. */
function readReply({ status, body: bytes }: HttpAnswer, { origin }: URL, of: 'call' | 'poll' = 'call'): Answer {
  const body = bytes.toString();
  try {
    return readAnswer(body);
  } catch (error) {
    if (!(error instanceof AnswerError) || status === 200) throw error;
    const shown = plainText(body, SHOWN_LENGTH_MAX);
    const words = `${origin} answered ${status}${shown === '' ? '' : `: ${shown}`}`;
    // The service accepted the call. If it no longer knows the call, the outcome is unknown.
    if (of === 'poll') throw new AnswerError(`${words}, to a poll`, { cause: error });
    if (RETRYABLE.has(status)) return answerOnly('retryable', words);
    if (status >= 300 && status < 400) return answerOnly('failed', `${words}; redirects are not followed`);
    if (status >= 400 && !LOST.has(status)) return answerOnly('failed', words);
    throw new AnswerError(`${words}, without an answer`, { cause: error });
  }
}

function answerOnly(outcome: 'retryable' | 'failed', message: string): Answer {
  return { outcome, message, outputs: {}, observed: {} };
}

/** Returns the URL to poll. It must have the same origin, so that no other service gets signed requests. */
function readLocation({ headers: { location } }: HttpAnswer, url: URL): URL {
  const place = URL.parse(location ?? '', url);
  if (location === undefined || place === null) throw new AnswerError('202 was answered without a "Location" to poll');
  if (place.origin !== url.origin) {
    throw new AnswerError(`202 was answered with the "Location" ${quote(location)}, and only ${url.origin} is asked`);
  }
  return place;
}

function retryAfter({ headers }: HttpAnswer, clock: Clock): number {
  const text = headers['retry-after'];
  if (text === undefined) return POLL_SECONDS;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - clock.now()) / 1000;
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 1), POLL_SECONDS_MAX) : POLL_SECONDS;
}

function pause(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      cancel();
      reject(signal.reason);
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', stop);
      resolve();
    });
    signal.addEventListener('abort', stop, { once: true });
  });
}

/** The header with the time of the request, in seconds since 1970. */
const TIMESTAMP_HEADER = 'treeline-timestamp';
/** The header with the signature: `sha256=` and 64 hexadecimal digits. */
const SIGNATURE_HEADER = 'treeline-signature';

/** The signed parts of a request, in addition to the time. */
interface SignedParts {
  readonly method: string;
  readonly url: URL;
  readonly body: string;
}

/** Returns the two headers of a request at `now`, milliseconds since 1970. docs/providers.md, signatures. */
function signatureHeaders(parts: SignedParts, secret: Uint8Array, now: number): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(now / 1000));
  return { [TIMESTAMP_HEADER]: timestamp, [SIGNATURE_HEADER]: `sha256=${sign(parts, secret, timestamp)}` };
}

function sign({ method, url, body }: SignedParts, secret: Uint8Array, timestamp: string): string {
  const text = [timestamp, method, `${url.pathname}${url.search}`, body].join('\n');
  return createHmac('sha256', secret).update(text).digest('hex');
}
