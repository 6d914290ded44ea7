// Combines the active desired state with the current rows. Every answer is built from such a view.

import type { DesiredState, RefusedCommit } from '../desired/desired-state.ts';
import { isError, placeAndCode } from '../model/problem.ts';
import { ServiceError } from '../model/service-error.ts';
import type { Ledger } from '../reconcile/ledger.ts';

/** The current rows, as the service reads them. */
export interface PresentRows extends Pick<Ledger, 'server' | 'read' | 'list' | 'listEvents' | 'version'> {
  readonly index: Pick<
    Ledger['index'],
    'serversOf' | 'failedUpdatesOf' | 'openUpdates' | 'needingOperator' | 'serversOfEntries' | 'serversOfProxies'
  >;
}

/** The current state for one answer. Valid until the next `await`. */
export interface View {
  readonly desired: DesiredState;
  readonly rows: PresentRows;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The sources of a view. */
export interface ViewSources {
  /** The active desired state, or undefined before the first good commit. */
  readonly desired: () => DesiredState | undefined;
  /** The newest commit, if it is not followed. */
  readonly refused: () => RefusedCommit | undefined;
  /** Returns why no commit is followed yet, in words that every client may read. */
  readonly notReadyReason: () => string;
  readonly rows: PresentRows;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Returns the view of the active desired state. Throws ServiceError `not_ready` while nothing is active. */
export function activeView(sources: ViewSources): View {
  const desired = sources.desired();
  if (desired !== undefined) return { desired, rows: sources.rows, now: sources.now() };
  throw nothingActive(sources);
}

/**
 * Returns the error while no commit is active. No client is registered then, so the message must suit every client.
 */
function nothingActive({ refused, notReadyReason }: ViewSources): ServiceError {
  const newest = refused();
  if (newest?.hold != null) {
    const accept = `start it once on its host with "treeline serve --config FILE --accept-history ${newest.commit}"`;
    const message = `The newest commit ${newest.commit} is held: ${newest.reason}. No client is known; to accept it, ${accept}`;
    return new ServiceError('not_ready', message);
  }
  const mistake = newest?.problems.find(isError);
  const why =
    mistake === undefined
      ? notReadyReason()
      : `the commit ${newest?.commit} is not followed: ${placeAndCode(mistake)}; ${ADVICE}`;
  return new ServiceError(
    'not_ready',
    `No good commit of the stacks repository has been read yet: ${why}. ${REPEATED}`,
  );
}

const ADVICE = '"treeline validate" says more, of the folder of a clone that repository.directory names';
const REPEATED =
  'Treeline retries automatically and logs each failure; after a change of the settings, restart the controller';
