// Forwards the requests that a standby may not answer to the leader. The routes of the standby answer all others from
// memory, as on the leader. See docs/rest.md, replicas.
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { type Clock, within } from '../base/clock.ts';
import { ServiceError } from '../model/service-error.ts';
import type { Outage } from '../service/answers.ts';
import { auditAction, FORWARDED_BY, operationFacts } from './audit-requests.ts';
import { findClient, isSeenAnew, type RequestStep } from './authenticate.ts';
import { isReading, type LeaderLink, notDone } from './leader-link.ts';
import { CLIENT_CERTIFICATE, certificateToForward, isForwarded } from './peer.ts';
import { REPLICA, REQUEST_ID, replicaOf, requestIdOf } from './present.ts';
import { minCommitOf, urlPathOf } from './request-steps.ts';

/** The leader, and the lag of this replica. */
export interface FollowedLeader {
  /** Returns whether a leader is known. */
  readonly isKnown: () => boolean;
  /** Returns why this replica is behind the leader; undefined if it is not. */
  readonly lag: () => Outage | undefined;
  readonly ask: LeaderLink['ask'];
  /** Resolves when this replica has loaded everything that was recorded before the call. Throws if it cannot. */
  readonly refresh: () => Promise<void>;
  /** Resolves with whether this replica answers reads from this commit or a later one. Never rejects. */
  readonly shows: (commit: string) => Promise<boolean>;
}

/** The request headers that are forwarded, in lower case: those that the interface uses. */
const HEADERS = [
  ...['host', 'accept', 'accept-encoding', 'content-type', 'content-encoding', 'content-length', 'transfer-encoding'],
  ...['if-match', 'if-none-match', 'last-event-id', 'origin', 'sec-fetch-site', 'x-treeline-min-commit'],
];
/** Answer headers that belong to the connection, or that this replica sets itself. */
const NOT_SENT_ON = new Set([
  ...['date', 'keep-alive', 'transfer-encoding'],
  ...[REPLICA, REQUEST_ID].map((name) => name.toLowerCase()),
]);
/** How long an answer may wait until this replica has loaded the change. */
const SHOWN_MS = 10_000;
/** The leader's time limit to begin an answer that this replica can give itself. */
const OPTIONAL_MS = 5_000;

const AGENT = /^\/agent\//;
/** Only the leader knows why servers wait. A standby knows the rest of these answers. */
const PROGRESS = /^\/(?:operations\/(?:status|servers(?:\/[^/]+)?)|stacks\/instances\/[^/]+\/why)\/?$/;
const ONLY_OF_LEADER = [AGENT, /^\/operations\/(?:held|problems|clients|providers)\/?$/];
/** A read that waits until its answer changes. */
const LONG_POLL = /[?&]wait=/;
/** The header with the lag of the forwarding replica. It is not in {@link HEADERS}, so clients cannot set it. */
export const LAG = 'x-treeline-lag';

/** Returns the step that forwards requests to the leader, or passes them on if this replica may answer. */
export function forwardToLeader(leader: FollowedLeader, clock: Clock): RequestStep {
  return async (request, response, next) => {
    if (isForwarded(request)) throw notDone('The replica that received the forwarded request does not lead');
    const commit = minCommitOf(request);
    const isShown = commit === undefined || (await leader.shows(commit));
    const canAnswer = isShown && isReading(request) && !ONLY_OF_LEADER.some((one) => one.test(urlPathOf(request)));
    if (canAnswer && !(leader.isKnown() && isBetterAnswered(request, leader))) return next();
    auditForwarded(request, response);
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    if (response.destroyed) gone.abort();
    const asked = leader.ask(questionOf(request, response, leader), request, gone.signal);
    const answer = await (canAnswer ? unlessLate(request, asked, clock) : asked);
    if (answer === undefined) {
      gone.abort();
      return next();
    }
    if (isChanged(request, answer)) await waitUntilShown(response, leader, clock);
    await relayAnswer(answer, response);
  };
}

/** Includes one request of each client an hour, so that the leader records when the client was seen. */
function isBetterAnswered(request: IncomingMessage, leader: FollowedLeader): boolean {
  return PROGRESS.test(urlPathOf(request)) || leader.lag() !== undefined || isSeenAnew(request);
}

/** Resolves with the answer of the leader; undefined if the leader does not begin one in time. */
async function unlessLate(
  { url = '' }: IncomingMessage,
  asked: Promise<IncomingMessage>,
  clock: Clock,
): Promise<IncomingMessage | undefined> {
  const answered = asked.catch((error) => {
    if (error instanceof ServiceError && error.code === 'not_ready') return undefined;
    throw error;
  });
  const answer = await (LONG_POLL.test(url) ? answered : within(clock, OPTIONAL_MS, answered));
  return answer?.statusCode === 503 ? undefined : answer;
}

/** Requests of proxies below `/agent` do not count: their later reads go to the leader too. */
function isChanged(request: IncomingMessage, { statusCode = 0 }: IncomingMessage): boolean {
  const isDryRun = request.url?.includes('dry_run=true') === true;
  return !isReading(request) && !isDryRun && statusCode < 300 && !AGENT.test(urlPathOf(request));
}

/** Throws ServiceError `outcome_unknown` if this replica cannot load the change of the leader in time. */
async function waitUntilShown(response: ServerResponse, leader: FollowedLeader, clock: Clock): Promise<void> {
  const shown = leader.refresh().then(() => true);
  if (await within(clock, SHOWN_MS, shown).catch(() => false)) return;
  const message = `The leader has carried out request ${requestIdOf(response)}, but this replica cannot show the result yet`;
  throw new ServiceError('outcome_unknown', message);
}

async function relayAnswer(answer: IncomingMessage, response: ServerResponse): Promise<void> {
  const { rawHeaders } = answer;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    const isKept = name.toLowerCase() === 'connection' ? value === 'close' : !NOT_SENT_ON.has(name.toLowerCase());
    if (isKept) response.appendHeader(name, value);
  }
  response.writeHead(answer.statusCode ?? 0);
  response.flushHeaders();
  // Only a broken connection shows the client that the answer is incomplete.
  await pipeline(answer, response).catch(() => response.destroy());
}

/**
 * The leader audits the requests that it answers. This replica audits requests that no leader answered or whose outcome
 * is unknown. Proxies are excepted: the leader would refuse their writes, and these lines could fill the disk.
 */
function auditForwarded(request: IncomingMessage, response: ServerResponse): void {
  const path = urlPathOf(request);
  if (isReading(request) || AGENT.test(path) || findClient(request)?.role === 'proxy') return;
  const [, operation] = /^\/operations\/([^/]*)/.exec(path) ?? [];
  auditAction(response, operation === undefined ? { kind: 'write' } : operationFacts(operation, undefined, ''));
}

function questionOf(request: IncomingMessage, response: ServerResponse, leader: FollowedLeader) {
  const { method = '', url: path = '/', headers } = request;
  const sent = Object.entries(headers).filter(([name]) => HEADERS.includes(name));
  const lag = leader.lag();
  const all: OutgoingHttpHeaders = {
    ...Object.fromEntries(sent),
    [CLIENT_CERTIFICATE]: certificateToForward(request),
    [FORWARDED_BY]: replicaOf(response),
    'x-request-id': requestIdOf(response),
    ...(lag && { [LAG]: encodeURIComponent(JSON.stringify(lag)) }),
  };
  return { method, path, headers: all };
}

/**
 * Returns the lag of the replica that forwarded a request; undefined if it has none or the request was not forwarded.
 */
export function readLag(request: IncomingMessage): Outage | undefined {
  const sent = isForwarded(request) ? request.headers[LAG] : undefined;
  return sent === undefined ? undefined : JSON.parse(decodeURIComponent(String(sent)));
}
