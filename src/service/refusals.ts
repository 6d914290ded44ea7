// Refuses what there is not, with the name that was perhaps meant.
import { ServiceError } from '../model/service-error.ts';
import { withSuggestion } from '../model/suggest.ts';

/** Throws ServiceError `not_found` for a name that is not among the known ones. `what`: the kind of the object. */
export function unknown(what: string, name: string, known: Iterable<string>): never {
  throw notFound(`There is no ${what} "${name}"`, name, known);
}

/** Returns the error `not_found` with this message, and the known name that was perhaps meant. */
export function notFound(message: string, name: string, known: Iterable<string>): ServiceError {
  return new ServiceError('not_found', withSuggestion(message, name, known));
}
