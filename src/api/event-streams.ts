// Sends events to clients as they are recorded, as server-sent events. Each stream has a loop of its own: it reads a
// page by id, filters it, writes it, and waits until the client has read it or something is recorded. ARCHITECTURE.md,
// "Events and messages".

import type { ServerResponse } from 'node:http';
import type { Clock } from '../base/clock.ts';
import { type ShareLimits, Shares } from '../base/shares.ts';
import { WokenLoop } from '../base/woken-loop.ts';
import type { EventRange, ListedPage } from '../model/instance-event.ts';
import { ServiceError } from '../model/service-error.ts';
import { tellEvent } from '../service/progress/record-reads.ts';
import type { Scope } from '../service/scope.ts';

/** All pages on a management listener are one client. */
const STREAMS: ShareLimits = { ofClient: 100, waitingOfClient: 0 };
/** Events that are recorded within this time are sent together. */
const GATHER_MS = 20;
/**
 * A stream without events sends a comment after this time. A client that has not read a page after this time is cut
 * off.
 */
const BEAT_MS = 15_000;
/** How soon a client connects again after its stream has ended. */
const RETRY_MS = 2_000;
/**
 * An id is about the milliseconds of its time. A replica that lags may be asked for events after a later id, and its
 * clock may differ.
 */
const AHEAD_MAX = 10 * 60_000;
/** The most events of a page. The client must read a page before the next one is read. */
const PAGE_EVENTS = 100;

/** What streams send: the events that this replica shows, and the commit that it follows. */
interface StreamSources {
  readonly ledger: {
    listEvents(range: EventRange): Promise<ListedPage>;
    /** Calls `watcher` once there are new events, or another commit is followed. */
    watchEvents(watcher: () => void): void;
  };
  /** Returns the followed commit; undefined if there is none. */
  readonly commit: () => string | undefined;
  readonly clock: Clock;
}

/** A client that asks for events. */
interface StreamRequest {
  readonly response: ServerResponse;
  /** Identifies the client, as the fingerprint of its certificate. */
  readonly client: string;
  /** Only events with a greater id; undefined: only those that are recorded from now on. */
  readonly after: number | undefined;
  /** Undefined: all. */
  readonly instances: ReadonlySet<string> | undefined;
  /** What the client sees. */
  readonly scope: Scope;
  /** Returns true while the client may still read. Asked before anything is sent. */
  readonly isAllowed: () => boolean;
  /** Called if the client is cut off because it does not read. */
  readonly onUnread: () => void;
}

/** One stream, and how far it is. */
interface Stream extends StreamRequest {
  /** Nothing up to this id is sent any more. */
  sent: number;
  commit: string | undefined;
  /** A gap message was sent, and the stream is still inside that gap. */
  isInGap: boolean;
  /** When something was written last, by the monotonic clock. */
  wroteAt: number;
}

/** The streams of this process, whether it leads or stands by. */
export class EventStreams {
  readonly #sources: StreamSources;
  readonly #shares = new Shares(STREAMS);
  readonly #loops = new Set<WokenLoop>();
  #isClosed = false;
  #ending = new AbortController();

  constructor(sources: StreamSources) {
    this.#sources = sources;
    sources.ledger.watchEvents(() => {
      for (const loop of this.#loops) loop.wakeWithin(GATHER_MS);
    });
  }

  /** Sends events until the client is gone or may not read any more. Throws ServiceError if it has too many streams. */
  open(request: StreamRequest): Promise<void> {
    if (this.#isClosed) throw new ServiceError('not_ready', 'This replica is stopping; ask again');
    return this.#shares.run(request.client, () => this.#serve(request));
  }

  /** Fires when all streams end; long polls end then too. Each of them asks for it anew. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** Ends all streams, and refuses new ones. */
  close(): void {
    this.#isClosed = true;
    this.endAll();
  }

  /** Ends all streams; their clients connect again. */
  endAll(): void {
    this.#ending.abort();
    if (!this.#isClosed) this.#ending = new AbortController();
  }

  async #serve(request: StreamRequest): Promise<void> {
    const { response } = request;
    const ending = this.#ending.signal;
    const stream = await this.#begin(request);
    const end = (): void => endStream(response);
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    response.once('close', resolve);
    ending.addEventListener('abort', end);
    if (response.destroyed) resolve();
    else if (ending.aborted) end();
    const loop = new WokenLoop({ clock: this.#sources.clock, everyMs: BEAT_MS, work: () => this.#send(stream) });
    response.on('drain', () => loop.wakeWithin(0));
    loop.wakeWithin(GATHER_MS);
    this.#loops.add(loop);
    await closed;
    this.#loops.delete(loop);
    ending.removeEventListener('abort', end);
    await loop.close();
  }

  async #begin(request: StreamRequest): Promise<Stream> {
    const { ledger, clock } = this.#sources;
    const { newest } = await ledger.listEvents({ after: 0, limit: 0, instances: new Set() });
    const { after = newest, response } = request;
    const isAhead = after > Math.max(newest, clock.now()) + AHEAD_MAX;
    const sent = isAhead ? newest : after;
    if (!response.destroyed) {
      response.writeHead(200, EVENT_STREAM);
      // A client that is cut off before its first event resumes here as well.
      response.write(`retry: ${RETRY_MS}\nid: ${sent}\n\n${isAhead ? messageOf('gap', { after }) : ''}`);
    }
    return { ...request, sent, commit: undefined, isInGap: false, wroteAt: clock.monotonic() };
  }

  /** Sends the next page, or a comment if nothing was sent for long. Returns true if there may be more to send. */
  async #send(stream: Stream): Promise<boolean> {
    const { response, isAllowed, onUnread } = stream;
    const isLong = this.#sources.clock.monotonic() - stream.wroteAt >= BEAT_MS;
    if (response.writableNeedDrain) {
      if (isLong) onUnread();
      if (isLong) response.destroy();
      return false;
    }
    // If the database cannot be read, the client connects again.
    const page = await this.#nextPage(stream).catch(() => undefined);
    if (page === undefined || !isAllowed()) endStream(response);
    if (page === undefined || response.writableEnded || response.destroyed) return false;
    const { text, isMore } = page;
    if (text === '' && !isLong) return isMore;
    response.write(text === '' ? ':\n\n' : text);
    stream.wroteAt = this.#sources.clock.monotonic();
    return isMore;
  }

  async #nextPage(stream: Stream): Promise<{ readonly text: string; readonly isMore: boolean }> {
    const { scope, instances, sent: after } = stream;
    // Whether a client of limited rights may see an event is decided for each event.
    const range = { after, limit: PAGE_EVENTS, ...(instances && scope.isWhole ? { instances } : {}) };
    const { events, isGap } = await this.#sources.ledger.listEvents(range);
    const messages: string[] = [];
    const commit = this.#sources.commit();
    if (commit !== undefined && commit !== stream.commit) messages.push(messageOf('commit', { commit }));
    if (isGap && !stream.isInGap) messages.push(messageOf('gap', { after }));
    for (const listed of events) {
      const isMeant = (instances?.has(listed.instance) ?? true) && scope.seesEvent(listed);
      if (isMeant) messages.push(`id: ${listed.event.id}\n${messageOf('instance', tellEvent(scope, listed))}`);
    }
    Object.assign(stream, { sent: events.at(-1)?.event.id ?? after, commit, isInGap: isGap });
    return { text: messages.join(''), isMore: events.length === PAGE_EVENTS };
  }
}

/** Caches must not keep it, and nothing on the way may collect or compress it. */
export const EVENT_STREAM = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
};

function messageOf(event: 'instance' | 'commit' | 'gap', data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** A client that does not read would keep its connection open. */
function endStream(response: ServerResponse): void {
  if (response.writableNeedDrain) response.destroy();
  else response.end();
}
