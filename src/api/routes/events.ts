// Routes of docs/rest.md, events: those of all instances, in pages and as a stream.
import { type Request, Router } from 'express';
import type { Shares } from '../../base/shares.ts';
import { type Operator, selectInstances } from '../../service/operate/operator.ts';
import type { Reader } from '../../service/read/reader.ts';
import { writeAnswer } from '../answer.ts';
import { askerOf, clientOf, findRefusal, logOverShare } from '../authenticate.ts';
import { EVENT_STREAM, type EventStreams } from '../event-streams.ts';
import { only } from '../only.ts';
import { fingerprintOf } from '../peer.ts';
import { sendRead } from '../present.ts';
import { ANY_ID, queryNumber, queryRange, queryTexts, readNumber } from '../query.ts';

const INSTANCES_MAX = 100;

interface EventRoutes {
  readonly reader: Pick<Reader, 'recordedCommit' | 'seenBy'>;
  readonly operator: Pick<Operator, 'listEvents'>;
  readonly streams: EventStreams;
  readonly shares: Shares;
}

/** Returns the routes of the events of all instances. */
export function eventRoutes({ reader, operator, streams, shares }: EventRoutes): Router {
  const router = Router({ caseSensitive: true });
  router
    .route('/operations/events')
    .all(only('GET'))
    .get(async (request, response) => {
      const range = { ...queryRange(request), instances: instancesIn(request) };
      const answer = await shares.run(askerOf(request, response), async () => {
        const commit = reader.recordedCommit();
        return { commit, answer: writeAnswer(await operator.listEvents(clientOf(request), range)) };
      });
      if (answer !== undefined) sendRead(request, response, answer);
    });
  router
    .route('/events')
    .all(only('GET'))
    .get(async (request, response) => {
      const asked = { after: lastIdIn(request), instances: instancesIn(request) };
      if (request.method === 'HEAD') response.writeHead(200, EVENT_STREAM).end();
      else {
        await streams.open({
          ...{ ...asked, response, by: clientOf(request), client: fingerprintOf(request) },
          seen: () => reader.seenBy(clientOf(request)),
          isAllowed: () => findRefusal(request) === undefined,
          onUnread: () => logOverShare(request, 'events that it does not read'),
        });
      }
    });
  return router;
}

/** A client that connects again repeats its first address, and tells what it has read. */
function lastIdIn(request: Request): number | undefined {
  const told = request.headers['last-event-id'];
  if (told !== undefined) return readNumber(String(told), 'The header Last-Event-ID', ANY_ID);
  return request.query.after === undefined ? undefined : queryNumber(request, 'after', { ...ANY_ID, other: 0 });
}

function instancesIn(request: Request): ReadonlySet<string> | undefined {
  return selectInstances(queryTexts(request, 'instance', INSTANCES_MAX));
}
