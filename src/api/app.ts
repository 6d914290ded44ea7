// Builds the REST interface: the steps of every request, and the routes as one Express application.
import type { RequestListener } from 'node:http';
import express, { type Router } from 'express';
import type { Agent } from '../agents/agent.ts';
import type { AuditLog } from '../base/audit-log.ts';
import type { Logger } from '../base/log.ts';
import { Shares } from '../base/shares.ts';
import { servePage } from '../page/serve-page.ts';
import type { Explainer } from '../service/explain/explainer.ts';
import type { Operator } from '../service/operate/operator.ts';
import type { CommitWait } from '../service/read/commit-wait.ts';
import type { Writer } from '../service/write/writer.ts';
import { AnswerCache } from './answer-cache.ts';
import { auditRequests } from './audit-requests.ts';
import { type AuthenticateOptions, authenticate, type RequestStep } from './authenticate.ts';
import { answerErrors } from './errors.ts';
import type { EventStreams } from './event-streams.ts';
import { type FollowedLeader, forwardToLeader } from './forward.ts';
import { compressAnswers, markAnswers } from './present.ts';
import { LISTS, sendKept } from './reads.ts';
import {
  checkUrl,
  countRequests,
  limitRate,
  passSteps,
  refuseForeignOrigin,
  waitForMinCommit,
} from './request-steps.ts';
import { type AgentRoutes, agentRoutes } from './routes/agent.ts';
import { eventRoutes } from './routes/events.ts';
import { hieraRoutes } from './routes/hiera.ts';
import { clientRoutes, stackRoutes, startRoutes, typeRoutes } from './routes/objects.ts';
import { operationRoutes } from './routes/operations.ts';
import { type ControllerFacts, refuseUnknownPath, routerOf } from './routes/route-table.ts';

interface AppOptions extends AuthenticateOptions {
  readonly operator: Operator;
  readonly explainer: Explainer;
  readonly writer: Writer;
  readonly commits: Pick<CommitWait, 'reached'>;
  readonly agent: Agent;
  readonly readAnswer: AgentRoutes['readAnswer'];
  readonly streams: EventStreams;
  /** The name of this process among the replicas that share a store. */
  readonly replica: string;
  readonly controller: ControllerFacts;
  /** The address of the page without a certificate. Omitted or null: the page is off there. */
  readonly dashboard?: string | null;
  /** Omitted: nothing is audited. */
  readonly audit?: AuditLog | undefined;
  /** The limit of one client; 0: no limit. */
  readonly requestsPerSecond?: number;
  readonly log: Logger;
}

/** The default of `api.requestsPerSecond`. */
const REQUESTS_PER_SECOND = 1_000;

/** Returns the application. It answers 401 to requests that do not come over TLS with a client certificate. */
export function createApp(options: AppOptions): RequestListener {
  const known = authenticate(options);
  return createListener(options, known, waitForMinCommit(options.commits, known));
}

/** Returns the application. Requests pass `step` before the lookup of a kept answer or a route. */
function createListener(options: Omit<AppOptions, 'commits'>, known: RequestStep, step: RequestStep): RequestListener {
  const { replica, reader, audit, log, metrics, clock, requestsPerSecond = REQUESTS_PER_SECOND } = options;
  const failed = answerErrors(log);
  const cache = new AnswerCache(() => reader.version());
  const app = express();
  app.disable('x-powered-by');
  // Answers have an ETag of their own. Express's ETag would make a read several times as slow.
  app.disable('etag');
  app.set('query parser', 'simple');
  app.use(...compressAnswers(), createRoutes(options, cache), refuseUnknownPath, failed);
  const audited = audit === undefined ? [] : [auditRequests(audit)];
  const limited = requestsPerSecond === 0 ? [] : [limitRate(requestsPerSecond)];
  const steps = [
    ...[markAnswers(replica), ...audited, countRequests(metrics, clock), checkUrl, known, ...limited],
    ...[refuseForeignOrigin, servePage(), step, sendKept(reader, cache)],
  ];
  return passSteps(steps, app, failed);
}

/** The parts of a standby. */
interface StandbyOptions
  extends AuthenticateOptions,
    Pick<AppOptions, 'explainer' | 'streams' | 'replica' | 'controller' | 'dashboard' | 'audit' | 'requestsPerSecond'> {
  /** The reads that are answered from the rows. */
  readonly operator: Pick<
    Operator,
    | 'askedCommit'
    | 'commit'
    | 'commits'
    | 'delivered'
    | 'events'
    | 'listEvents'
    | 'notifications'
    | 'recorded'
    | 'overview'
    | 'server'
    | 'servers'
    | 'why'
  >;
  readonly leader: FollowedLeader;
}

/**
 * Returns the application of a standby. It answers reads of objects, records, events and explanations itself, and
 * forwards everything else to the leader. Without a leader, it also answers reads of progress.
 */
export function createStandbyApp({ operator, leader, ...options }: StandbyOptions): RequestListener {
  const known = authenticate(options);
  // Requests that need the missing parts are forwarded before a route is found.
  const reads = {
    operator: operator as Operator,
    writer: {} as Writer,
    agent: {} as Agent,
    readAnswer: {} as AgentRoutes['readAnswer'],
  };
  return createListener({ ...options, ...reads }, known, forwardToLeader(leader, options.clock));
}

/** Returns all routes; {@link createApp} has authenticated the client of each request. */
export function createRoutes(options: Omit<AppOptions, 'commits' | 'replica'>, cache: AnswerCache): Router {
  const { reader, operator, explainer, writer, agent, readAnswer, streams, controller, clock } = options;
  const lists = new Shares(LISTS);
  const parts = { reader, writer, operator, explainer, controller, cache, lists };
  const waiting = { authenticate: authenticate(options), streams, clock };
  return routerOf({
    ...startRoutes(parts, options.dashboard ?? null),
    ...stackRoutes(parts),
    ...clientRoutes(parts),
    ...typeRoutes(parts),
    ...hieraRoutes(parts, waiting),
    ...operationRoutes(parts),
    ...eventRoutes(parts, streams),
    ...agentRoutes({ agent, lists, readAnswer, ...waiting }),
  });
}
