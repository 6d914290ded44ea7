// Knows how and when servers were checked: the age of the last check for creates, and the schedule of servers at rest.
import type { Clock } from '../clock.ts';
import type { Executor } from '../execute/executor.ts';
import type { CheckEnd } from '../machine/decision.ts';
import { proxyTagsOf, responsibleTags } from '../machine/proxy-tags.ts';
import type { CallResult } from '../model/call-result.ts';
import { PROXIED } from '../model/names.ts';
import type { NodeRecord } from '../model/record.ts';
import type { ServerRow } from '../model/rows.ts';
import type { ProviderRegistry } from '../providers/provider-registry.ts';
import type { CheckStep } from './check-plan.ts';
import { CheckSchedule } from './check-schedule.ts';
import { type ClockTimes, FreshChecks } from './fresh-checks.ts';
import type { Ledger } from './ledger.ts';

/** The parts that checks are scheduled with. */
export interface ServerChecksOptions {
  readonly ledger: Pick<Ledger, 'server'>;
  readonly registry: Pick<ProviderRegistry, 'byName' | 'match' | 'proxied'>;
  readonly clock: Clock;
  readonly executor: Pick<Executor, 'capacity' | 'endCheck'>;
  /** In [0, 1). */
  readonly random: () => number;
  /** Concurrent calls of all provider entries. */
  readonly concurrency: number;
  /** Returns the merged configuration of a server. Omitted: no proxy has servers. */
  readonly recordOf?: (server: string) => NodeRecord;
  /** Enqueues a server. */
  readonly wake: (server: string) => void;
}

/** A check that runs. */
interface RunningCheck {
  /** The proxies that it asks. */
  readonly site: string;
  readonly began: ClockTimes;
}

/** All checks that this process has made or will make. */
export class ServerChecks {
  /** The checks of servers at rest. */
  readonly schedule: CheckSchedule;
  readonly #fresh: FreshChecks;
  readonly #running = new Map<string, RunningCheck>();
  readonly #options: ServerChecksOptions;

  constructor(options: ServerChecksOptions) {
    this.#options = options;
    const { ledger, registry, executor, clock } = options;
    this.#fresh = new FreshChecks(clock);
    this.schedule = new CheckSchedule({
      ...{ ...options, capacity: executor.capacity, entryOf: (name) => registry.byName(name) },
      isPulled: (name) => registry.proxied?.name === name,
      rowOf: (server) => ledger.server(server),
      endCall: (server) => executor.endCheck(server),
    });
  }

  /** Returns how the last check of a server that a create may rely on ended; see FreshChecks. */
  lastOf(server: string): CheckEnd | undefined {
    return this.#fresh.of(server, this.#checkerOf(server));
  }

  /** Notes that a check of a server begins. */
  begin(server: string): void {
    this.#running.set(server, { site: this.#siteOf(server), began: this.#fresh.now });
  }

  /** Notes the row that a pass has decided on; null: it is removed. See {@link CheckSchedule.follow}. */
  follow(server: string, row: ServerRow | null, step: CheckStep): void {
    if (row === null) this.#fresh.forget(server);
    this.schedule.follow(server, row, step);
  }

  /** Notes that an action on a server begins: its last check tells nothing any more. */
  forget(server: string): void {
    this.#fresh.forget(server);
  }

  /**
   * Notes how a call has ended. Returns true if the next pass has to conclude it: a routine check that failed is no
   * failed try of the action that may have become due meanwhile, and proxies of a site that is not responsible any more
   * tell nothing of the server.
   */
  ended(server: string, result: CallResult | undefined): boolean {
    const isRoutine = this.schedule.ended(server, result?.answer);
    const running = this.#running.get(server);
    this.#running.delete(server);
    if (result?.kind === 'check' && running !== undefined && running.site !== this.#siteOf(server)) return false;
    const isAnswered = result?.answer.outcome === 'done' || result?.answer.outcome === 'absent';
    // A create needs a check of its own: one answer to a routine check makes no server.
    if (result?.kind === 'check' && !isRoutine && running !== undefined) {
      const checker = checkerOf(result.provider, running.site);
      this.#fresh.note(server, isAnswered ? 'answered' : 'failed', { checker, began: running.began });
    }
    return result !== undefined && !(isRoutine && !isAnswered);
  }

  #matchOf(server: string): string | undefined {
    const { ledger, registry } = this.#options;
    const wanted = ledger.server(server)?.wanted ?? null;
    return wanted === null ? undefined : registry.match(wanted)?.name;
  }

  /** Returns the proxies that the next check of a server asks, or would ask; empty for those of a provider entry. */
  #siteOf(server: string): string {
    const row = this.#options.ledger.server(server);
    const tags = this.#tagsOf(server);
    return siteOf((row && responsibleTags(row, tags)) ?? tags);
  }

  /** Returns who has to have checked a server for a create to rely on it. */
  #checkerOf(server: string): string {
    const row = this.#options.ledger.server(server);
    const provider = row?.wanted === null ? row.provider : this.#matchOf(server);
    return checkerOf(provider ?? '', siteOf(this.#tagsOf(server)));
  }

  /** Returns the tags of the proxies that are to have a server; of one that nobody wants, those that made it. */
  #tagsOf(server: string): readonly string[] {
    const row = this.#options.ledger.server(server);
    if (row?.wanted === null) return (row.provider === PROXIED && row.proxyTags) || [];
    return this.#matchOf(server) === PROXIED ? proxyTagsOf(this.#options.recordOf?.(server) ?? {}) : [];
  }
}

/** Returns tags of proxies as one text, to compare them. */
function siteOf(tags: readonly string[]): string {
  return tags.join('\n');
}

/** Returns a provider entry and the proxies that it asks as one text, to compare them. */
function checkerOf(provider: string, site: string): string {
  return `${provider}\n${site}`;
}
