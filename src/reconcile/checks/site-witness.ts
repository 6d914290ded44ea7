// Tells whether a site answers rightly that servers are gone: whether others of it are found, and how many are gone. A
// site is a provider entry, or the tags of proxies. docs/decisions/0020.

import type { Clock } from '../../base/clock.ts';
import { countsAsGone, goneMax, isAtRest, isGoneToHeal, isMissed } from '../../machine/drift.ts';
import { siteKeyOfRow } from '../../machine/responsibility.ts';
import type { CallResult } from '../../model/call-result.ts';
import type { ServerRow } from '../../model/rows.ts';
import type { ProviderRegistry } from '../../providers/provider-registry.ts';
import type { CallInFlight, Capacity } from '../calls/capacity.ts';
import type { Ledger } from '../ledger.ts';

/** How long an unwanted server that was not found counts. */
const FORGOTTEN_MS = 3_600_000;
/** So many servers of a site are checked at once when one of it is gone. */
const WITNESSES = 3;
/** After this time others of the site are checked once more; then after twice that, up to `checkSeconds`. */
const WITNESS_MS = 30_000;
/** So often they are checked; where none of them is found, none is known to be there. */
const TRIES = 5;

/** How often others of a site were checked since one of it was found, and until when, by the monotonic clock, that lasts. */
interface Tries {
  readonly count: number;
  readonly until: number;
}

interface SiteWitnessOptions {
  readonly ledger: Pick<Ledger, 'server' | 'index'>;
  readonly registry: Pick<ProviderRegistry, 'byName'>;
  readonly clock: Clock;
  readonly capacity: Pick<Capacity, 'lastNumber'>;
  /** Has a server checked as soon as there is capacity. */
  readonly requestCheck: (server: string) => void;
  /** Enqueues a server. */
  readonly wake: (server: string) => void;
}

/** What is known in this process about the sites whose servers were found gone. */
export class SiteWitness {
  readonly #options: SiteWitnessOptions;
  /** Sites of which a check or an update has found a server that began after the last one was found gone. */
  readonly #found = new Set<string>();
  /** By site, the number of the last call that was begun when one of its servers was last found gone. */
  readonly #lastAbsence = new Map<string, number>();
  /** By site, servers that wait until another one is looked at. */
  readonly #waiting = new Map<string, Set<string>>();
  readonly #tries = new Map<string, Tries>();
  /** By site, when an unwanted server was not found and forgotten, by the monotonic clock. */
  readonly #forgotten = new Map<string, number>();

  constructor(options: SiteWitnessOptions) {
    this.#options = options;
  }

  /** Notes how a call has ended, before its row is written; without `call` another process has begun it. */
  ended(server: string, { kind, answer: { outcome } }: CallResult, call: CallInFlight | undefined): void {
    const row = this.#options.ledger.server(server);
    const site = row && siteKeyOfRow(row);
    if (row === undefined || site === undefined) return;
    if (outcome === 'done') this.#answers(site);
    if (row.applied === null) return;
    const isFound = outcome === 'done' && (kind === 'check' || row.action?.operation === 'update');
    // A call that began before the site went away may have looked at it then.
    if (isFound && !this.#found.has(site)) this.#finds(site, (call?.number ?? 0) > (this.#lastAbsence.get(site) ?? 0));
    if (outcome !== 'absent' || row.observed === null) return;
    this.#lastAbsence.set(site, this.#options.capacity.lastNumber);
    this.#found.delete(site);
  }

  /** Notes that the row of a server is about to be removed, and how its last call has ended, if one has. */
  forgets(row: ServerRow, result: CallResult | undefined): void {
    const site = siteKeyOfRow(row);
    const isGone = row.applied !== null && result?.answer.outcome === 'absent';
    if (isGone && site !== undefined) this.#forgotten.set(site, this.#options.clock.monotonic());
  }

  /** Notes that a server of a site is found. Those that updates did not find are looked at again: they may be made now. */
  #finds(site: string, isSince: boolean): void {
    const { ledger, requestCheck } = this.#options;
    if (isSince) this.#found.add(site);
    for (const server of ledger.index.serversAt(site).gone) {
      const row = ledger.server(server);
      if (row !== undefined && isMissed(row)) requestCheck(server);
    }
  }

  /** Notes that a site answers: the tries start over, yet not sooner after the last one than after any. */
  #answers(site: string): void {
    const tries = this.#tries.get(site);
    if (tries === undefined) return;
    const until = Math.min(tries.until, this.#options.clock.monotonic() + WITNESS_MS);
    this.#tries.set(site, { count: 0, until });
  }

  /** Notes that a row is written: those that wait for its site may go on. */
  passed(row: ServerRow): void {
    const site = siteKeyOfRow(row) ?? '';
    const waiting = this.#waiting.get(site);
    if (waiting === undefined) return;
    this.#waiting.delete(site);
    for (const server of waiting) this.#options.wake(server);
  }

  /**
   * Returns until when a server waits that is to be made again, since it is gone, while it is not known yet whether its whole
   * site is: another server of the site has to be found first, or all of them gone, or none of them answers.
   */
  awaitedUntil(server: string, row: ServerRow): number | undefined {
    const site = siteKeyOfRow(row) ?? '';
    if (!isGoneToHeal(row) || this.#othersAre(server, site) !== 'awaited') return undefined;
    this.#waiting.set(site, (this.#waiting.get(site) ?? new Set()).add(server));
    const { clock } = this.#options;
    return clock.now() + this.#triesNow(row, site).until - clock.monotonic();
  }

  /** Has others of the site checked, for which a server waits; not while they were asked for a moment ago. */
  summon(server: string, row: ServerRow): void {
    const site = siteKeyOfRow(row) ?? '';
    const tries = this.#triesNow(row, site);
    if (tries === this.#tries.get(site)) return;
    this.#tries.set(site, tries);
    const others = this.#others(server, site, isPresent);
    for (const other of others.take(WITNESSES)) this.#options.requestCheck(other);
  }

  /** Returns true if others of its site are known, so that the absence of this one may be that of the site. */
  hasOthers(server: string, row: ServerRow): boolean {
    const site = siteKeyOfRow(row) ?? '';
    return (
      this.#hasForgotten(site) || this.#others(server, site, (other) => other.applied !== null).next().done !== true
    );
  }

  /**
   * Returns true if a server and others of its site are more than may be gone without a person, or if none of the others is
   * there as far as is known.
   */
  areManyGone(server: string, row: ServerRow): boolean {
    const { ledger, clock } = this.#options;
    const site = siteKeyOfRow(row) ?? '';
    const { servers, gone } = ledger.index.serversAt(site);
    let left = goneMax(servers.size);
    for (const other of gone) {
      const recorded = other === server ? undefined : ledger.server(other);
      if (recorded !== undefined && countsAsGone(recorded, clock.now())) left -= 1;
      if (left <= 0) return true;
    }
    return this.#othersAre(server, site) === 'gone' && this.hasOthers(server, row);
  }

  /** Returns the tries with the one that lasts, or with the one that begins now. */
  #triesNow(row: ServerRow, site: string): Tries {
    const { clock, registry } = this.#options;
    const tries = this.#tries.get(site);
    const now = clock.monotonic();
    if (tries !== undefined && now < tries.until) return tries;
    const count = tries?.count ?? 0;
    const checkMs = (registry.byName(row.provider ?? '')?.checkSeconds ?? 0) * 1000;
    return { count: count + 1, until: now + Math.min(WITNESS_MS * 2 ** count, Math.max(WITNESS_MS, checkMs)) };
  }

  /**
   * Returns what is known of the other servers of a site since one was found gone: one of them is found; one that was there
   * may still be; or none of them is there, or answered as often as they are checked.
   */
  #othersAre(server: string, site: string): 'found' | 'awaited' | 'gone' {
    if (this.#found.has(site)) return 'found';
    const { count, until } = this.#tries.get(site) ?? { count: 0, until: 0 };
    if (count >= TRIES && until <= this.#options.clock.monotonic()) return 'gone';
    const present = this.#others(server, site, (row) => isPresent(row) || isAtWork(row));
    return present.next().done === true ? 'gone' : 'awaited';
  }

  #others(server: string, site: string, isMeant: (row: ServerRow) => boolean): IteratorObject<string> {
    const { ledger } = this.#options;
    const { servers } = ledger.index.serversAt(site);
    return servers.values().filter((other) => {
      const recorded = other === server ? undefined : ledger.server(other);
      return recorded !== undefined && isMeant(recorded);
    });
  }

  /** Returns true if an unwanted server of a site was not found within the last hour. */
  #hasForgotten(site: string): boolean {
    const time = this.#forgotten.get(site);
    if (time === undefined) return false;
    const isRecent = this.#options.clock.monotonic() - time < FORGOTTEN_MS;
    if (!isRecent) this.#forgotten.delete(site);
    return isRecent;
  }
}

/** Returns true if a server was there when it was last looked at, and can be looked at now. */
function isPresent(row: ServerRow): boolean {
  return isAtRest(row) && row.observed !== null;
}

/** Returns true if a call is about to tell whether a server is there that was when it was last looked at. */
function isAtWork({ action, applied, wanted, observed }: ServerRow): boolean {
  return action !== null && applied !== null && wanted !== null && observed !== null;
}
