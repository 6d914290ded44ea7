// Builds the error for a name that no stack instance has, with a hint.
import { ServiceError } from '../model/service-error.ts';
import { didYouMean } from '../model/suggest.ts';
import { instanceNames } from './instance-views.ts';
import type { View } from './recorded-rows.ts';
import type { ProgressFacts } from './recorded-view.ts';

/** Returns the error, with the instance that was meant: the owner of a server of that name, or the nearest name. */
export function unknownInstance(view: View<Pick<ProgressFacts, 'units' | 'invalid'>>, name: string): ServiceError {
  const owner = view.rows.server(name)?.instance;
  const advice =
    owner === undefined ? didYouMean(name, instanceNames(view)) : `it is a server of the instance "${owner}"`;
  return new ServiceError('not_found', `There is no stack instance "${name}"${advice === null ? '' : `; ${advice}`}`);
}
