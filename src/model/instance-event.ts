// Defines the events of instances: steps of their servers, holds and operations. machine/instance-events.ts makes them.

/** The longest reason of an event, and of an operation, in characters. */
export const REASON_MAX = 1_000;

/** One event of an instance. docs/rest.md, stack instances. */
export interface InstanceEvent {
  /** Greater than the ids of all earlier events of any instance, and never reused. */
  readonly id: number;
  /** RFC 3339, with milliseconds. */
  readonly time: string;
  /** The server; null if the event is about the instance as a whole. */
  readonly resource: string | null;
  /** Previous state; null if the server is new. Of an instance: the status that ends, or null. */
  readonly from: string | null;
  /** New state; null if the server is gone. Of an instance: the status that begins, or null. */
  readonly to: string | null;
  /** For an operator. */
  readonly reason: string;
  /** The commit that caused it, or null. */
  readonly commit: string | null;
  /** Serial of the client that caused it; null if no client did, or if it is not known. */
  readonly client: string | null;
  /** The description of that client when the event was recorded; null if it has none, or it was not recorded. */
  readonly clientName: string | null;
}

/** An event that is not stored yet: the store gives it its id. */
export interface NewEvent extends Omit<InstanceEvent, 'id' | 'clientName'> {
  readonly instance: string;
  /** Omitted: not known. */
  readonly clientName?: string | null;
}

/** The events to return. */
export interface EventRange {
  /** The instances of the events; omitted: all. */
  readonly instances?: ReadonlySet<string> | undefined;
  /** Only events with a greater id. */
  readonly after: number;
  /** Only the newest events with a smaller id. Omitted: the oldest events of the range. */
  readonly before?: number | undefined;
  readonly limit: number;
}

/** An event with its instance. */
export interface ListedEvent {
  /** `*` if it is about every instance. */
  readonly instance: string;
  readonly event: InstanceEvent;
}

/** Events of a range: the oldest, or the newest before `before`. */
export interface ListedPage {
  /** Sorted by id. */
  readonly events: readonly ListedEvent[];
  /** True if events of the range, of at least one instance, were already removed. */
  readonly isGap: boolean;
  /** Id of the newest event of any instance; 0 if there was none. */
  readonly newest: number;
}
