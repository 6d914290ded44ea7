// Holds the events of the embedded store in memory: numbers them, drops the oldest, returns pages. It does not write
// them.

import type {
  EventPage,
  EventRange,
  InstanceEvent,
  ListedEvent,
  ListedPage,
  ListedRange,
  NewEvent,
} from '../model/instance-event.ts';
import { ALL_EVENTS, type KeptEvent } from './piece.ts';

/** How many events are kept. */
export interface EventLimits {
  readonly ofInstance: number;
  readonly ofAll: number;
}

/** The limits of a store: they bound its memory, and what a start reads. ARCHITECTURE.md, "Events and messages". */
export const EVENT_LIMITS: EventLimits = { ofInstance: 1_000, ofAll: 100_000 };

/** Share of all events that remain when there are too many, so that not every event drops another one. */
const KEPT_SHARE = 0.95;

/** The events of one instance. */
interface Track {
  readonly instance: string;
  /** Sorted by id. */
  readonly events: InstanceEvent[];
  /** Id of the newest event that was dropped; 0 if none was. */
  dropped: number;
}

/** An event with its id, or the id of the newest event of an instance that was dropped. */
export interface StoredEvent {
  readonly instance: string;
  readonly event: InstanceEvent | { readonly dropped: number };
}

/** The events of all instances, in memory. */
export class EventLog {
  readonly #limits: EventLimits;
  readonly #tracks = new Map<string, Track>();
  /** What was dropped since it was last taken. */
  #dropped: KeptEvent[] = [];
  #count = 0;
  #lastId = 0;
  /** All events; those that are dropped are taken out once they are as many as the others. */
  #all: ListedEvent[] = [];
  #isSorted = true;
  /** Id of the newest event of any instance that was dropped. */
  #newestDropped = 0;

  constructor(limits: EventLimits = EVENT_LIMITS) {
    this.#limits = limits;
  }

  /**
   * Returns these events with ids, without adding them. An id is at least the time in milliseconds, so that it is not
   * used again after a restore, or after the store was lost.
   */
  number(events: readonly NewEvent[]): readonly StoredEvent[] {
    const numbered: StoredEvent[] = [];
    let last = this.#lastId;
    for (const { instance, time, resource, from, to, reason, commit, client, clientName = null } of events) {
      last = Math.max(last + 1, Date.parse(time));
      numbered.push({ instance, event: { id: last, time, resource, from, to, reason, commit, client, clientName } });
    }
    return numbered;
  }

  /** Adds events in the order of their ids, then drops what exceeds the limits. */
  add(events: readonly StoredEvent[]): void {
    for (const event of events) this.#add(event);
    if (this.#count > this.#limits.ofAll) this.#dropOldest(Math.floor(this.#limits.ofAll * KEPT_SHARE));
    if (this.#all.length > 2 * this.#count + this.#limits.ofInstance) {
      this.#all = this.#all.filter((listed) => this.#isHeld(listed));
    }
  }

  /**
   * Returns what is no longer held since the last call, to be dropped where it is kept, before newer events are
   * written. The old events of an instance that was dropped whole and has new ones stay until there are too many again.
   */
  takeDropped(): readonly KeptEvent[] {
    const dropped = this.#dropped.filter(([instance, id]) => id !== ALL_EVENTS || !this.#tracks.has(instance));
    this.#dropped = [];
    return dropped;
  }

  /** Returns the oldest events of a range; none for an instance that has none. */
  page(instance: string, { after, limit }: EventRange): EventPage {
    const { events, dropped } = this.#tracks.get(instance) ?? { events: [], dropped: 0 };
    const first = findFirst(events, after, ({ id }) => id);
    return { events: events.slice(first, first + limit), isGap: dropped > after };
  }

  /** Returns the oldest events of a range, of several instances or of all. */
  list({ after, limit, instances }: ListedRange): ListedPage {
    const events: ListedEvent[] = [];
    const inOrder = this.#inOrder();
    for (let at = findFirst(inOrder, after, idOf); at < inOrder.length && events.length < limit; at += 1) {
      const listed = inOrder[at] as ListedEvent;
      if ((instances === undefined || instances.has(listed.instance)) && this.#isHeld(listed)) events.push(listed);
    }
    const dropped = instances === undefined ? this.#newestDropped : this.#newestDroppedOf(instances);
    return { events, isGap: dropped > after, newest: this.#lastId };
  }

  #newestDroppedOf(instances: ReadonlySet<string>): number {
    return Math.max(0, ...[...instances].map((instance) => this.#tracks.get(instance)?.dropped ?? 0));
  }

  #isHeld({ instance, event }: ListedEvent): boolean {
    const oldest = this.#tracks.get(instance)?.events[0];
    return oldest !== undefined && oldest.id <= event.id;
  }

  /** Returns all events by id, among them some that were dropped. A file has them by instance. */
  #inOrder(): readonly ListedEvent[] {
    if (!this.#isSorted) this.#all.sort((a, b) => a.event.id - b.event.id);
    this.#isSorted = true;
    return this.#all;
  }

  /** The instances that have events, or had some. */
  get instances(): Iterable<string> {
    return this.#tracks.keys();
  }

  /** Returns everything that has to be written to restore this log. */
  *stored(): Generator<StoredEvent> {
    for (const [instance, { dropped, events }] of this.#tracks) {
      if (dropped > 0) yield { instance, event: { dropped } };
      for (const event of events) yield { instance, event };
    }
  }

  #add({ instance, event }: StoredEvent): void {
    const track = this.#tracks.get(instance) ?? { instance, events: [], dropped: 0 };
    this.#tracks.set(instance, track);
    if ('dropped' in event) {
      this.#dropKept(track, event.dropped);
      return;
    }
    track.events.push(event);
    this.#isSorted &&= this.#all.length === 0 || event.id > this.#lastId;
    this.#all.push({ instance, event });
    this.#count += 1;
    this.#lastId = Math.max(this.#lastId, event.id);
    this.#drop(track, track.events.length - this.#limits.ofInstance);
  }

  /** Drops the oldest events of the instances that have most, until `max` are left. */
  #dropOldest(max: number): void {
    const level = findLevel(
      [...this.#tracks.values()].map(({ events }) => events.length),
      max,
    );
    for (const track of this.#tracks.values()) this.#drop(track, track.events.length - Math.max(1, level));
    if (this.#count <= max) return;
    // There are more instances than events may be: those go about which nothing was told for longest.
    const newestIn = ({ events }: Track): number => events.at(-1)?.id ?? 0;
    for (const [instance, track] of [...this.#tracks].sort(([, a], [, b]) => newestIn(a) - newestIn(b))) {
      if (this.#count <= max) return;
      this.#newestDropped = Math.max(this.#newestDropped, newestIn(track));
      this.#count -= track.events.length;
      this.#tracks.delete(instance);
      this.#dropped.push([instance, ALL_EVENTS, null]);
    }
  }

  #drop(track: Track, count: number): void {
    if (count <= 0) return;
    const dropped = track.events.splice(0, count);
    track.dropped = Math.max(track.dropped, dropped.at(-1)?.id ?? 0);
    this.#newestDropped = Math.max(this.#newestDropped, track.dropped);
    this.#dropped.push([track.instance, track.dropped, null]);
    this.#count -= dropped.length;
  }

  /** Drops what was dropped where it is kept. */
  #dropKept(track: Track, dropped: number): void {
    const gone = track.events.splice(
      0,
      findFirst(track.events, dropped, ({ id }) => id),
    );
    this.#count -= gone.length;
    if (dropped === ALL_EVENTS) {
      this.#tracks.delete(track.instance);
      return;
    }
    track.dropped = Math.max(track.dropped, dropped);
    this.#newestDropped = Math.max(this.#newestDropped, dropped);
    this.#lastId = Math.max(this.#lastId, dropped);
  }
}

function idOf({ event }: ListedEvent): number {
  return event.id;
}

/** Returns the index of the first event with a greater id; their number where there is none. */
function findFirst<Item>(events: readonly Item[], after: number, idIn: (item: Item) => number): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (idIn(events[middle] as Item) > after) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Returns how many events each instance may keep so that at most `max` are left; 0 if not even one. */
function findLevel(counts: readonly number[], max: number): number {
  let low = 0;
  let high = counts.reduce((most, count) => Math.max(most, count), 0);
  while (low < high) {
    const level = Math.ceil((low + high) / 2);
    const total = counts.reduce((sum, count) => sum + Math.min(count, level), 0);
    if (total <= max) low = level;
    else high = level - 1;
  }
  return low;
}

/** Returns an event as it is kept. Null fields are left out. */
export function keptEvent({ instance, event }: StoredEvent): KeptEvent {
  return 'id' in event ? [instance, event.id, JSON.stringify(withoutNulls(event))] : [instance, event.dropped, null];
}

/** Returns the event that {@link keptEvent} wrote. */
export function eventOf([instance, dropped, json]: KeptEvent): StoredEvent {
  return { instance, event: json === null ? { dropped } : ({ ...NO_VALUES, ...JSON.parse(json) } as InstanceEvent) };
}

/** What an event says that has no value of a field, also of one that earlier versions did not know. */
export const NO_VALUES = { resource: null, from: null, to: null, commit: null, client: null, clientName: null };

function withoutNulls(event: InstanceEvent): object {
  return Object.fromEntries(Object.entries(event).filter(([, value]) => value !== null));
}
