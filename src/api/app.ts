// Builds the REST interface: the steps that every request passes, and the routes as one Express application.
import type { RequestListener } from 'node:http';
import express, { type Express, type Request } from 'express';
import type { Agent } from '../agents/agent.ts';
import type { AuditLog } from '../base/audit-log.ts';
import { invariant } from '../base/invariant.ts';
import type { Logger } from '../base/log.ts';
import { type ShareLimits, Shares } from '../base/shares.ts';
import { didYouMean } from '../base/wording.ts';
import { ServiceError } from '../model/service-error.ts';
import type { Deliveries } from '../service/deliveries/deliveries.ts';
import type { Explainer } from '../service/explain/explainer.ts';
import type { Operator } from '../service/operate/operator.ts';
import type { CommitWait } from '../service/read/commit-wait.ts';
import type { Writer } from '../service/write/writer.ts';
import { auditRequests } from './audit-requests.ts';
import { type AuthenticateOptions, authenticate, type RequestStep } from './authenticate.ts';
import { countRequests } from './count-requests.ts';
import { answerErrors } from './errors.ts';
import type { EventStreams } from './event-streams.ts';
import { type FollowedLeader, forwardToLeader, tellFetches, waitForShownCommit } from './forward.ts';
import { openApiRoutes, SECTIONS } from './openapi.ts';
import { packAnswers } from './pack.ts';
import { servePage } from './page/page.ts';
import { markAnswers } from './present.ts';
import { checkQuery } from './query.ts';
import { KeptAnswers, sendKept } from './reads.ts';
import { checkRequest, noteFetches, passSteps, refuseForeignOrigin, waitForMinCommit } from './request-steps.ts';
import { type AgentRoutes, agentRoutes } from './routes/agent.ts';
import { clientRoutes } from './routes/clients.ts';
import { eventRoutes } from './routes/events.ts';
import { hieraRoutes } from './routes/hiera.ts';
import { operationRoutes } from './routes/operations.ts';
import { stackInstanceRoutes } from './routes/stacks-instances.ts';
import { stackTemplateRoutes } from './routes/stacks-templates.ts';
import { treeRoutes } from './routes/tree.ts';
import { typeRoutes } from './routes/types.ts';

interface AppOptions extends AuthenticateOptions {
  readonly operator: Operator;
  readonly explainer: Explainer;
  readonly writer: Writer;
  readonly commits: Pick<CommitWait, 'reached'>;
  readonly agent: Agent;
  readonly readAnswer: AgentRoutes['readAnswer'];
  readonly streams: EventStreams;
  /** The name of this process among those that share a store. */
  readonly replica: string;
  /** The address of the page without a certificate. Left out, or null: it is off there. */
  readonly dashboard?: string | null;
  /** Left out: nothing is audited. */
  readonly audit?: AuditLog | undefined;
  /** Notes which records nodes fetch. Left out: nothing does. */
  readonly deliveries?: Pick<Deliveries, 'noteFetch' | 'forgetFetch'> | undefined;
  readonly log: Logger;
}

/** Answers that take long or ask git: lists, actions of proxies, all records, events, explanations. */
const ANSWER_SHARES: ShareLimits = { atOnce: 4, ofClient: 1, waitingOfClient: 100 };
/** As proxies send it; RFC 9112, 3.2.2. */
const ABSOLUTE_FORM = /^https?:\/\/[^/?#]+(?=[/?#]|$)/i;
const HEALTH = ['livez', 'readyz', 'leaderz', 'healthz', 'metrics'];

/** Returns the application. Its requests must come over TLS with a client certificate; others are answered 401. */
export function createApp(options: AppOptions): RequestListener {
  const known = authenticate(options);
  const { commits, deliveries } = options;
  const noting = deliveries === undefined ? [] : [noteFetches(deliveries)];
  return createListener(options, [
    known,
    refuseForeignOrigin,
    servePage(),
    checkQuery,
    ...noting,
    waitForMinCommit(commits, known),
  ]);
}

/** Returns the application whose requests pass these steps before what is kept is sent, or a route is found. */
function createListener(options: Omit<AppOptions, 'commits'>, steps: readonly RequestStep[]): RequestListener {
  const { reader, replica, audit, log } = options;
  const kept = new KeptAnswers(() => reader.version());
  const pack = packAnswers();
  const fail = answerErrors(log);
  const first = [markAnswers(replica), ...(audit === undefined ? [] : [auditRequests(audit)])];
  const pass = passSteps([...first, checkRequest, ...steps, sendKept({ reader, kept }, pack), pack], fail);
  const refuse = passSteps([...first, authenticate(options), refuseTarget], fail);
  const routes = createRoutes(options, kept);
  const count = options.metrics && countRequests(options.metrics, { app: routes, clock: options.clock });
  return (request, response) => {
    const path = originForm(request.url ?? '');
    request.url = path ?? '/';
    count?.(request, response);
    const step = path === undefined ? refuse : pass;
    step(request, response, () => routes(request, response));
  };
}

/** The parts of a replica that does not lead. */
interface StandbyOptions
  extends AuthenticateOptions,
    Pick<AppOptions, 'explainer' | 'streams' | 'replica' | 'dashboard' | 'audit' | 'deliveries'> {
  /** What is answered from the rows. */
  readonly operator: Pick<
    Operator,
    | 'askedCommit'
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
 * Returns the application of a replica that does not lead. It answers reads of objects, records, events and explanations itself, and has the leader
 * answer everything else; those of progress too where nobody leads.
 */
export function createStandbyApp({ operator, leader, ...options }: StandbyOptions): RequestListener {
  const known = authenticate(options);
  const parts = { leader, clock: options.clock, authenticate: known };
  const reads = {
    operator: onLeaderOnly<Operator>(operator),
    ...{
      writer: onLeaderOnly<Writer>(),
      agent: onLeaderOnly<Agent>(),
      readAnswer: onLeaderOnly<AgentRoutes['readAnswer']>(),
    },
  };
  const { deliveries } = options;
  return createListener({ ...options, ...reads }, [
    known,
    refuseForeignOrigin,
    servePage(),
    checkQuery,
    ...(deliveries === undefined ? [] : [noteFetches(deliveries, tellFetches(leader, deliveries))]),
    forwardToLeader(parts),
    waitForShownCommit(parts),
  ]);
}

/** Stands for what is missing of a part: requests that would use it are forwarded before a route is found. */
function onLeaderOnly<Part extends object>(there: Partial<Part> = {}): Part {
  return new Proxy(there as Part, {
    get(part, name) {
      invariant(
        Reflect.has(part, name),
        `a request that only the leader may answer came to a route, which uses ${String(name)}`,
      );
      return Reflect.get(part, name);
    },
  });
}

/** Returns all routes; {@link createApp} has authenticated the client of each request. */
export function createRoutes(
  options: Omit<AppOptions, 'commits' | 'replica'>,
  kept = new KeptAnswers(() => options.reader.version()),
): Express {
  const { reader, operator, explainer, writer, agent, readAnswer, streams, log } = options;
  const app = express();
  app.disable('x-powered-by');
  // Answers carry an ETag of their own, and Express's makes a read several times as slow.
  app.disable('etag');
  app.set('query parser', 'simple');
  const shares = new Shares(ANSWER_SHARES);
  const parts = { reader, writer, operator, explainer, kept, shares };
  const again = { authenticate: authenticate(options) };
  const waiting = { ...again, streams };
  app.use(stackInstanceRoutes(parts), stackTemplateRoutes(parts), clientRoutes(parts), typeRoutes(parts));
  app.use(hieraRoutes({ ...parts, ...waiting, clock: options.clock }), treeRoutes(parts), operationRoutes(parts));
  app.use(eventRoutes({ ...parts, streams }), agentRoutes({ agent, shares, readAnswer, ...waiting }));
  app.use(openApiRoutes(reader, options.dashboard ?? null));
  app.use(refuseUnknownPath, answerErrors(log));
  return app;
}

/**
 * Returns the target of a request as a path with its query, also where it came with scheme and authority, as proxies send
 * it. Undefined where it names no path: Express would answer such a one by itself, without asking who sent it.
 */
function originForm(target: string): string | undefined {
  // With a fragment, which no target has, Express would look for a host and a port in the path.
  if (target.includes('#')) return undefined;
  if (target.startsWith('/') || target === '*') return target;
  const authority = ABSOLUTE_FORM.exec(target)?.[0];
  if (authority === undefined) return undefined;
  const path = target.slice(authority.length);
  return path.startsWith('/') ? path : `/${path}`;
}

function refuseTarget(): never {
  const message = 'The target of this request is no path: it has to begin with "/", and a "#" in it is written %23';
  throw new ServiceError('invalid_input', message);
}

function refuseUnknownPath({ method, path }: Request): never {
  throw new ServiceError('not_found', `There is nothing at ${method} ${path}; ${adviceFor(path)}`);
}

/** Returns where to look instead: the section or the next part that was meant, or what there is. */
function adviceFor(path: string): string {
  const [, first = '', second = ''] = path.split('/');
  if (HEALTH.includes(first)) {
    return '/livez, /readyz, /leaderz and /metrics are asked over plain HTTP, on the port of the setting management.port';
  }
  const section = `/${first}`;
  const below = SECTIONS.get(section) ?? [];
  const sections = [...SECTIONS.keys()];
  if (below.length === 0) return didYouMean(section, sections) ?? `everything is below ${sections.join(', ')}`;
  if (second === '') return `below it are ${below.join(', ')}`;
  return didYouMean(second, below) ?? `below ${section} are ${below.join(', ')}`;
}
