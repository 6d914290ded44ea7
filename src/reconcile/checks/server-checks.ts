// Knows how and when servers were checked: the age of the last check for creates, and the schedule of servers at rest.

import type { Clock } from '../../base/clock.ts';
import type { CheckEnd, Next } from '../../machine/decision.ts';
import { RECOVERY } from '../../machine/recovery.ts';
import { fitsProxy, proxyTagsOf, responsibleTags, type Site } from '../../machine/responsibility.ts';
import type { CallResult } from '../../model/call-result.ts';
import { PROXIED } from '../../model/names.ts';
import type { NodeRecord } from '../../model/record.ts';
import type { ServerRow } from '../../model/rows.ts';
import type { ProviderRegistry } from '../../providers/provider-registry.ts';
import type { CallInFlight } from '../calls/capacity.ts';
import type { Ledger } from '../ledger.ts';
import { responsibleProvider } from '../passes/responsible-provider.ts';
import { CheckSchedule, isAnswered } from './check-schedule.ts';
import { FreshChecks } from './fresh-checks.ts';

/** The parts that checks are scheduled with. */
export interface ServerChecksOptions {
  readonly ledger: Pick<Ledger, 'server' | 'read'>;
  readonly registry: Pick<ProviderRegistry, 'byName' | 'match'>;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  /** Returns the merged configuration of a server. Omitted: no proxy has servers. */
  readonly recordOf?: (server: string) => NodeRecord;
  /** Enqueues a server. */
  readonly wake: (server: string) => void;
}

/** All checks that this process has made or will make. */
export class ServerChecks {
  /** The checks of servers at rest. */
  readonly schedule: CheckSchedule;
  readonly #fresh: FreshChecks;
  readonly #options: ServerChecksOptions;

  constructor(options: ServerChecksOptions) {
    this.#options = options;
    const { ledger, registry, clock } = options;
    this.#fresh = new FreshChecks(clock);
    this.schedule = new CheckSchedule({
      ...options,
      entryOf: (name) => registry.byName(name),
      rowOf: (server) => ledger.server(server),
    });
  }

  /**
   * Returns how the last check of a server ended that a create by a proxy with the tags `own` may rely on, or by any if
   * omitted; see FreshChecks.
   */
  lastOf(server: string, own?: readonly string[]): CheckEnd | undefined {
    const { provider, tags } = this.#siteToCheck(server);
    return this.#fresh.of(server, {
      provider,
      tags: own === undefined ? tags : tags?.filter((tag) => own.includes(tag)),
    });
  }

  /** Follows what a pass has decided. See {@link CheckSchedule.follow}. */
  follow(server: string, row: ServerRow | null, next: Next): void {
    if (row === null) this.#fresh.forget(server);
    this.schedule.follow(server, row, next);
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
  ended(server: string, result: CallResult | undefined, call: CallInFlight): boolean {
    const { isRoutine, tags: asked = [] } = call;
    if (isRoutine) this.schedule.ended(server, result?.answer);
    if (result === undefined) return false;
    if (result.kind === 'check') {
      if (!fitsProxy(asked, this.#responsible(server))) return false;
      // A create needs a check of its own: one answer to a routine check makes no server.
      if (!isRoutine) this.#noteCheck(server, result, asked);
    }
    return !isRoutine || isAnswered(result.answer);
  }

  #noteCheck(server: string, { provider, answer }: CallResult, tags: readonly string[]): void {
    // Actions that no row knows may still run: creates rely on checks after the recovery.
    if (this.#options.ledger.read('recovery', RECOVERY) !== undefined) return;
    const end = answer.outcome === 'done' ? 'answered' : answer.outcome === 'absent' ? 'absent' : 'failed';
    this.#fresh.record(server, end, { provider, tags });
  }

  #matchOf(server: string): string | undefined {
    const { ledger, registry } = this.#options;
    const wanted = ledger.server(server)?.wanted ?? null;
    return wanted === null ? undefined : registry.match(wanted)?.name;
  }

  /** Returns the tags of the proxies that the next check of a server may ask; none for that of a provider entry. */
  #responsible(server: string): readonly string[] {
    const row = this.#options.ledger.server(server);
    const tags = this.#tagsOf(server);
    if (row === undefined) return tags;
    // Who is asked next, else what is found would be dropped, and asked for again at once.
    const { name } = responsibleProvider(this.#options.registry, row);
    return name === null || name === PROXIED ? (responsibleTags(row, tags) ?? tags) : [];
  }

  /** Returns who has to have checked a server for a create to rely on it. */
  #siteToCheck(server: string): Site {
    const row = this.#options.ledger.server(server);
    const provider = row?.wanted === null ? row.provider : this.#matchOf(server);
    return { provider: provider ?? '', tags: this.#tagsOf(server) };
  }

  /** Returns the tags of the proxies that are to have a server; of an unwanted one, those that made it. */
  #tagsOf(server: string): readonly string[] {
    const row = this.#options.ledger.server(server);
    if (row?.wanted === null) return (row.provider === PROXIED && row.proxyTags) || [];
    return this.#matchOf(server) === PROXIED ? proxyTagsOf(this.#options.recordOf?.(server) ?? {}) : [];
  }
}
