// Builds the part of reconciling that concerns proxies, out of the parts of the reconciler.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { RepeatedErrors } from '../base/throttles.ts';
import type { Executor } from '../execute/executor.ts';
import { plainRecord } from '../hiera/record.ts';
import { decide } from '../machine/decide.ts';
import { PROXIED } from '../model/names.ts';
import type { NodeRecord } from '../model/record.ts';
import type { ServerRow } from '../model/rows.ts';
import type { ProviderRegistry } from '../providers/provider-registry.ts';
import { type ContextSources, decisionContextOf } from './decision-context.ts';
import { unknownActionSign } from './earlier-controller.ts';
import type { KeyedQueue } from './keyed-queue.ts';
import type { Ledger } from './ledger.ts';
import type { ProxyOffers } from './proxy-offers.ts';
import { ProxyWork } from './proxy-work.ts';
import type { ServerPass } from './server-pass.ts';
import type { WakeUps } from './wake-ups.ts';

/** The parts of the reconciler, and its sources. */
export interface ProxyParts {
  readonly ledger: Ledger;
  readonly registry: ProviderRegistry;
  readonly clock: Clock;
  readonly log: Logger;
  readonly executor: Executor;
  readonly wakeUps: WakeUps;
  readonly offers: ProxyOffers;
  readonly queue: Pick<KeyedQueue, 'add'>;
  readonly pass: Pick<ServerPass, 'noteResult' | 'hasResult' | 'judged'>;
  readonly sources: ContextSources;
  readonly recordOf: (server: string) => NodeRecord;
}

/** The claim of a prospective call. */
const ANY_CLAIM = { lease: '', client: '' };

/** Returns the work for proxies; undefined if the registry has no entry for them. */
export function reconcileProxies(parts: ProxyParts): ProxyWork | undefined {
  const { ledger, registry, clock, log, executor, wakeUps, offers, queue, pass, sources, recordOf } = parts;
  const entry = registry.proxied;
  if (entry === undefined) return undefined;
  const rowOf = (server: string): ServerRow | undefined => ledger.server(server);
  const { capacity } = executor;
  const errors = new RepeatedErrors(clock);
  return new ProxyWork({
    ...{ clock, rowOf, recordOf, provider: entry.provider, timeoutSeconds: entry.timeoutSeconds },
    offers,
    waitOf: (server) => wakeUps.waitOf(server),
    grant: (server) => wakeUps.grant(server, PROXIED),
    isInFlight: (server) => capacity.isInFlight(server),
    lostActionEnds: (server, action) => decisionContextOf(server, sources).lostActionEnds(action),
    enqueue: (server) => queue.add(server),
    stepOf(server, tags) {
      const row = rowOf(server);
      const around = { ...sources, hasCapacity: () => true, claimantOf: () => ({ claim: ANY_CLAIM, tags }) };
      return row && !pass.hasResult(server) ? decide(row, decisionContextOf(server, around)) : undefined;
    },
    noteUnknown(id) {
      const signs = unknownActionSign(id, PROXIED, { ledger, registry, graceMs: sources.graceMs, now: clock.now() });
      if (signs.length === 0) return;
      ledger.commit(signs).catch((error) => {
        const told = errors.tell(error);
        const text = 'an action of an earlier controller could not be noted';
        if (told) log.error({ err: error, action: id, ...told }, text);
      });
    },
    conclude(server, result) {
      pass.noteResult(server, pass.judged(server, result));
      queue.add(server);
    },
  });
}

/** Returns a function from a server to its record, or to the last recorded one where it has none. */
export function knownRecords(
  ledger: Pick<Ledger, 'server'>,
  recordOf: (server: string) => NodeRecord,
): (server: string) => NodeRecord {
  return (server) => {
    try {
      return recordOf(server);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      return plainRecord(ledger.server(server)?.lastRecord ?? {});
    }
  };
}
