// Has the leader answer what a standby may not: each such request is piped to it. Everything else is answered from
// memory by the routes, as on the leader. See docs/rest.md, replicas.
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { type Clock, within } from '../base/clock.ts';
import { reasonOf } from '../base/wording.ts';
import { ServiceError } from '../model/service-error.ts';
import type { Outage } from '../service/answers.ts';
import { auditAction, FORWARDED_BY, operationFacts } from './audit-requests.ts';
import { findClient, isSeenAnew, type RequestStep } from './authenticate.ts';
import { notDone, type Question } from './leader-link.ts';
import { CLIENT_CERTIFICATE, certificateToForward, isForwarded } from './peer.ts';
import { REPLICA, REQUEST_ID, replicaOf, requestIdOf } from './present.ts';
import { minCommitOf, urlPathOf } from './request-steps.ts';

/** The leader, and how far this replica is behind it. */
export interface FollowedLeader {
  /** Returns whether a replica is known to lead. */
  readonly isKnown: () => boolean;
  /** Returns why this replica is behind the leader; undefined if it is not. */
  readonly lag: () => Outage | undefined;
  /** Resolves with a request on a connection to the leader. Throws ServiceError `not_ready` if there is none. */
  readonly open: (question: Question) => Promise<ClientRequest>;
  /** Resolves once this replica shows all that was recorded before the call. Throws if it cannot. */
  readonly refresh: () => Promise<void>;
  /** Returns whether reads are answered from this commit. */
  readonly shows: (commit: string) => boolean;
}

/** The headers of a request that the interface knows, in lower case. No others are forwarded. */
const HEADERS = [
  ...['host', 'accept', 'accept-encoding', 'content-type', 'content-encoding', 'content-length', 'transfer-encoding'],
  ...['if-match', 'if-none-match', 'origin', 'sec-fetch-site', 'x-treeline-min-commit'],
];
/** Headers of an answer that belong to its connection, or that this replica sets itself. */
const OF_CONNECTION = new Set([
  ...['date', 'keep-alive', 'transfer-encoding'],
  ...[REPLICA, REQUEST_ID].map((name) => name.toLowerCase()),
]);
/** How long an answer may wait until this replica shows the change that it reports. */
const SHOWN_MS = 10_000;
/** How long the leader may take to record that a client was seen. */
const SEEN_MS = 10_000;
/** Every client may read it, and it is short. */
const SHORT_READ = { method: 'GET', path: '/types' };

const AGENT = /^\/agent\//;
/** Only the leader knows what servers wait for; a standby knows the rest of these answers. */
const PROGRESS = /^\/(?:operations\/(?:status|servers(?:\/[^/]+)?)|stacks\/instances\/[^/]+\/why)\/?$/;
const ONLY_OF_LEADER = [AGENT, /^\/operations\/(?:held|problems|clients|providers)\/?$/];
const HEARTBEAT = /^\/agent\/actions\/[^/]+\/heartbeat\/?$/;
/** Why the replica that forwards a request is behind. It is not in {@link HEADERS}, so no client sends it. */
const LAG = 'x-treeline-lag';
const LAG_LENGTH_MAX = 1_000;

/** Returns the step that has the leader answer what this replica may not, and passes all other requests on. */
export function forwardToLeader(leader: FollowedLeader, clock: Clock): RequestStep {
  return async (request, response, next) => {
    if (isForwarded(request)) throw notDone('The replica that was asked does not lead');
    if (!isForLeader(request, leader)) {
      if (isSeenAnew(request) && leader.isKnown()) void reportSeen(request, response, leader);
      next();
      return;
    }
    auditForwarded(request, response);
    const answer = await answerOf(request, response, leader);
    if (answer === undefined) {
      next();
      return;
    }
    if (isChanged(request, answer)) await waitUntilShown(request, response, { leader, clock });
    await sendOn(answer, response);
  };
}

function isForLeader(request: IncomingMessage, leader: FollowedLeader): boolean {
  const { method } = request;
  if (method === 'POST' || method === 'DELETE') return true;
  if (!isReading(request)) return false;
  const commit = minCommitOf(request);
  if (commit !== undefined && !leader.shows(commit)) return true;
  return !canAnswer(request) || PROGRESS.test(urlPathOf(request)) || (leader.isKnown() && leader.lag() !== undefined);
}

/** Returns whether this replica can answer a request that the leader would answer better. */
function canAnswer(request: IncomingMessage): boolean {
  const path = urlPathOf(request);
  return isReading(request) && !ONLY_OF_LEADER.some((pattern) => pattern.test(path));
}

/** Resolves with the answer of the leader; undefined if this replica answers itself, since no leader does. */
async function answerOf(
  request: IncomingMessage,
  response: ServerResponse,
  leader: FollowedLeader,
): Promise<IncomingMessage | undefined> {
  const isOptional = canAnswer(request) && minCommitOf(request) === undefined;
  if (isOptional && !leader.isKnown()) return undefined;
  const { method = '', url: path = '/' } = request;
  const headers = { ...headersToForward(request, response), ...lagHeader(leader.lag()) };
  try {
    const answer = await ask(request, response, await leader.open({ method, path, headers }));
    if (!isOptional || answer.statusCode !== 503) return answer;
    answer.resume();
    return undefined;
  } catch (error) {
    if (isOptional && error instanceof ServiceError && error.code === 'not_ready') return undefined;
    throw error;
  }
}

/** Pipes a request to the leader. Throws ServiceError `outcome_unknown` if the connection breaks during a write. */
async function ask(
  request: IncomingMessage,
  response: ServerResponse,
  outgoing: ClientRequest,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  outgoing.once('response', resolve);
  outgoing.on('error', (error) => {
    reject(failureOf(request, response, reasonOf(error)));
  });
  // The rest of the body is read, so that the connection of the client can be used again.
  outgoing.once('close', () => request.unpipe(outgoing).resume());
  if (response.destroyed) outgoing.destroy();
  response.once('close', () => outgoing.destroy());
  request.pipe(outgoing);
  return await promise;
}

async function sendOn(answer: IncomingMessage, response: ServerResponse): Promise<void> {
  const { rawHeaders } = answer;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    const isKept = name.toLowerCase() === 'connection' ? value === 'close' : !OF_CONNECTION.has(name.toLowerCase());
    if (isKept) response.appendHeader(name, value);
  }
  response.writeHead(answer.statusCode ?? 0);
  response.flushHeaders();
  // Only a broken connection shows the client that half of an answer is missing.
  await pipeline(answer, response).catch(() => response.destroy());
}

/**
 * The leader records what it answers. This replica records a request that no leader answered, or whose outcome is
 * unknown, except for proxies: the leader would refuse them, and such lines could fill the disk.
 */
function auditForwarded(request: IncomingMessage, response: ServerResponse): void {
  const path = urlPathOf(request);
  if (isReading(request) || AGENT.test(path) || findClient(request)?.role === 'proxy') return;
  const [, operation] = /^\/operations\/([^/]*)/.exec(path) ?? [];
  auditAction(response, operation === undefined ? { kind: 'write' } : operationFacts(operation, undefined, ''));
}

/** Has the leader record that a client was seen whose reads this replica answers. If it fails, the next hour does it. */
async function reportSeen(request: IncomingMessage, response: ServerResponse, leader: FollowedLeader): Promise<void> {
  const { host } = request.headers;
  const headers = { ...identifyingHeaders(request, response), ...(host && { host }) };
  const asked = await leader.open({ ...SHORT_READ, headers }).catch(() => undefined);
  asked?.on('error', () => undefined).on('response', (answer) => answer.resume());
  asked?.setTimeout(SEEN_MS, () => asked.destroy()).end();
}

function identifyingHeaders(request: IncomingMessage, response: ServerResponse): OutgoingHttpHeaders {
  return {
    [CLIENT_CERTIFICATE]: certificateToForward(request),
    [FORWARDED_BY]: replicaOf(response),
    'x-request-id': requestIdOf(response),
  };
}

function headersToForward(request: IncomingMessage, response: ServerResponse): OutgoingHttpHeaders {
  const known = HEADERS.flatMap((name) => (request.headers[name] === undefined ? [] : [[name, request.headers[name]]]));
  return { ...Object.fromEntries(known), ...identifyingHeaders(request, response) };
}

function lagHeader(lag: Outage | undefined): OutgoingHttpHeaders {
  if (lag === undefined) return {};
  const reason = lag.reason.slice(0, LAG_LENGTH_MAX).toWellFormed();
  return { [LAG]: encodeURIComponent(JSON.stringify({ ...lag, reason })) };
}

/** Returns why the replica is behind that has forwarded a request; undefined if none has, or it is not. */
export function readLag(request: IncomingMessage): Outage | undefined {
  const sent = isForwarded(request) ? request.headers[LAG] : undefined;
  return sent === undefined ? undefined : JSON.parse(decodeURIComponent(String(sent)));
}

function isReading({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

function isChanged(request: IncomingMessage, { statusCode = 0 }: IncomingMessage): boolean {
  const isDryRun = request.url?.includes('dry_run=true') === true;
  return !isReading(request) && !isDryRun && statusCode < 300 && !HEARTBEAT.test(urlPathOf(request));
}

/** Throws ServiceError `outcome_unknown` if this replica cannot show soon what the leader has done. */
async function waitUntilShown(
  request: IncomingMessage,
  response: ServerResponse,
  { leader, clock }: { readonly leader: FollowedLeader; readonly clock: Clock },
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

function failureOf(request: IncomingMessage, response: ServerResponse, reason: string): ServiceError {
  const broken = `The connection to the leader broke: ${reason}`;
  if (isReading(request)) return notDone(broken);
  return new ServiceError(
    'outcome_unknown',
    `${broken}. Nobody knows whether the request was carried out: look before you ask again. The commit of a write has ` +
      `the line "Treeline-Request-Id: ${requestIdOf(response)}"`,
  );
}
