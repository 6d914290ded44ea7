// Packs large answers with gzip for clients that accept it. Not with Brotli: what it holds while a client does not read is several
// times as much.
import type { IncomingMessage, ServerResponse } from 'node:http';
import compression from 'compression';

/** Below this the headers weigh as much as what compression saves, and an answer is sent as it is. */
export const PACKED_BYTES_MIN = 4 * 1024;

/** Prepares an answer that `next` sends. */
export type Pack = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

/** Returns a handler that packs answers of at least {@link PACKED_BYTES_MIN} bytes. It comes before what answers. */
export function packAnswers(): Pack {
  // It needs nothing of Express but its types.
  const compress = compression({ threshold: PACKED_BYTES_MIN }) as unknown as Pack;
  return (request, response, next) => {
    acceptGzipAlone(request);
    weakenPackedTag(response);
    compress(request, response, next);
  };
}

/** The package has no setting for it: it takes Brotli where it may. */
function acceptGzipAlone({ headers }: IncomingMessage): void {
  const accepted = headers['accept-encoding'];
  if (accepted === undefined) return;
  const others = accepted.split(',').filter((each) => !/^\s*(?:br|deflate)\s*(?:;|$)/i.test(each));
  // A star means all that are not named.
  headers['accept-encoding'] = [...others, 'br;q=0', 'deflate;q=0'].join(',');
}

/**
 * Makes the tag of an answer weak where the answer is sent packed: the bytes are others than those of the plain one, and a
 * strong tag would promise the same. RFC 9110, 8.8.1.
 */
function weakenPackedTag(response: ServerResponse): void {
  const writeHead = response.writeHead.bind(response) as (...head: unknown[]) => ServerResponse;
  response.writeHead = (...head: unknown[]): ServerResponse => {
    const tag = response.getHeader('ETag');
    const isPacked = response.hasHeader('Content-Encoding');
    if (isPacked && typeof tag === 'string' && !tag.startsWith('W/')) response.setHeader('ETag', `W/${tag}`);
    return writeHead(...head);
  };
}
