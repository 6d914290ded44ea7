// Routes of docs/rest.md, hiera. Clients take a 404 here for "ask the next level", so it means an unknown node or key
// and nothing else.
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { type Clock, pause } from '../../base/clock.ts';
import { type ShareLimits, Shares } from '../../base/shares.ts';
import type { NodeAtMoment } from '../../model/record.ts';
import { APPLY_OUTCOMES, type ApplyOutcome } from '../../model/rows.ts';
import { ServiceError } from '../../model/service-error.ts';
import { requireConsumer } from '../../service/deliveries/deliveries.ts';
import type { Operator } from '../../service/operate/operator.ts';
import { AnswerWriter, tagOf, type WrittenAnswer } from '../answer.ts';
import { callerOf, clientOf, type RequestStep } from '../authenticate.ts';
import type { EventStreams } from '../event-streams.ts';
import { jsonBody, readFields, TEXT } from '../json-body.ts';
import { only } from '../only.ts';
import { digestOfTag, hasTag, sendEnvelope } from '../present.ts';
import { queryFlag, queryNumber } from '../query.ts';
import { breathe, read, readList, readsOn } from '../reads.ts';
import type { RouteParts } from './route-parts.ts';

/** Reads that wait for another record than the one that their client has. */
const WAITS: ShareLimits = { ofClient: 100, waitingOfClient: 0 };
const WAIT = { least: 0, most: 60, other: 0 };
/** How late a change is seen. To look costs a few lookups by name where nothing has changed. */
const LOOK_MS = 1_000;

const CONFIRMATION = { digest: TEXT, outcome: TEXT, message: TEXT } as const;

interface HieraRoutes extends RouteParts {
  readonly clock: Clock;
  /** Who waited is authenticated again: a commit may have removed the client meanwhile. */
  readonly authenticate: RequestStep;
  readonly streams: Pick<EventStreams, 'ending'>;
}

type NodeRequest = Request<{ clientcert: string }>;

/** Returns the routes below `/hiera`. */
export function hieraRoutes(routes: HieraRoutes): Router {
  const { reader, operator, cache, lists } = routes;
  const router = Router({ caseSensitive: true });
  const addRead = readsOn(router, { reader, cache });
  router
    .route('/hiera/all')
    .all(only('GET'))
    .get(
      readList({ reader, cache, lists }, (request) => {
        const [isExplained, isInventory] = [queryFlag(request, 'info'), queryFlag(request, 'inventory')];
        const textOf = (node: NodeAtMoment): string => JSON.stringify(isExplained ? node.explained() : node.record());
        return writeRecords(
          reader.as(clientOf(request)).nodes(),
          isInventory ? (node) => withGroup(node, textOf(node)) : textOf,
        );
      }),
    );
  const recordOf = (request: NodeRequest) => {
    const { clientcert } = request.params;
    const reads = reader.as(clientOf(request));
    return { body: queryFlag(request, 'info') ? reads.explainedRecord(clientcert) : reads.record(clientcert) };
  };
  router
    .route('/hiera/:clientcert')
    .all(only('GET'))
    .get(waitForChange(routes, recordOf), read({ reader, cache }, recordOf));
  // Reading it reads a key of that name.
  router
    .route('/hiera/:clientcert/applied')
    .all(only('GET', 'POST'))
    .post(requireConfirming, jsonBody(), confirm(operator));
  addRead<{ clientcert: string; key: string }>('/hiera/:clientcert/:key', (request) => {
    const { clientcert, key } = request.params;
    const reads = reader.as(clientOf(request));
    const body = queryFlag(request, 'info') ? reads.explainedValue(clientcert, key) : reads.value(clientcert, key);
    return { body };
  });
  return router;
}

function requireConfirming(
  request: Request<{ clientcert: string }>,
  _response: Response,
  next: (failure?: unknown) => void,
): void {
  requireConsumer(clientOf(request), request.params.clientcert);
  next();
}

function confirm(operator: Pick<Operator, 'confirm'>): RequestHandler<{ clientcert: string }> {
  return async (request: Request<{ clientcert: string }>, response: Response): Promise<void> => {
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
 * Returns the handler that has a read with `wait` pass once it would not be answered 304, and after so many seconds.
 */
function waitForChange(
  { reader, clock, authenticate, streams }: HieraRoutes,
  recordOf: (request: NodeRequest) => { readonly body: unknown },
): RequestHandler<{ clientcert: string }> {
  const waits = new Shares(WAITS);

  /**
   * Returns a function that returns whether there is another answer than at the last look, and than the one that the
   * client has.
   */
  function changeOf(request: NodeRequest, known: string): () => boolean {
    let seen: readonly unknown[] = [];
    return () => {
      try {
        const sources = reader.as(clientOf(request)).recordSources(request.params.clientcert);
        if (seen.length > 0 && sources.every((each, index) => each === seen[index])) return false;
        seen = sources;
        return !hasTag(known, tagOf(JSON.stringify(recordOf(request).body)));
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        // That is the answer.
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
 * Returns the record of a node beside what a program that lists all nodes needs too: its group, and the tag that the
 * record has alone.
 */
function withGroup({ group }: NodeAtMoment, record: string): string {
  return `{"group":${JSON.stringify(group)},"etag":${JSON.stringify(tagOf(record))},"record":${record}}`;
}

/** Writes what `textOf` returns of each node, as JSON, as one JSON object. */
async function writeRecords(
  nodes: readonly NodeAtMoment[],
  textOf: (node: NodeAtMoment) => string,
): Promise<WrittenAnswer> {
  const answer = new AnswerWriter();
  let before = '{';
  for (const node of nodes) {
    answer.add(`${before}${JSON.stringify(node.name)}:${textOf(node)}`);
    before = ',';
    await breathe();
  }
  answer.add(nodes.length === 0 ? '{}' : '}');
  return answer.end();
}
