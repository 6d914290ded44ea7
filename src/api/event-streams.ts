// Sends events to clients as they are recorded, as server-sent events. One place serves all streams: each event is written as text once,
// and each stream reads by id at the pace of its client, so that it gets every event once and in order. ARCHITECTURE.md, "Events and messages".

import type { ServerResponse } from 'node:http';
import { type Breathe, breatheBy } from '../base/breathe.ts';
import { type Clock, pause } from '../base/clock.ts';
import { keepNewest } from '../base/lists.ts';
import { type ShareLimits, Shares } from '../base/shares.ts';
import type { ListedEvent, ListedPage, ListedRange } from '../model/instance-event.ts';
import type { Client } from '../model/objects.ts';
import { ServiceError } from '../model/service-error.ts';
import { tellEvent } from '../service/progress/record-reads.ts';
import type { Scope } from '../service/scope.ts';

const STREAMS: ShareLimits = { ofClient: 20, waitingOfClient: 0 };
/** What is recorded within so much time is sent together. */
const GATHER_MS = 20;
/** How often a comment shows that the stream lives. A client that reads nothing in between although something waits is cut off. */
const BEAT_MS = 15_000;
/** How soon a client whose stream has ended is to ask again. */
const RETRY_MS = 2_000;
/** An id is about the milliseconds of its time. A replica that is behind may be asked for what comes after a later one, and its clock differ. */
const AHEAD_MAX = 10 * 60_000;
/** No more of it is read, encoded and written at once: a client that reads nothing holds one page. */
const PAGE_EVENTS = 100;
const PAGE_LENGTH = 64 * 1024;
/** Pages that are kept for the streams that have not read so far. */
const PAGES_MAX = 16;

/** What streams tell of: the events that this replica shows, and the commit that it follows. */
interface StreamSources {
  readonly ledger: {
    listEvents(range: ListedRange): Promise<ListedPage>;
    /** Calls `watcher` once there are new events, or another commit is followed. */
    watchEvents(watcher: () => void): void;
  };
  /** Returns the followed commit; undefined where none is. */
  readonly commit: () => string | undefined;
  readonly clock: Clock;
}

/** A client that asks for events. */
interface StreamRequest {
  readonly response: ServerResponse;
  readonly by: Client;
  /** What tells the client from others, as the fingerprint of its certificate. */
  readonly client: string;
  /** Only events with a greater id; undefined: only those that are recorded from now on. */
  readonly after: number | undefined;
  /** Undefined: all. */
  readonly instances: ReadonlySet<string> | undefined;
  /** What the client sees. */
  readonly scope: Scope;
  /** Tells whether the client may still read. Asked before anything is sent. */
  readonly isAllowed: () => boolean;
  /** Called where the client is cut off because it does not read. */
  readonly onUnread: () => void;
}

/** One stream, and how far it is. */
interface Stream extends StreamRequest {
  /** Nothing up to this id is to be sent any more. */
  sent: number;
  commit: string | undefined;
  /** That events are missing was told, and not all of those are passed yet. */
  isGapTold: boolean;
  isBeatDue: boolean;
  /** The client has read nothing since the last beat. */
  isUnread: boolean;
}

/** An event as it is sent. */
interface Frame {
  readonly listed: ListedEvent;
  readonly text: string;
}

/** Events that follow one another, as they are sent to all who may see everything. */
interface Page {
  readonly frames: readonly Frame[];
  readonly bytes: Buffer;
  /** Id of the last of them. */
  readonly last: number;
  readonly isGap: boolean;
  /** Others follow already. */
  readonly isMore: boolean;
}

/** The streams of this process, whether it leads or stands by. */
export class EventStreams {
  readonly #sources: StreamSources;
  readonly #breathe: Breathe;
  readonly #shares = new Shares(STREAMS);
  readonly #streams = new Set<Stream>();
  /** By the id after which they begin, the oldest first. */
  readonly #pages = new Map<number, Page>();
  /** Id of the newest event. */
  #newest = 0;
  #isWoken = false;
  #isSending = false;
  #cancelBeat: (() => void) | undefined;
  #isClosed = false;
  #ending = new AbortController();

  constructor(sources: StreamSources) {
    this.#sources = sources;
    this.#breathe = breatheBy(sources.clock);
    sources.ledger.watchEvents(() => this.#wake());
  }

  /** Sends events until the client is gone or may not read any more. Throws ServiceError where it has too many streams. */
  open(request: StreamRequest): Promise<void> {
    if (this.#isClosed) throw new ServiceError('not_ready', 'This replica is stopping; ask again');
    return this.#shares.run(request.client, () => this.#serve(request));
  }

  /** Fires when all streams end, which long polls do then too. Asked anew for each of them. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** Ends all streams, and refuses new ones. */
  close(): void {
    this.#isClosed = true;
    this.#cancelBeat?.();
    this.endAll();
  }

  /** Ends all streams; their clients connect again. */
  endAll(): void {
    for (const stream of this.#streams) endStream(stream);
    this.#ending.abort();
    if (!this.#isClosed) this.#ending = new AbortController();
  }

  async #serve(request: StreamRequest): Promise<void> {
    const { response } = request;
    const newest = await this.#findNewest();
    const { after = newest } = request;
    const isAhead = after > Math.max(newest, this.#sources.clock.now()) + AHEAD_MAX;
    const sent = isAhead ? newest : after;
    // Its end was told already.
    if (response.destroyed || this.#isClosed) return void response.destroy();
    const stream = { ...request, sent, commit: undefined, isGapTold: false, isBeatDue: false, isUnread: false };
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    response.once('close', resolve);
    response.on('drain', () => {
      stream.isUnread = false;
      this.#wake();
    });
    response.writeHead(200, EVENT_STREAM);
    // Who is cut off before the first event resumes here all the same.
    response.write(`retry: ${RETRY_MS}\nid: ${sent}\n\n${isAhead ? messageOf('gap', { after }) : ''}`);
    this.#streams.add(stream);
    this.#cancelBeat ??= this.#sources.clock.after(BEAT_MS, () => this.#beat());
    this.#wake();
    await closed;
    this.#streams.delete(stream);
  }

  #beat(): void {
    this.#cancelBeat = this.#streams.size === 0 ? undefined : this.#sources.clock.after(BEAT_MS, () => this.#beat());
    for (const stream of this.#streams) {
      const isWaiting = stream.response.writableNeedDrain;
      if (isWaiting && stream.isUnread) {
        stream.onUnread();
        stream.response.destroy();
      }
      stream.isUnread = isWaiting;
      stream.isBeatDue = true;
    }
    this.#wake();
  }

  #wake(): void {
    if (this.#streams.size === 0) return;
    this.#isWoken = true;
    if (!this.#isSending) void this.#sendWhileWoken();
  }

  async #sendWhileWoken(): Promise<void> {
    this.#isSending = true;
    while (this.#isWoken) {
      await pause(this.#sources.clock, GATHER_MS);
      this.#isWoken = false;
      await this.#sendAll();
    }
    this.#isSending = false;
  }

  /** Sends a page to each in turn, until all have everything that their clients read. */
  async #sendAll(): Promise<void> {
    for (let isMore = true; isMore; ) {
      isMore = false;
      this.#newest = await this.#findNewest();
      for (const stream of [...this.#streams]) {
        await this.#breathe();
        if (await this.#send(stream)) isMore = true;
      }
    }
  }

  /** Returns true where more is to be sent to it already. */
  async #send(stream: Stream): Promise<boolean> {
    const { response, sent } = stream;
    // What is left is sent once the client has read.
    if (response.writableNeedDrain) return false;
    const page = sent < this.#newest ? await this.#readPage(sent) : { ...NOTHING, last: sent };
    const isGapNew = page.isGap && !stream.isGapTold && (await this.#isGapOf(stream));
    if (!stream.isAllowed()) endStream(stream);
    if (response.writableEnded || response.destroyed) return false;
    const commit = this.#sources.commit();
    const isFollowed = commit !== undefined && commit !== stream.commit;
    const before = [
      isFollowed ? messageOf('commit', { commit }) : '',
      isGapNew ? messageOf('gap', { after: sent }) : '',
    ].join('');
    const events = bytesFor(stream, page);
    response.cork();
    if (before !== '') response.write(before);
    if (events.length > 0) response.write(events);
    else if (stream.isBeatDue && before === '') response.write(':\n\n');
    response.uncork();
    Object.assign(stream, { sent: page.last, commit, isGapTold: page.isGap, isBeatDue: false });
    return page.isMore;
  }

  async #findNewest(): Promise<number> {
    return (await this.#sources.ledger.listEvents({ after: 0, limit: 0, instances: new Set() })).newest;
  }

  async #isGapOf({ sent, instances, scope }: Stream): Promise<boolean> {
    if (instances === undefined || !scope.isWhole) return true;
    return (await this.#sources.ledger.listEvents({ after: sent, limit: 0, instances })).isGap;
  }

  /** Nothing is recorded later between two events: what was read once stays right. */
  async #readPage(after: number): Promise<Page> {
    const known = this.#pages.get(after);
    if (known !== undefined) return known;
    const { events, isGap } = await this.#sources.ledger.listEvents({ after, limit: PAGE_EVENTS });
    const frames: Frame[] = [];
    for (
      let length = 0;
      length < PAGE_LENGTH && frames.length < events.length;
      length += frames.at(-1)?.text.length ?? 0
    ) {
      const listed = events[frames.length] as ListedEvent;
      frames.push({ listed, text: frameOf(listed, EVERYTHING) });
    }
    const page = {
      ...{ frames, isGap, bytes: Buffer.from(frames.map(({ text }) => text).join('')) },
      last: frames.at(-1)?.listed.event.id ?? after,
      isMore: frames.length < events.length || events.length === PAGE_EVENTS,
    };
    if (frames.length > 0) keepNewest(this.#pages, [after, page], PAGES_MAX);
    return page;
  }
}

/** Caches must not keep it, and nothing on the way may collect or pack it. */
export const EVENT_STREAM = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
};

const NOTHING: Omit<Page, 'last'> = { frames: [], bytes: Buffer.alloc(0), isGap: false, isMore: false };
/** Who sees everything. */
const EVERYTHING: Pick<Client, 'role' | 'serial'> = { role: 'administrator', serial: '' };

/** Returns the events of a page that the client of a stream has asked for, as it may see them. */
function bytesFor({ by, instances, scope }: Stream, { frames, bytes }: Page): Buffer | string {
  const seesAllClients = by.role !== 'proxy' && scope.isWhole;
  if (instances === undefined && seesAllClients) return bytes;
  return frames
    .filter(({ listed }) => (instances?.has(listed.instance) ?? true) && scope.seesEvent(listed))
    .map(({ listed, text }) => (seesAllClients || listed.event.client === null ? text : frameOf(listed, by)))
    .join('');
}

function frameOf(listed: ListedEvent, by: Pick<Client, 'role' | 'serial'>): string {
  return `id: ${listed.event.id}\n${messageOf('instance', tellEvent(by, listed))}`;
}

function messageOf(event: 'instance' | 'commit' | 'gap', data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** What the client has not read would keep its connection open. */
function endStream({ response }: Stream): void {
  if (response.writableNeedDrain) response.destroy();
  else response.end();
}
