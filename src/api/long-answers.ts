// Sends long answers as fast as their clients read, and holds a text once, however many clients are sent it: a client that
// stops reading keeps a piece of it in memory, and not a copy of its own.
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { SerializedAnswer } from './answer-cache.ts';

/** Characters that are written at once. A text that is not longer is sent as it is. */
const PIECE_LENGTH = 128 * 1024;

/** The long answers that somebody holds, by tag. */
const held = new Map<string, WeakRef<SerializedAnswer>>();
const released = new FinalizationRegistry<string>((etag) => {
  if (held.get(etag)?.deref() === undefined) held.delete(etag);
});

/** Returns true for an answer that is sent in pieces. */
export function isLong({ json }: SerializedAnswer): boolean {
  return json.length > PIECE_LENGTH;
}

/** Returns the answer with the same text that somebody holds; else this one. */
export function shareLong(answer: SerializedAnswer): SerializedAnswer {
  if (!isLong(answer)) return answer;
  const same = held.get(answer.etag)?.deref();
  if (same !== undefined) return same;
  held.set(answer.etag, new WeakRef(answer));
  released.register(answer, answer.etag);
  return answer;
}

/** Sends a long answer whose head is written. */
export async function sendLong(response: ServerResponse, answer: SerializedAnswer): Promise<void> {
  await sendPieces(response, piecesOf(answer));
}

/** Sends as fast as the client reads. One that goes away in between is no failure. */
export async function sendPieces(response: ServerResponse, pieces: Iterable<string>): Promise<void> {
  let goOn = (): void => undefined;
  for (const event of ['drain', 'close'] as const) response.on(event, () => goOn());
  for (const piece of pieces) {
    if (response.destroyed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    goOn = resolve;
    if (!response.write(piece)) await promise;
    else await setImmediate();
  }
  response.end();
}

/** Holds the answer, and not the text alone, until the last piece is taken: that is what others find. */
function* piecesOf(answer: SerializedAnswer): Generator<string> {
  for (let start = 0; start < answer.json.length; ) {
    const end = start + PIECE_LENGTH;
    // Two surrogates are one character, and encoded together.
    const isCut = /[\ud800-\udbff]/.test(answer.json.charAt(end - 1));
    const next = isCut ? end + 1 : end;
    yield answer.json.slice(start, next);
    start = next;
  }
}
