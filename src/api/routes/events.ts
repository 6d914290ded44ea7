// Routes of docs/rest.md, events: those of all instances, in pages and as a stream.
import { type Request, Router } from 'express';
import { selectInstances } from '../../service/progress/record-reads.ts';
import { writeAnswer } from '../answer.ts';
import { clientOf, findRefusal, logOverShare } from '../authenticate.ts';
import { EVENT_STREAM, type EventStreams } from '../event-streams.ts';
import { only } from '../only.ts';
import { fingerprintOf } from '../peer.ts';
import { ANY_ID, queryNumber, queryRange, queryTexts, readNumber } from '../query.ts';
import { readList } from '../reads.ts';
import type { RouteParts } from './route-parts.ts';

const INSTANCES_MAX = 100;

interface EventRoutes extends RouteParts {
  readonly streams: EventStreams;
}

/** Returns the routes of the events of all instances. */
export function eventRoutes({ reader, operator, streams, lists }: EventRoutes): Router {
  const router = Router({ caseSensitive: true });
  router
    .route('/operations/events')
    .all(only('GET'))
    .get(
      readList({ reader, lists }, async (request) => {
        const range = { ...queryRange(request), instances: instancesIn(request) };
        return writeAnswer(await operator.listEvents(clientOf(request), range));
      }),
    );
  router
    .route('/events')
    .all(only('GET'))
    .get(async (request, response) => {
      const asked = { after: lastIdIn(request), instances: instancesIn(request) };
      if (request.method === 'HEAD') response.writeHead(200, EVENT_STREAM).end();
      else {
        await streams.open({
          ...asked,
          response,
          by: clientOf(request),
          client: fingerprintOf(request),
          scope: reader.scopeOf(clientOf(request)),
          isAllowed: () => findRefusal(request) === undefined,
          onUnread: () => logOverShare(request, 'events that it does not read'),
        });
      }
    });
  return router;
}

/** A client that connects again repeats its first address, and sends the last id that it has read. */
function lastIdIn(request: Request): number | undefined {
  const lastId = request.headers['last-event-id'];
  if (lastId !== undefined) return readNumber(String(lastId), 'The header Last-Event-ID', ANY_ID);
  return request.query.after === undefined ? undefined : queryNumber(request, 'after', { ...ANY_ID, other: 0 });
}

function instancesIn(request: Request): ReadonlySet<string> | undefined {
  return selectInstances(queryTexts(request, 'instance', INSTANCES_MAX));
}
