// Routes of docs/rest.md, events: the events of all instances, in pages and as a stream.
import { selectInstances } from '../../service/progress/record-reads.ts';
import { writeAnswer } from '../answer.ts';
import { clientOf, findRefusal, logOverShare } from '../authenticate.ts';
import { EVENT_STREAM, type EventStreams } from '../event-streams.ts';
import { fingerprintOf } from '../peer.ts';
import { ANY_ID, queryNumber, queryRange, queryText, queryTexts, readNumber } from '../query.ts';
import { readsFrom } from '../reads.ts';
import type { RouteParts, RouteRequest, RouteTable } from './route-table.ts';

const INSTANCES_MAX = 100;

/** Returns the routes of the events of all instances. */
export function eventRoutes(parts: RouteParts, streams: EventStreams): RouteTable {
  const { reader, operator } = parts;
  const { list } = readsFrom(parts);
  return {
    '/operations/events': {
      GET: list(async (request, client) => {
        const range = { ...queryRange(request), instances: instancesIn(request) };
        return writeAnswer(await operator.listEvents(client, range, queryText(request, 'resource')));
      }),
    },
    '/events': {
      async GET(request, response) {
        const asked = { after: lastIdIn(request), instances: instancesIn(request) };
        if (request.method === 'HEAD') {
          response.writeHead(200, EVENT_STREAM).end();
          return;
        }
        await streams.open({
          ...asked,
          response,
          client: fingerprintOf(request),
          scope: reader.scopeOf(clientOf(request)),
          isAllowed: () => findRefusal(request) === undefined,
          onUnread: () => logOverShare(request, 'events that it does not read'),
        });
      },
    },
  };
}

/** A client that reconnects uses its first URL, and sends the last id that it has read. */
function lastIdIn(request: RouteRequest): number | undefined {
  const lastId = request.headers['last-event-id'];
  if (lastId !== undefined) return readNumber(String(lastId), 'The header Last-Event-ID', ANY_ID);
  return request.query.after === undefined ? undefined : queryNumber(request, 'after', { ...ANY_ID, other: 0 });
}

function instancesIn(request: RouteRequest): ReadonlySet<string> | undefined {
  return selectInstances(queryTexts(request, 'instance', INSTANCES_MAX));
}
