// Defines who asks for something, and whether it still may: that is asked again wherever a request has waited. See
// ARCHITECTURE.md, "Certificates and rights".
import type { DesiredState } from '../desired/desired-state.ts';
import type { Client } from '../model/objects.ts';
import type { ServiceError } from '../model/service-error.ts';

/** Returns the registered client of a canonical serial. */
export type Registry = (serial: string) => Client | undefined;

/** A client that asks for something. */
export interface Caller {
  /** As it was registered when it asked. */
  readonly by: Client;
  /**
   * Returns why it may not ask any more; undefined while it may. Its certificate and its role are judged by what is in
   * force now; that it is registered, by `registry`: of the state that decides, left out: of the active one.
   */
  readonly refusal: (registry?: Registry) => ServiceError | undefined;
}

/** Returns the registry of a desired state. */
export function registryOf({ clients }: Pick<DesiredState, 'clients'>): Registry {
  return (serial) => clients.get(serial)?.entry.object ?? undefined;
}
