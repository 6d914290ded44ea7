// Defines the events of instances: past steps of their servers, holds and operations. machine/instance-events.ts makes
// them.

/** The longest reason of an event, and of an operation, in characters. */
export const REASON_MAX = 1_000;

/** One event of an instance. docs/rest.md, stack instances. */
export interface InstanceEvent {
  /** Greater than that of every earlier event of any instance, and never used again. */
  readonly id: number;
  /** RFC 3339, with milliseconds. */
  readonly time: string;
  /** The server; null if the event is about the instance as a whole. */
  readonly resource: string | null;
  /** State before; null if the server is new. Of an instance: the status that ends, or null. */
  readonly from: string | null;
  /** State after; null if the server is gone. Of an instance: the status that begins, or null. */
  readonly to: string | null;
  /** For an operator. */
  readonly reason: string;
  /** The commit that caused it; null if an operator did, or none. */
  readonly commit: string | null;
  /** Serial of the client that caused it; null if none of the interface did, or it is not known. */
  readonly client: string | null;
  /** The description of that client when the event was recorded; null if it has none, or it was not recorded. */
  readonly clientName: string | null;
}

/** An event that is not stored yet: the store gives it its id. */
export interface NewEvent extends Omit<InstanceEvent, 'id' | 'clientName'> {
  readonly instance: string;
  /** Left out: not known. */
  readonly clientName?: string | null;
}

/** The events to return. */
export interface EventRange {
  /** The instances that they are about; left out: all. */
  readonly instances?: ReadonlySet<string> | undefined;
  /** Only events with a greater id. */
  readonly after: number;
  /** Only events with a smaller id, and the newest of them. Left out: the oldest events of the range. */
  readonly before?: number | undefined;
  readonly limit: number;
}

/** An event with the instance that it is about. */
export interface ListedEvent {
  /** `*`: it concerns every instance. */
  readonly instance: string;
  readonly event: InstanceEvent;
}

/** Events of a range: the oldest, or the newest before `before`. */
export interface ListedPage {
  /** Sorted by id. */
  readonly events: readonly ListedEvent[];
  /** Events of the range were dropped already, of one of the instances at least. */
  readonly isGap: boolean;
  /** Id of the newest event of any instance; 0 if there was none. */
  readonly newest: number;
}
