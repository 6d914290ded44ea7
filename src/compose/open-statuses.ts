// Opens the reporter of commit statuses, where the settings name a forge.
import type { Clock } from '../clock.ts';
import type { CurrentState } from '../follow/current-state.ts';
import type { Logger } from '../log.ts';
import type { Settings } from '../model/settings.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import { stallsIn } from '../reconcile/stall-graph.ts';
import { takesProgress } from '../statuses/forge-request.ts';
import { createSendStatus } from '../statuses/send-status.ts';
import { StatusReporter } from '../statuses/status-reporter.ts';

interface OpeningParts {
  readonly current: CurrentState;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: () => number;
}

/** Returns a running reporter; undefined where no forge is configured. The caller has to stop it. */
export function openStatuses(
  { id, statuses }: Pick<Settings, 'id' | 'statuses'>,
  { current, ledger, clock, log, random }: OpeningParts,
): StatusReporter | undefined {
  if (statuses === null) return undefined;
  return new StatusReporter({
    ...{ current, ledger, clock, log, random },
    stallsOf: stallsIn(ledger, clock),
    sentTo: `${statuses.apiUrl} ${statuses.project} ${id}`,
    send: createSendStatus(statuses, { id, clock }),
    takesProgress: takesProgress(statuses.kind),
  });
}
