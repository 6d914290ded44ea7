// Defines the client of a request and its rights, which are checked again after each wait of the request. See
// ARCHITECTURE.md, "Certificates and rights".
import type { DesiredState } from '../desired/desired-state.ts';
import type { Client } from '../model/objects.ts';
import type { ServiceError } from '../model/service-error.ts';

/** Returns the registered client of a canonical serial. */
export type Registry = (serial: string) => Client | undefined;

/** A client that sends a request. */
export interface Caller {
  /** The client as it was registered when the request arrived. */
  readonly by: Client;
  /**
   * Returns why the client has lost its rights; undefined while it has them. Its certificate and role are judged by the
   * current state, its registration by `registry` (default: the registry of the active state).
   */
  readonly refusal: (registry?: Registry) => ServiceError | undefined;
}

/** Returns the registry of a desired state. */
export function registryOf({ clients }: Pick<DesiredState, 'clients'>): Registry {
  return (serial) => clients.get(serial)?.entry.object ?? undefined;
}
