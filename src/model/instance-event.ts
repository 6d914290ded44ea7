// Defines the events of instances: past steps of their servers, holds and operations. machine/instance-events.ts makes them.

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
  /** For a person. */
  readonly reason: string;
  /** The commit that caused it; null if a person did, or none. */
  readonly commit: string | null;
  /** Serial of the client that caused it; null if none of the interface did, or it is not known. */
  readonly client: string | null;
}

/** An event that is not stored yet: the store gives it its id. */
export interface NewEvent extends Omit<InstanceEvent, 'id'> {
  readonly instance: string;
}

/** The events to return. */
export interface EventRange {
  /** Only events with a greater id. */
  readonly after: number;
  readonly limit: number;
}

/** The oldest events of a range. */
export interface EventPage {
  /** Sorted by id. */
  readonly events: readonly InstanceEvent[];
  /** Events of the range were dropped already: those before the first one here. */
  readonly isGap: boolean;
}
