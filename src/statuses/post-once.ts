// Sends one POST to a forge or a subscriber, within limits, and reads the head of its answer. Files of the settings are
// read for each request, so that changed files apply immediately. Redirects are not followed.
import type { Clock } from '../base/clock.ts';
import { type HttpHead, sendRequest } from '../base/http-request.ts';
import { hideSecrets, proxySecrets, readSettingFile } from '../base/secrets.ts';
import { reasonOf } from '../base/wording.ts';

const CALL_MS = 15_000;
const CA_BYTES_MAX = 4 * 1024 * 1024;
const WAIT_MS_MAX = 3_600_000;

/** The result of one attempt to send a message. */
export interface Attempt {
  readonly isAccepted: boolean;
  /** The status of the answer, or why the message was not accepted; for an operator. */
  readonly answer: string;
  /** True if the receiver refused only this message. */
  readonly isOnlyThis: boolean;
  /** The wait that the receiver requests, in milliseconds; undefined if none. */
  readonly waitMs: number | undefined;
}

/** One request. */
export interface Posting {
  readonly target: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The token or the key. No message may contain it. */
  readonly secret: string;
}

interface PostOptions {
  /** The receiver in words for an operator, such as "the forge". */
  readonly whom: string;
  /** Path of the trusted certificate authorities, PEM; null: Node's default authorities. */
  readonly caFile: string | null;
  /** The name of the setting for `caFile`. */
  readonly caSetting: string;
  /** Builds the request. */
  readonly build: () => Promise<Posting>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Resolves with the head of the answer, or with the failed attempt, without secrets. Never throws. */
export async function postOnce(options: PostOptions): Promise<HttpHead | Attempt> {
  const { whom, caFile, caSetting, build, clock, signal } = options;
  const secrets = [...proxySecrets()];
  const late = new AbortController();
  const words = `${whom} did not answer within ${CALL_MS / 1000} s`;
  const cancel = clock.after(CALL_MS, () => late.abort(new Error(words)));
  try {
    const { target, headers, body, secret } = await build();
    secrets.push(secret);
    const tls = caFile === null ? {} : { ca: await readSettingFile(caFile, caSetting, CA_BYTES_MAX) };
    const either = AbortSignal.any([signal, late.signal]);
    const request = { url: target, headers, body, tls, usesProxy: true, bytesMax: 0, signal: either };
    return await sendRequest({ ...request, method: 'POST' });
  } catch (error) {
    const answer = hideSecrets(late.signal.aborted ? words : reasonOf(error), secrets);
    return { isAccepted: false, answer, isOnlyThis: false, waitMs: undefined };
  } finally {
    cancel();
  }
}

/**
 * Returns the wait that a service requests, in milliseconds, at most an hour; undefined if none. RFC 9110, 10.2.3. When
 * a limit is used up, GitHub sends its end in `x-ratelimit-reset`, in seconds since 1970.
 */
export function waitMs(headers: HttpHead['headers'], now: number): number | undefined {
  const after = headers['retry-after'];
  const reset = headers['x-ratelimit-remaining'] === '0' ? headers['x-ratelimit-reset'] : undefined;
  const ends = [
    ...(after === undefined ? [] : [/^\d+$/.test(after) ? now + Number(after) * 1000 : Date.parse(after)]),
    ...(typeof reset === 'string' ? [Number(reset) * 1000] : []),
  ].filter(Number.isFinite);
  if (ends.length === 0) return undefined;
  return Math.min(Math.max(Math.max(...ends) - now, 0), WAIT_MS_MAX);
}
