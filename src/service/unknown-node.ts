// Refuses a node or a key that is not there.
import type { DesiredState } from '../desired/desired-state.ts';
import { recordedNodes } from '../desired/node-records.ts';
import { ServiceError } from '../model/service-error.ts';
import type { View } from './recorded-rows.ts';
import { notFound, unknown } from './refusals.ts';

/**
 * Throws `not_found` with a suggestion; `not_ready` for a server whose record is not known, since the client must not go
 * on without it.
 */
export function unknownNode(view: View<DesiredState>, node: string): never {
  if (view.rows.server(node) === undefined) unknown('node', node, recordedNodes(view));
  const message = `The record of "${node}" is not known: the commit that it was merged from is lost; it comes back with the next right version of its instance`;
  throw new ServiceError('not_ready', message);
}

/** Returns the error for a key that the record of a node does not have. `keys`: those that it has. */
export function unknownKey(node: string, key: string, keys: Iterable<string>): ServiceError {
  return notFound(`The record of "${node}" has no key "${key}"`, key, keys);
}
