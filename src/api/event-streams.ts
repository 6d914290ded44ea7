// Sends recorded events to clients as server-sent events. Each stream has its own loop: it reads a page by id, filters
// it, writes it, and waits until the client has read it or a new event is recorded. ARCHITECTURE.md, "Events and
// messages".

import type { ServerResponse } from 'node:http';
import type { Clock } from '../base/clock.ts';
import { type ShareLimits, Shares } from '../base/shares.ts';
import { WokenLoop } from '../base/woken-loop.ts';
import type { EventRange, ListedPage } from '../model/instance-event.ts';
import { ServiceError } from '../model/service-error.ts';
import { eventView } from '../service/progress/record-reads.ts';
import type { Scope } from '../service/scope.ts';

/** All pages on a management listener count as one client. */
const STREAMS: ShareLimits = { ofClient: 100, waitingOfClient: 0 };
/** Events that are recorded within this time are sent together. */
const GATHER_MS = 20;
/**
 * An idle stream sends a comment after this time. A client that has not read a page after this time is disconnected.
 */
const HEARTBEAT_MS = 15_000;
/** How soon a client connects again after its stream has ended. */
const RETRY_MS = 2_000;
/**
 * An id is about its time in milliseconds. A client may ask a lagging replica for events after a later id, and clocks
 * may differ.
 */
const AHEAD_MAX = 10 * 60_000;
/** The maximum number of events of a page. The next page is read from the store when the client has read this one. */
const PAGE_EVENTS = 100;

/** The sources of streams: the events of this replica, and its followed commit. */
interface StreamSources {
  readonly ledger: {
    listEvents(range: EventRange): Promise<ListedPage>;
    /** Calls `watcher` when new events are recorded or another commit is followed. */
    watchEvents(watcher: () => void): void;
  };
  /** Returns the followed commit; undefined if there is none. */
  readonly commit: () => string | undefined;
  readonly clock: Clock;
}

/** A request for a stream. */
interface StreamRequest {
  readonly response: ServerResponse;
  /** Identifies the client, as the fingerprint of its certificate. */
  readonly client: string;
  /** Only events with a greater id; undefined: only new events. */
  readonly after: number | undefined;
  /** Undefined: all. */
  readonly instances: ReadonlySet<string> | undefined;
  /** What the client sees. */
  readonly scope: Scope;
  /** Returns true while the client may still read. Called before each send. */
  readonly isAllowed: () => boolean;
  /** Called when the client is disconnected because it does not read. */
  readonly onUnread: () => void;
}

/** One stream and its progress. */
interface Stream extends StreamRequest {
  /** The last id that was sent or skipped. */
  sent: number;
  commit: string | undefined;
  /** True if a gap message was sent and the stream is still inside that gap. */
  isInGap: boolean;
  /** The time of the last write, by the monotonic clock. */
  wroteAt: number;
}

/** The streams of this process, as leader or standby. */
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
    if (this.#isClosed) throw new ServiceError('not_ready', 'This replica is stopping; try again');
    return this.#shares.run(request.client, () => this.#serve(request));
  }

  /** Aborts when all streams and long polls end. Read it anew for each request, since it is replaced then. */
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
    const loop = new WokenLoop({ clock: this.#sources.clock, everyMs: HEARTBEAT_MS, work: () => this.#send(stream) });
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
      // The id lets a client resume here even if it is disconnected before its first event.
      response.write(`retry: ${RETRY_MS}\nid: ${sent}\n\n${isAhead ? messageOf('gap', { after }) : ''}`);
    }
    return { ...request, sent, commit: undefined, isInGap: false, wroteAt: clock.monotonic() };
  }

  /** Sends the next page, or a comment if the stream was idle for long. Returns true if there may be more to send. */
  async #send(stream: Stream): Promise<boolean> {
    const { response, isAllowed, onUnread } = stream;
    const isLong = this.#sources.clock.monotonic() - stream.wroteAt >= HEARTBEAT_MS;
    if (response.writableNeedDrain) {
      if (isLong) onUnread();
      if (isLong) response.destroy();
      return false;
    }
    // If the database cannot be read, end the stream: the client connects again.
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
    // For a limited client, each event is judged below.
    const range = { after, limit: PAGE_EVENTS, ...(instances && scope.isWhole ? { instances } : {}) };
    const { events, isGap } = await this.#sources.ledger.listEvents(range);
    const messages: string[] = [];
    const commit = this.#sources.commit();
    if (commit !== undefined && commit !== stream.commit) messages.push(messageOf('commit', { commit }));
    if (isGap && !stream.isInGap) messages.push(messageOf('gap', { after }));
    for (const listed of events) {
      const isMeant = (instances?.has(listed.instance) ?? true) && scope.seesEvent(listed);
      if (isMeant) messages.push(`id: ${listed.event.id}\n${messageOf('instance', eventView(scope, listed))}`);
    }
    Object.assign(stream, { sent: events.at(-1)?.event.id ?? after, commit, isInGap: isGap });
    return { text: messages.join(''), isMore: events.length === PAGE_EVENTS };
  }
}

/** Forbids caches to keep the stream, and proxies to buffer or compress it. */
export const EVENT_STREAM = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
};

function messageOf(event: 'instance' | 'commit' | 'gap', data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Ends the answer. Destroys it if the client does not read, because the connection would stay open. */
function endStream(response: ServerResponse): void {
  if (response.writableNeedDrain) response.destroy();
  else response.end();
}
