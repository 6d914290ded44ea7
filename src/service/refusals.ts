// Builds the errors for unknown names, with a suggestion.

import { withSuggestion } from '../base/wording.ts';
import { recordedNodes } from '../desired/node-records.ts';
import { ServiceError } from '../model/service-error.ts';
import type { Scope } from './scope.ts';
import type { View } from './views.ts';

/** Throws ServiceError `not_found` with a suggestion from `known`. `what`: the kind of the object. */
export function unknown(what: string, name: string, known: Iterable<string>): never {
  throw notFound(`There is no ${what} "${name}"`, name, known);
}

/** Returns the error `not_found` with this message and a suggestion from `known`. */
export function notFound(message: string, name: string, known: Iterable<string>): ServiceError {
  return new ServiceError('not_found', withSuggestion(message, name, known));
}

/**
 * Throws `not_found` with a suggestion; `not_ready` for a server whose record is unknown, since the client must not
 * continue without it.
 */
export function unknownNode(view: View, node: string, scope: Scope): never {
  const row = scope.seesNode(node) ? view.rows.server(node) : undefined;
  if (row === undefined) unknown('node', node, scope.suggested(recordedNodes(view)));
  const next =
    row.wanted === null
      ? 'no commit wants the server any more'
      : 'it comes back with the next valid version of its instance';
  const message = `The record of "${node}" is not known: the commit that it was merged from is lost; ${next}`;
  throw new ServiceError('not_ready', message);
}

/** Returns the error for a key that the record of a node does not have. `keys`: the keys of the record. */
export function unknownKey(node: string, key: string, keys: Iterable<string>): ServiceError {
  return notFound(`The record of "${node}" has no key "${key}"`, key, keys);
}
