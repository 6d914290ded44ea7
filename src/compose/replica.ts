// Opens the parts that live as long as the process, independent of its role: the shown store and the repository.
import type { AuthenticateOptions } from '../api/authenticate.ts';
import { dashboardAddress } from '../api/dashboard.ts';
import { EventStreams } from '../api/event-streams.ts';
import type { TlsFiles } from '../api/tls/tls-files.ts';
import type { AuditLog } from '../base/audit-log.ts';
import { breatheBy } from '../base/breathe.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { productVersion } from '../base/product-files.ts';
import type { Settings } from '../model/settings.ts';
import type { ClientsSeen } from '../service/progress/clients-seen.ts';
import { type ShownStore, showStore } from './core.ts';
import { openRepository, type Repository } from './open-parts.ts';
import { type OpenedStore, type OpeningParts, openConfiguredStore } from './open-store.ts';

/** The parts of a process that may lead or stand by. */
export interface Replica extends OpenedStore {
  readonly repository: Repository;
  readonly shown: ShownStore;
  readonly streams: EventStreams;
}

/** The dependencies of a role. */
export interface RoleParts {
  readonly settings: Settings;
  readonly replica: Replica;
  readonly ambiguityOf: AuthenticateOptions['ambiguityOf'];
  readonly audit: AuditLog | undefined;
  readonly seen: ClientsSeen;
  /** The certificates and lists of the listener. */
  readonly tls: Pick<TlsFiles, 'ends' | 'failure'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Opens the parts of a replica; `opened` closes them. Waits for a database. Throws if an operator has to act. */
export async function openReplica(settings: Settings, parts: OpeningParts): Promise<Replica> {
  const { log, clock, opened } = parts;
  // First, because files of the repository without a store are evidence of a lost store.
  const store = await openConfiguredStore(settings, parts);
  const repository = await openRepository(settings, { log, clock, opened });
  const shown = showStore(store.store, breatheBy(clock));
  const streams = new EventStreams({ ledger: shown.ledger, commit: () => shown.current.get()?.commit, clock });
  return { repository, ...store, shown, streams };
}

/** Returns the options of the REST listener that do not depend on the role. */
export function listenerOptions({ settings, replica, ambiguityOf, audit, seen, clock, log, metrics }: RoleParts) {
  return {
    streams: replica.streams,
    replica: settings.replica.name,
    controller: { id: settings.id, version: productVersion(), page: settings.page },
    dashboard: dashboardAddress(settings.management),
    proxyReads: settings.api.proxyReads,
    requestsPerSecond: settings.api.requestsPerSecond,
    ambiguityOf,
    audit,
    seen,
    clock,
    log,
    metrics,
  };
}
