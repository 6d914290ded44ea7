// Defines what the service reads of the recorded rows; reconcile/ledger.ts implements it.
import type { EventPage, EventRange } from '../model/instance-event.ts';
import type { RowKind, Rows, ServerRow } from '../model/rows.ts';

/** The rows, as the service reads them. */
export interface RecordedRows {
  server(name: string): ServerRow | undefined;
  read<Kind extends RowKind>(kind: Kind, name: string): Rows[Kind] | undefined;
  list<Kind extends RowKind>(kind: Kind): ReadonlyMap<string, Rows[Kind]>;
  /** Resolves with events of an instance; see Store.events. */
  events(instance: string, range: EventRange): Promise<EventPage>;
  /** Increases with every change of a row, as soon as the index includes it. */
  readonly version: number;
  readonly index: {
    /** Returns a number that changes with every change of a server row of this instance. */
    versionOf(instance: string): number;
    /** Names of the recorded servers of an instance, sorted. */
    serversOf(instance: string): readonly string[];
    /** Names of the servers that gave up on the update that a commit wanted. */
    failedUpdatesOf(commit: string): ReadonlySet<string>;
  };
}

/** One moment, as the service answers it. */
export interface View<Desired> {
  readonly desired: Desired;
  readonly rows: RecordedRows;
  /** Milliseconds since 1970. */
  readonly now: number;
}
