// Defines the parts in which rows and events go into a database and come out of it. All databases keep the same.
import type { KeptRow } from './row-json.ts';

/**
 * An event as it is kept. Null in place of its JSON drops it and all older ones of the instance, and marks where they
 * ended; {@link ALL_EVENTS} as the id leaves nothing of the instance.
 */
export type KeptEvent = readonly [instance: string, id: number, value: string | null];

/** Greater than any id. */
export const ALL_EVENTS = Number.MAX_SAFE_INTEGER;

/** A part of a commit. */
export interface Piece {
  readonly rows: readonly KeptRow[];
  readonly events: readonly KeptEvent[];
}

/** What a finished commit came to, in bytes. */
export interface Saved {
  readonly bytes: number;
  /** How many more all rows take now; negative where they take fewer. */
  readonly growth: number;
}

/** Bytes that a row takes beside its kind, name and value. */
export const ROW_FRAME_BYTES = 24;
