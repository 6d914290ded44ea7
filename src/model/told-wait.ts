// Defines the wait of a server as REST and the command line show it.

/** A wait in the form of the interface. */
export interface ToldWait {
  readonly reason: string;
  /** The server whose change ends the wait; null if something else does. */
  readonly server: string | null;
  /** When it ends at the latest, RFC 3339 with milliseconds; null if unknown. */
  readonly until: string | null;
  /** The command that ends it; null if none does. */
  readonly action: string | null;
}
