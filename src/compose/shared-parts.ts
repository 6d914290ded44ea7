// Defines the parts that all others are built with.
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { LowdbStoreOptions } from '../store/lowdb-store.ts';

/** The parts that all others are built with. */
export interface SharedParts {
  readonly log: Logger;
  readonly clock: Clock;
  readonly adapting: LowdbStoreOptions['adapting'];
  /** Closes all parts in reverse order. */
  readonly opened: AsyncDisposableStack;
}
