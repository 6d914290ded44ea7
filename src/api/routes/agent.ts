// Routes of docs/rest.md, agent: proxies ask for actions, claim them, and report how they ended.
import type { RequestHandler, Response } from 'express';
import type { Agent, AgentAction } from '../../agents/agent.ts';
import type { Shares } from '../../base/shares.ts';
import type { Answer } from '../../model/call-result.ts';
import type { JsonMap } from '../../model/json.ts';
import { ServiceError } from '../../model/service-error.ts';
import { cutText } from '../answer.ts';
import { callerOf, clientOf, type RequestStep, requireAllowed } from '../authenticate.ts';
import { allow } from '../authorize.ts';
import type { EventStreams } from '../event-streams.ts';
import { jsonBody, readFields, TEXT } from '../json-body.ts';
import { fingerprintOf } from '../peer.ts';
import { sendBody, sendEnvelope, sendJson } from '../present.ts';
import { queryNumber } from '../query.ts';
import { bodyOf } from '../write.ts';
import type { PathParams, RouteRequest, RouteTable } from './route-table.ts';

const WAIT = { least: 0, most: 60, other: 30 };
const LIMIT = { least: 1, most: 100, other: 10 };
const TEXT_LENGTH_MAX = 250;
/** The maximum size of an answer. Outputs, which proxies report, can make records large. */
const ACTIONS_BYTES_MAX = 8 * 1024 * 1024;

/** The maximum size of a report: a program's answer of up to 1 MiB, rewritten by the proxy, and the lease. */
const REPORT_BYTES_MAX = (1024 + 64) * 1024;

/** The parts that the routes of proxies use. */
export interface AgentRoutes {
  readonly agent: Agent;
  /** See reads.ts. */
  readonly lists: Shares;
  /** Returns the answer in a report. Throws an error that names the fault. */
  readonly readAnswer: (report: JsonMap) => Answer;
  /** Authenticates a client again after a wait, because a commit may have removed it. */
  readonly authenticate: RequestStep;
  readonly streams: Pick<EventStreams, 'ending'>;
}

/** Returns the routes below `/agent`. */
export function agentRoutes({ agent, lists, readAnswer, authenticate, streams }: AgentRoutes): RouteTable {
  const isAgent = allow('take actions');

  async function list(request: RouteRequest, response: Response): Promise<void> {
    const limit = queryNumber(request, 'limit', LIMIT);
    await lists.run(fingerprintOf(request), async () => {
      if (response.destroyed) return;
      requireAllowed(request);
      response.setHeader('Cache-Control', 'no-store');
      await sendBody(response, 200, cutText(writeActions(agent.actions(clientOf(request), limit))));
    });
  }

  async function claim(request: RouteRequest, response: Response): Promise<void> {
    const { request: key = null } = readFields(request.body, { request: TEXT });
    if (key !== null && key.length > TEXT_LENGTH_MAX) throw tooLong('request');
    response.setHeader('Cache-Control', 'no-store');
    sendJson(response, 200, await agent.claim(callerOf(request), request.params.id, key));
  }

  function heartbeat(request: RouteRequest, response: Response): void {
    agent.heartbeat(clientOf(request), request.params.id, leaseIn(request.body));
    sendEnvelope(response, 200, `${request.params.id} is under way`);
  }

  async function report(request: RouteRequest, response: Response): Promise<void> {
    const { lease, entry, ...answer } = bodyOf(request);
    const result = {
      lease: leaseIn(lease === undefined ? {} : { lease }),
      answer: { ...answerIn(readAnswer, answer), ...entryIn(entry === undefined ? {} : { entry }) },
    };
    await agent.report(clientOf(request), request.params.id, result);
    sendEnvelope(response, 200, `The report of ${request.params.id} is recorded`);
  }

  return {
    '/agent/actions': { GET: [isAgent, waitForActions(agent, streams), authenticate, isAgent, list] },
    '/agent/actions/:id/claim': { POST: [isAgent, jsonBody(), claim] },
    '/agent/actions/:id/heartbeat': { POST: [isAgent, jsonBody(), heartbeat] },
    '/agent/actions/:id/report': { POST: [isAgent, jsonBody(REPORT_BYTES_MAX), report] },
  };
}

function waitForActions(agent: Agent, streams: AgentRoutes['streams']): RequestHandler<PathParams> {
  return async (request, response, next) => {
    const seconds = queryNumber(request, 'wait', WAIT);
    queryNumber(request, 'limit', LIMIT);
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const ended = AbortSignal.any([gone.signal, streams.ending]);
    if (seconds > 0) await agent.wait(clientOf(request), seconds * 1000, ended);
    if (!gone.signal.aborted) next();
  };
}

/** Writes as many actions as fit into one answer, at least one. The others are offered again. */
function writeActions(actions: Iterable<AgentAction>): string {
  const texts: string[] = [];
  let bytes = 0;
  for (const action of actions) {
    const text = JSON.stringify(action);
    bytes += Buffer.byteLength(text);
    if (texts.length > 0 && bytes > ACTIONS_BYTES_MAX) break;
    texts.push(text);
  }
  return `{"actions":[${texts.join(',')}]}`;
}

function leaseIn(body: unknown): string {
  const { lease } = readFields(body, { lease: TEXT });
  if (lease !== undefined && lease !== '' && lease.length <= TEXT_LENGTH_MAX) return lease;
  throw lease
    ? tooLong('lease')
    : new ServiceError('invalid_input', '"lease" is missing: the answer to the claim has it');
}

function entryIn(body: unknown): Pick<Answer, 'entry'> {
  const { entry } = readFields(body, { entry: TEXT });
  if (entry === undefined) return {};
  if (entry.length > TEXT_LENGTH_MAX) throw tooLong('entry');
  return { entry };
}

function answerIn(readAnswer: AgentRoutes['readAnswer'], answer: JsonMap): Answer {
  try {
    return readAnswer(answer);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'AnswerError') throw error;
    throw new ServiceError('invalid_input', `This is not a valid report: ${error.message}`);
  }
}

function tooLong(field: string): ServiceError {
  return new ServiceError('invalid_input', `"${field}" is longer than ${TEXT_LENGTH_MAX} characters`);
}
