// Routes of docs/rest.md, hiera. Clients interpret a 404 as "ask the next level", so it only means an unknown node or
// key.
import type { RequestHandler, Response } from 'express';
import { type Clock, pause } from '../../base/clock.ts';
import { type ShareLimits, Shares } from '../../base/shares.ts';
import type { NodeAtMoment } from '../../model/record.ts';
import { APPLY_OUTCOMES, type ApplyOutcome } from '../../model/rows.ts';
import { ServiceError } from '../../model/service-error.ts';
import { requireConsumer } from '../../service/deliveries/deliveries.ts';
import type { Operator } from '../../service/operate/operator.ts';
import { tagOf, writeTexts } from '../answer.ts';
import { callerOf, clientOf, type RequestStep } from '../authenticate.ts';
import type { EventStreams } from '../event-streams.ts';
import { jsonBody, readFields, TEXT } from '../json-body.ts';
import { digestOfTag, hasTag, sendEnvelope } from '../present.ts';
import { queryFlag, queryNumber } from '../query.ts';
import { breathe, readsFrom } from '../reads.ts';
import type { PathParams, RouteParts, RouteRequest, RouteTable } from './route-table.ts';

/** Reads that wait until the record differs from the client's copy. */
const WAITS: ShareLimits = { ofClient: 100, waitingOfClient: 0 };
const WAIT = { least: 0, most: 60, other: 0 };
/** The interval of checks for a change. Without a change, a check costs a few lookups by name. */
const LOOK_MS = 1_000;

const CONFIRMATION = { digest: TEXT, outcome: TEXT, message: TEXT } as const;

interface Waiting {
  readonly clock: Clock;
  /** Authenticates a client again after a wait, because a commit may have removed it. */
  readonly authenticate: RequestStep;
  readonly streams: Pick<EventStreams, 'ending'>;
}

/** Returns the routes below `/hiera`. */
export function hieraRoutes(parts: RouteParts, waiting: Waiting): RouteTable {
  const { reader, operator } = parts;
  const { cached, cachedList } = readsFrom(parts);
  const recordOf = (request: RouteRequest) => {
    const { clientcert } = request.params;
    const reads = reader.as(clientOf(request));
    return { body: queryFlag(request, 'info') ? reads.explainedRecord(clientcert) : reads.record(clientcert) };
  };
  return {
    '/hiera/all': {
      GET: cachedList((request, client) => {
        const [isExplained, isInventory] = [queryFlag(request, 'info'), queryFlag(request, 'inventory')];
        const textOf = (node: NodeAtMoment): string => JSON.stringify(isExplained ? node.explained() : node.record());
        const nodeOf = (node: NodeAtMoment): string => (isInventory ? withGroup(node, textOf(node)) : textOf(node));
        return writeTexts(textsOfNodes(reader.as(client).nodes(), nodeOf), breathe);
      }),
    },
    '/hiera/:clientcert': { GET: [waitForChange(parts, waiting, recordOf), cached(recordOf)] },
    // A GET of this path reads the key `applied`.
    '/hiera/:clientcert/applied': { POST: [requireConfirming, jsonBody(), confirm(operator)], later: ['GET'] },
    '/hiera/:clientcert/:key': {
      GET: cached((request, client) => {
        const { clientcert, key } = request.params;
        const reads = reader.as(client);
        return {
          body: queryFlag(request, 'info') ? reads.explainedValue(clientcert, key) : reads.value(clientcert, key),
        };
      }),
    },
  };
}

function requireConfirming(request: RouteRequest, _response: Response, next: () => void): void {
  requireConsumer(clientOf(request), request.params.clientcert);
  next();
}

function confirm(operator: Pick<Operator, 'confirm'>) {
  return async (request: RouteRequest, response: Response): Promise<void> => {
    const { digest: tag, outcome, message = '' } = readFields(request.body, CONFIRMATION);
    const digest = digestOfTag(tag ?? '');
    if (digest === undefined) {
      const { clientcert } = request.params;
      throw wrongField('digest', `has to be the ETag of GET /hiera/${clientcert}/, without "info", as it was sent`);
    }
    const confirmation = { digest, outcome: outcomeNamed(outcome ?? ''), message };
    sendEnvelope(response, 200, await operator.confirm(callerOf(request), request.params.clientcert, confirmation));
  };
}

function outcomeNamed(text: string): ApplyOutcome {
  const outcome = APPLY_OUTCOMES.find((known) => known === text);
  if (outcome !== undefined) return outcome;
  throw wrongField('outcome', `has to be one of ${APPLY_OUTCOMES.join(', ')}${text === '' ? '' : `, not "${text}"`}`);
}

function wrongField(name: string, fault: string): ServiceError {
  return new ServiceError('invalid_input', `"${name}" ${fault}`, [{ pointer: `/${name}`, message: fault }]);
}

/**
 * Returns the handler that delays a read with `wait` until its answer would not be 304, or until that many seconds
 * passed.
 */
function waitForChange(
  { reader }: RouteParts,
  { clock, authenticate, streams }: Waiting,
  recordOf: (request: RouteRequest) => { readonly body: unknown },
): RequestHandler<PathParams> {
  const waits = new Shares(WAITS);

  /**
   * Returns a function that returns whether the answer differs from that of its last call and from the client's copy.
   */
  function changeOf(request: RouteRequest, known: string): () => boolean {
    let seen: readonly unknown[] = [];
    return () => {
      try {
        const sources = reader.as(clientOf(request)).recordSources(request.params.clientcert);
        if (seen.length > 0 && sources.every((each, index) => each === seen[index])) return false;
        seen = sources;
        return !hasTag(known, tagOf(JSON.stringify(recordOf(request).body)));
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        // The error is the new answer.
        return true;
      }
    };
  }

  return async (request, response, next) => {
    const seconds = queryNumber(request, 'wait', WAIT);
    const known = request.headers['if-none-match'];
    if (seconds === 0 || known === undefined) return next();
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const hasChanged = changeOf(request, known);
    const ended = AbortSignal.any([gone.signal, streams.ending]);
    await waits.run(clientOf(request).serial, async () => {
      const end = clock.monotonic() + seconds * 1000;
      for (let left = seconds * 1000; left > 0 && !ended.aborted; left = end - clock.monotonic()) {
        if (hasChanged()) return;
        await pause(clock, Math.min(left, LOOK_MS), ended);
      }
    });
    if (!gone.signal.aborted) await authenticate(request, response, next);
  };
}

/**
 * Returns the record of a node with its group and the tag of the single record, for programs that list all nodes.
 */
function withGroup({ group }: NodeAtMoment, record: string): string {
  return `{"group":${JSON.stringify(group)},"etag":${JSON.stringify(tagOf(record))},"record":${record}}`;
}

/** Yields one JSON object in parts: for each node the JSON text of `textOf`. */
function* textsOfNodes(nodes: readonly NodeAtMoment[], textOf: (node: NodeAtMoment) => string): Generator<string> {
  let before = '{';
  for (const node of nodes) {
    yield `${before}${JSON.stringify(node.name)}:${textOf(node)}`;
    before = ',';
  }
  yield nodes.length === 0 ? '{}' : '}';
}
