// Clients that may ask whatever happens, for tests of what comes behind the interface.
import type { Client } from '../../src/model/objects.ts';
import type { Caller } from '../../src/service/caller.ts';

/** Returns a client that loses no rights. */
export function allowed(by: Client): Caller {
  return { by, refusal: () => undefined };
}
