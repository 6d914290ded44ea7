// Decides from the other servers of a site whether a gone server may be created again, because the whole site may
// answer wrongly. A site is a provider entry, or the tags of proxies. docs/decisions/0020.

import { type Clock, type ClockTimes, msSince } from '../../base/clock.ts';
import { countsAsGone, goneMax, goneSince } from '../../machine/drift.ts';
import { siteKeyOfRow } from '../../machine/responsibility.ts';
import type { CallResult } from '../../model/call-result.ts';
import type { ServerRow } from '../../model/rows.ts';
import type { CallInFlight } from '../calls/capacity.ts';
import type { Ledger } from '../ledger.ts';

interface AbsencesOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly ledger: Pick<Ledger, 'server' | 'index'>;
  /** Enqueues a server. */
  readonly wake: (server: string) => void;
}

/** Tracks which sites have found servers, and how many of their servers are gone. */
export class Absences {
  readonly #options: AbsencesOptions;
  /** By site: when the last call that found one of its servers began. */
  readonly #found = new Map<string, ClockTimes>();

  constructor(options: AbsencesOptions) {
    this.#options = options;
  }

  /**
   * Records a found server, and enqueues the servers of its site that wait for this. Without `call`, another process
   * began the call, and nothing is recorded.
   */
  ended(server: string, { kind, answer }: CallResult, call: CallInFlight | undefined): void {
    const { ledger, wake } = this.#options;
    const row = ledger.server(server);
    const site = row && siteKeyOfRow(row);
    if (row === undefined || site === undefined || call === undefined) return;
    // A create does not find an existing server.
    const isFound = answer.outcome === 'done' && (kind === 'check' || row.action?.operation === 'update');
    if (!isFound || row.applied === null) return;
    const before = this.#found.get(site);
    if (before === undefined || before.monotonic < call.claimed.monotonic) this.#found.set(site, call.claimed);
    for (const other of ledger.index.serversAt(site).gone) {
      const gone = ledger.server(other);
      if (gone !== undefined && goneSince(gone) !== undefined) wake(other);
    }
  }

  /**
   * Returns true if a call that began at `since` (milliseconds since 1970) or later has found a server of this row's
   * site.
   */
  isFoundSince(row: ServerRow, since: number): boolean {
    const { clock } = this.#options;
    const found = this.#found.get(siteKeyOfRow(row) ?? '');
    return found !== undefined && msSince(found, clock) <= clock.now() - Math.min(since, clock.now());
  }

  /** Returns true if healing has reached its hourly limit for the site of a server. */
  areMany(server: string, row: ServerRow, now: number): boolean {
    const { ledger } = this.#options;
    const { servers, gone } = ledger.index.serversAt(siteKeyOfRow(row) ?? '');
    const remade = [...gone].filter((other) => {
      const recorded = other === server ? undefined : ledger.server(other);
      return recorded !== undefined && countsAsGone(recorded, now);
    });
    return remade.length >= goneMax(servers.size);
  }
}
