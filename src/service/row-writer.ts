// The contract of what operations write: reconcile/row-requests.ts implements it.
import type { OperationTarget } from '../machine/instance-events.ts';
import type { ServerRow } from '../model/rows.ts';
import type { HeldItem, Order } from './operator.ts';

/** Writes what is asked of the recorded rows. */
export interface RowWriter {
  approve<Item extends HeldItem>(find: () => Item, asked: Asked): Promise<Item>;
  suspend(instance: string | null, asked: Asked & { readonly until: string | null }): Promise<void>;
  resume(instance: string | null, asked: Asked): Promise<void>;
  /** Records the event of an operation that changes no row. */
  tell(about: OperationTarget, asked: Asked & { readonly operation: string }): Promise<void>;
  /** Returns how many of these servers `change` returned a row for. */
  change(servers: readonly string[], request: RowChange): Promise<number>;
}

/** One operation that changes rows of servers. */
export interface RowChange extends Asked {
  readonly operation: string;
  /** Returns undefined for a row that it does not concern. */
  readonly change: (row: ServerRow, now: string) => ServerRow | undefined;
}

/** The person who asks, and the reason. */
export interface Asked {
  /** Serial of the client; null for the machine's own operator. */
  readonly by: string | null;
  readonly reason: string;
  /** Returns why it may not ask any more; asked once nothing else is written. */
  readonly refusal: () => Error | undefined;
}

/** Returns who asks for an operation, for the rows. */
export function askedBy({ by, reason, refusal }: Order): Asked {
  return { by: by.serial, reason, refusal };
}
