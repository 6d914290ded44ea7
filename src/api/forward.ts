// Answers on a replica that does not lead: has the leader carry out what only it may decide or knows, and has reads
// wait for a commit until this replica shows it. Everything else is answered from memory by the routes, as on the
// leader.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Clock, pause, within } from '../base/clock.ts';
import { type ShareLimits, Shares } from '../base/shares.ts';
import type { ForwardedAnswer, ForwardedRequest } from '../model/forwarded-request.ts';
import { ServiceError } from '../model/service-error.ts';
import type { Outage } from '../service/answers.ts';
import { WAIT_MS, WAITS } from '../service/read/commit-wait.ts';
import { cut } from './answer.ts';
import { auditAction, FORWARDED_BY, operationFacts } from './audit-requests.ts';
import { findClient, findRefusal, isSeenAnew, type RequestStep, requireAllowed } from './authenticate.ts';
import { BODY_BYTES_MAX } from './json-body.ts';
import { certificatesOf, fingerprintOf, isForwarded } from './peer.ts';
import { replicaOf, requestIdOf, sendPieces } from './present.ts';
import { minCommitOf, urlPathOf } from './request-steps.ts';
import { REPORT_BYTES_MAX } from './routes/agent.ts';

/** The leader, and what this replica shows of what it has recorded. */
export interface FollowedLeader {
  /** Returns whether a replica is known to lead. */
  readonly isKnown: () => boolean;
  /** Returns why this replica shows an earlier moment than the leader; undefined where it does not. */
  readonly lag: () => Outage | undefined;
  /**
   * Resolves with the leader's answer, or with undefined once `signal` fires. Throws ServiceError `not_ready` where
   * nothing was done, and
   * `outcome_unknown` where nobody knows.
   */
  readonly forward: (request: ForwardedRequest, signal: AbortSignal) => Promise<ForwardedAnswer | undefined>;
  /** Resolves once this replica shows all that was recorded before the call. Throws where it cannot. */
  readonly refresh: () => Promise<void>;
  /** Returns whether reads are answered from this commit or a later one. May ask git. */
  readonly shows: (commit: string) => Promise<boolean>;
}

interface ForwardOptions {
  readonly leader: FollowedLeader;
  readonly clock: Clock;
  readonly authenticate: RequestStep;
}

/** The request headers that the interface knows, in lower case. No others travel. */
const HEADERS = [
  ...['host', 'accept', 'accept-encoding', 'content-type', 'content-encoding', 'content-length', 'transfer-encoding'],
  ...['if-match', 'if-none-match', 'origin', 'sec-fetch-site', 'x-treeline-min-commit'],
];
/** Rows of the table that wait for the leader: proxies that wait for actions, large bodies, and all others. */
const POLLS: ShareLimits = { ofClient: 10, waitingOfClient: 0 };
const LARGE: ShareLimits = { ofClient: 2, waitingOfClient: 100 };
const CALLS: ShareLimits = { ofClient: 100, waitingOfClient: 100 };
/** Questions to git about what is shown. */
const QUESTIONS: ShareLimits = { ofClient: 1, waitingOfClient: 2 * WAITS.ofClient };
const LARGE_BYTES_MIN = 64 * 1024;
/** How long an answer may wait until this replica shows what it says. */
const SHOWN_MS = 10_000;
const RETRY_MS = 200;
/** How long the leader may take to note that a client was seen. */
const TOLD_MS = 10_000;
/** Every client may read it, and it is short. */
const SHORT_READ = { method: 'GET', target: '/types' };
const MIB = 1024 * 1024;

const AGENT = /^\/agent\//;
/** Only the leader knows what servers wait for; the rest of it each replica knows. */
const PROGRESS = /^\/(?:operations\/(?:status|servers(?:\/[^/]+)?)|stacks\/instances\/[^/]+\/why)\/?$/;
const OF_LEADER = [AGENT, PROGRESS, /^\/operations\/(?:held|problems|clients)\/?$/];
const ACTIONS = /^\/agent\/actions\/?$/;
const REPORT = /^\/agent\/actions\/[^/]+\/report\/?$/;
const HEARTBEAT = /^\/agent\/actions\/[^/]+\/heartbeat\/?$/;
/** Tells the leader why the replica that asks it is behind. Of {@link HEADERS} it is none, so no client sends it. */
const LAG = 'x-treeline-lag';
const LAG_LENGTH_MAX = 1_000;

/** Returns the step that has the leader answer what this replica may not, and passes all other requests on. */
export function forwardToLeader({ leader, clock }: ForwardOptions): RequestStep {
  const [polls, large, calls] = [new Shares(POLLS), new Shares(LARGE), new Shares(CALLS)];

  /** A body of unknown length may be a large one. */
  const sharesFor = (request: IncomingMessage): Shares => {
    if (isReading(request)) return ACTIONS.test(urlPathOf(request)) ? polls : calls;
    const isChunked = request.headers['transfer-encoding'] !== undefined;
    return isChunked || lengthOf(request) > LARGE_BYTES_MIN ? large : calls;
  };

  const ask = async (
    request: IncomingMessage,
    response: ServerResponse,
    body: Uint8Array | null,
  ): Promise<ForwardedAnswer | 'nobody leads' | undefined> => {
    const question = forwarded(request, response, body);
    const isOfProgress = isProgress(request);
    const headers = isOfProgress ? { ...question.headers, ...lagHeader(leader.lag()) } : question.headers;
    try {
      return await leader.forward({ ...question, headers }, goneSignal(response));
    } catch (error) {
      if (isOfProgress && error instanceof ServiceError && error.code === 'not_ready') return 'nobody leads';
      throw error;
    }
  };

  return async (request, response, next) => {
    if (!isForLeader(request)) {
      if (isSeenAnew(request) && leader.isKnown()) void tellSeen(request, response, leader);
      next();
      return;
    }
    if (isProgress(request) && !leader.isKnown()) {
      next();
      return;
    }
    auditForwarded(request, response);
    const answer = await sharesFor(request).run(fingerprintOf(request), async () => {
      if (response.destroyed || findRefusal(request) !== undefined) return undefined;
      const body = await readBody(request, REPORT.test(urlPathOf(request)) ? REPORT_BYTES_MAX : BODY_BYTES_MAX);
      return body === undefined ? undefined : await ask(request, response, body);
    });
    if (answer === 'nobody leads') {
      // A wait is over, in which the client may have lost its rights.
      requireAllowed(request);
      next();
      return;
    }
    if (answer !== undefined && isChanged(request, answer)) await waitUntilShown(request, response, { leader, clock });
    if (answer === undefined) requireAllowed(request);
    else sendForwarded(request, response, answer);
  };
}

/**
 * Returns the step that lets a read pass once this replica shows the commit that it names. The leader is asked to
 * follow it first, and where it cannot, its answer is sent. Who waited is authenticated again.
 */
export function waitForShownCommit({ leader, clock, authenticate }: ForwardOptions): RequestStep {
  const [waits, questions] = [new Shares(WAITS), new Shares(QUESTIONS)];

  async function isShown(commit: string, client: string): Promise<boolean> {
    return await questions.run(client, () => leader.shows(commit));
  }

  /** Returns the leader's answer where it does not follow the commit. */
  async function arrival(commit: string, request: IncomingMessage, response: ServerResponse) {
    const end = clock.monotonic() + WAIT_MS;
    const headers = { host: request.headers.host ?? '', 'x-treeline-min-commit': commit };
    const question = { ...forwarded(request, response, null), ...SHORT_READ, headers };
    const answer = await leader.forward(question, goneSignal(response));
    if (answer?.status !== 200) return answer;
    for (let isLast = false; ; isLast = clock.monotonic() >= end) {
      await within(clock, SHOWN_MS, leader.refresh());
      if (response.destroyed || (await isShown(commit, fingerprintOf(request)))) return undefined;
      if (isLast)
        throw new ServiceError(
          'not_ready',
          `The leader follows ${commit}, and this replica does not show it yet; try again`,
        );
      await pause(clock, RETRY_MS);
    }
  }

  return async (request, response, next) => {
    const commit = minCommitOf(request);
    if (commit === undefined) {
      next();
      return;
    }
    const client = fingerprintOf(request);
    if (!(await isShown(commit, client))) {
      const refused = await waits.run(client, () => arrival(commit, request, response));
      if (refused !== undefined) {
        sendForwarded(request, response, refused);
        return;
      }
    }
    if (!response.destroyed) await authenticate(request, response, next);
  };
}

/**
 * The leader writes what it answers; what nobody leads to answer, or nobody knows the end of, is written here. Such
 * lines are never left out, and so not of a proxy, which the leader would refuse everything: it could fill the disk.
 */
function auditForwarded(request: IncomingMessage, response: ServerResponse): void {
  const path = urlPathOf(request);
  if (isReading(request) || AGENT.test(path) || findClient(request)?.role === 'proxy') return;
  const [, operation] = /^\/operations\/([^/]*)/.exec(path) ?? [];
  auditAction(response, operation === undefined ? { kind: 'write' } : operationFacts(operation, undefined, ''));
}

/**
 * Lets the leader know that a client was seen, which it records: it would never know of reads that this replica answers
 * itself. Where that fails, the next hour does it.
 */
async function tellSeen(request: IncomingMessage, response: ServerResponse, leader: FollowedLeader): Promise<void> {
  const headers = { host: request.headers.host ?? '' };
  const question = { ...forwarded(request, response, null), ...SHORT_READ, headers };
  await leader.forward(question, AbortSignal.timeout(TOLD_MS)).catch(() => undefined);
}

/** Returns whether only the leader may answer a request. Other methods than these are refused alike everywhere. */
function isForLeader(request: IncomingMessage): boolean {
  if (request.method === 'POST' || request.method === 'DELETE') return true;
  return isReading(request) && OF_LEADER.some((pattern) => pattern.test(urlPathOf(request)));
}

function isProgress(request: IncomingMessage): boolean {
  return isReading(request) && PROGRESS.test(urlPathOf(request));
}

function lagHeader(lag: Outage | undefined): Readonly<Record<string, string>> {
  if (lag === undefined) return {};
  const reason = lag.reason.slice(0, LAG_LENGTH_MAX).toWellFormed();
  return { [LAG]: encodeURIComponent(JSON.stringify({ ...lag, reason })) };
}

/** Returns why the replica is behind that has forwarded a request; undefined where none has, or it is not. */
export function readLag(request: IncomingMessage): Outage | undefined {
  const told = isForwarded(request) ? request.headers[LAG] : undefined;
  return told === undefined ? undefined : JSON.parse(decodeURIComponent(String(told)));
}

function isReading({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

function isChanged(request: IncomingMessage, { status }: ForwardedAnswer): boolean {
  return !isReading(request) && status < 300 && !HEARTBEAT.test(urlPathOf(request));
}

function lengthOf({ headers }: IncomingMessage): number {
  return Number(headers['content-length'] ?? 0);
}

function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  if (response.destroyed) gone.abort();
  response.once('close', () => gone.abort());
  return gone.signal;
}

function forwarded(request: IncomingMessage, response: ServerResponse, body: Uint8Array | null): ForwardedRequest {
  const headers: Record<string, string> = { [FORWARDED_BY]: replicaOf(response) };
  for (const name of HEADERS) {
    const value = request.headers[name];
    if (value !== undefined) headers[name] = String(value);
  }
  const { method = '', url: target = '/' } = request;
  return { id: requestIdOf(response), certificates: certificatesOf(request), method, target, headers, body };
}

/** Resolves with the body as it comes, null where there is none, and undefined where the client is gone before. */
async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer | null | undefined> {
  const isChunked = request.headers['transfer-encoding'] !== undefined;
  if (!isChunked && lengthOf(request) === 0) return null;
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | undefined>();
  const tooLarge = new ServiceError('body_too_large', `The body is larger than ${bytesMax / MIB} MiB`);
  if (lengthOf(request) > bytesMax) throw tooLarge;
  const chunks: Buffer[] = [];
  let bytes = 0;
  const add = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes <= bytesMax) chunks.push(chunk);
    else reject(tooLarge);
  };
  request.on('data', add);
  request.once('end', () => resolve(Buffer.concat(chunks)));
  request.once('close', () => resolve(undefined));
  try {
    return await promise;
  } finally {
    // What is left of a body that is refused is not kept.
    request.off('data', add);
    chunks.length = 0;
  }
}

/** Throws ServiceError `outcome_unknown` where this replica cannot show soon what the leader has done. */
async function waitUntilShown(
  request: IncomingMessage,
  response: ServerResponse,
  { leader, clock }: Pick<ForwardOptions, 'leader' | 'clock'>,
): Promise<void> {
  const shown = leader.refresh().then(() => true);
  const isShown = await within(
    clock,
    SHOWN_MS,
    shown.catch(() => false),
  );
  // What proxies read comes from the leader.
  if (isShown === true || AGENT.test(urlPathOf(request))) return;
  const message = `The leader has done this (request ${requestIdOf(response)}), and this replica cannot answer from it yet`;
  throw new ServiceError('outcome_unknown', message);
}

/** Sends an answer as the leader would. Throws ServiceError where the client may not ask any more. */
function sendForwarded(request: IncomingMessage, response: ServerResponse, answer: ForwardedAnswer): void {
  const { status, headers, body } = answer;
  const refusal = findRefusal(request);
  if (refusal !== undefined && status !== 401 && status !== 403) {
    const isDone = !isReading(request) && status < 300;
    throw isDone
      ? new ServiceError(refusal.code, `${refusal.message}. What this request asked for was done before`)
      : refusal;
  }
  for (let index = 0; index < headers.length; index += 2)
    response.appendHeader(headers[index] ?? '', headers[index + 1] ?? '');
  response.writeHead(status);
  void sendPieces(response, [...cut(body)]);
}
