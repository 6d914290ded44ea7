// Sends one commit status and tells what became of it. Token and authorities are read for each request, so that rotated ones
// count at once. Redirects are not followed. No message holds the token or anything else that the forge says.
import { readFile, stat } from 'node:fs/promises';
import type { Clock } from '../base/clock.ts';
import { reasonOf } from '../base/wording.ts';
import type { StatusesSettings } from '../model/settings.ts';
import { proxyLogins } from '../repository/remotes/http-access.ts';
import { exchange, type HttpHead } from '../repository/remotes/http-exchange.ts';
import { SentSecrets } from '../repository/remotes/sent-secrets.ts';
import { forgeRequest } from './forge-request.ts';
import type { WantedStatus } from './wanted-statuses.ts';

/** What became of a status. */
export type Delivery =
  | { readonly kind: 'accepted' }
  /** The forge refuses this one; others may pass. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** No other one would pass now either. `waitMs`: what the forge asks for; undefined: it asks for nothing. */
  | { readonly kind: 'unreachable'; readonly reason: string; readonly waitMs: number | undefined };

/** Sends one status. Never throws. */
export type SendStatus = (status: WantedStatus, signal: AbortSignal) => Promise<Delivery>;

const CALL_MS = 15_000;
const SILENCE_MS = 10_000;
const TOKEN_BYTES_MAX = 64 * 1024;
const CA_BYTES_MAX = 4 * 1024 * 1024;
const ANSWER_BYTES_MAX = 1024 * 1024;
const WAIT_MS_MAX = 3_600_000;
/** GitHub asks for it where its answer does not say how long its rate limit holds. */
const RATE_LIMIT_WAIT_MS = 60_000;
/** What cannot be in a header, or is no token. */
const TOKEN = /^[\x21-\x7e]+$/;

/** The reasons by status of the answer. */
const REASONS: Readonly<Record<number, string>> = {
  400: 'the forge refuses the status (400)',
  401: 'the forge does not accept the token (401): see what is in statuses.tokenFile, and whether it has expired',
  403: 'the token may not set commit statuses (403): see its scope, and the role of its user',
  404: 'the forge does not have that project or commit, or hides it from this token (404): see statuses.project',
  409: 'the forge refuses the status for now (409)',
  422: 'the forge refuses the status, or does not have the commit yet (422)',
};
const REFUSED: ReadonlySet<number> = new Set([400, 404, 409, 413, 422]);

/** Returns the function that sends statuses to a forge. `id` is that of the controller. */
export function createSendStatus(
  settings: StatusesSettings,
  { id, clock }: { readonly id: string; readonly clock: Clock },
): SendStatus {
  const secrets = new SentSecrets();
  return async (status, signal) => {
    const late = new AbortController();
    const words = `the forge did not answer within ${CALL_MS / 1000} s`;
    const cancel = clock.after(CALL_MS, () => late.abort(new Error(words)));
    try {
      const token = await readToken(settings.tokenFile);
      for (const login of [...proxyLogins(), { username: '', password: token }]) secrets.add(login);
      const head = await post(status, { settings, id, token, signal: AbortSignal.any([signal, late.signal]) });
      return readDelivery(head, { status, settings, clock });
    } catch (error) {
      const reason = secrets.strip(late.signal.aborted ? words : reasonOf(error));
      return { kind: 'unreachable', reason, waitMs: undefined };
    } finally {
      cancel();
    }
  };
}

interface Sending {
  readonly settings: StatusesSettings;
  readonly id: string;
  readonly token: string;
  readonly signal: AbortSignal;
}

async function post(status: WantedStatus, { settings, id, token, signal }: Sending): Promise<HttpHead> {
  const { caFile } = settings;
  const ca = caFile === null ? undefined : await readText('statuses.caFile', caFile, CA_BYTES_MAX);
  const { target, headers, body } = forgeRequest(status, { settings, id, token });
  const limits = { answerBytesMax: ANSWER_BYTES_MAX, silenceMs: SILENCE_MS };
  const order = { target, method: 'POST', headers, body: Buffer.from(body), ca, signal, ...limits };
  return await exchange(order, async (head) => head);
}

interface Answered {
  readonly status: WantedStatus;
  readonly settings: StatusesSettings;
  readonly clock: Clock;
}

function readDelivery({ status: code, headers }: HttpHead, { status, settings, clock }: Answered): Delivery {
  if (code >= 200 && code < 300) return { kind: 'accepted' };
  // GitLab refuses to set a status to what it is already, as after an answer that was lost.
  if (settings.kind === 'gitlab' && code === 400 && status.state === 'in progress') return { kind: 'accepted' };
  const wait = waitMs(headers, clock.now());
  // GitHub answers 403 for both of its rate limits too.
  if (code === 429 || (code === 403 && (wait !== undefined || headers['x-ratelimit-remaining'] === '0'))) {
    const reason = `the forge takes no more requests for now (${code}): its rate limit is used up; nothing is wrong with the token`;
    return { kind: 'unreachable', reason, waitMs: wait ?? RATE_LIMIT_WAIT_MS };
  }
  const reason = reasonFor(code);
  if (REFUSED.has(code)) return { kind: 'refused', reason };
  return { kind: 'unreachable', reason, waitMs: wait };
}

function reasonFor(code: number): string {
  if (code >= 300 && code < 400) {
    return `the forge redirects (${code}), and redirects are not followed: see statuses.apiUrl`;
  }
  return REASONS[code] ?? `the forge answered ${code}`;
}

/** GitHub names the end of a limit in `x-ratelimit-reset`, in seconds since 1970, once nothing remains. */
function waitMs(headers: HttpHead['headers'], now: number): number | undefined {
  const after = headers['retry-after'];
  const reset = headers['x-ratelimit-remaining'] === '0' ? headers['x-ratelimit-reset'] : undefined;
  const ends = [
    ...(after === undefined ? [] : [/^\d+$/.test(after) ? now + Number(after) * 1000 : Date.parse(after)]),
    ...(typeof reset === 'string' ? [Number(reset) * 1000] : []),
  ].filter(Number.isFinite);
  if (ends.length === 0) return undefined;
  return Math.min(Math.max(Math.max(...ends) - now, 0), WAIT_MS_MAX);
}

async function readToken(path: string): Promise<string> {
  const token = (await readText('statuses.tokenFile', path, TOKEN_BYTES_MAX)).replace(/\r?\n$/, '');
  if (!TOKEN.test(token)) throw new Error(`statuses.tokenFile ${path} holds no token: write it alone into one line`);
  return token;
}

async function readText(setting: string, path: string, bytesMax: number): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > bytesMax) throw new Error(`it has ${size} bytes, and ${bytesMax} are allowed`);
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new Error(`${setting} cannot be read: ${reasonOf(error)}`, { cause: error });
  }
}
