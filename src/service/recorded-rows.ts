// Defines what the service reads of the recorded rows; reconcile/ledger.ts implements it.
import type { EventPage, EventRange } from '../model/instance-event.ts';
import type { RowKind, Rows, ServerRow } from '../model/rows.ts';

/** The rows of one moment; those of the present one until something is awaited. */
export interface RowsAtMoment {
  server(name: string): ServerRow | undefined;
  read<Kind extends RowKind>(kind: Kind, name: string): Rows[Kind] | undefined;
  list<Kind extends RowKind>(kind: Kind): ReadonlyMap<string, Rows[Kind]>;
  readonly index: {
    /** Names of the recorded servers of an instance, sorted. */
    serversOf(instance: string): readonly string[];
  };
}

/** The rows, as the service reads them. */
export interface RecordedRows extends RowsAtMoment {
  /** Resolves with events of an instance; see Store.events. */
  events(instance: string, range: EventRange): Promise<EventPage>;
  /** Increases with every change of a row, as soon as the index includes it. */
  readonly version: number;
  readonly index: RowsAtMoment['index'] & {
    /** Names of the servers that gave up on the update that a commit wanted. */
    failedUpdatesOf(commit: string): ReadonlySet<string>;
  };
}

/** One moment, as the service answers it. */
export interface View<Desired> {
  readonly desired: Desired;
  readonly rows: RowsAtMoment;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The present moment. */
export interface PresentView<Desired> extends View<Desired> {
  readonly rows: RecordedRows;
}
