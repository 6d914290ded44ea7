// Offers the calls of servers that proxies manage, and accepts their reports. A claim is a pass of the reconciler with
// that claim in its context. The proxy with the lease of a call may report its result. agent.ts checks the rights of
// clients. The claim of an action is also in its row, so it survives the controller; that of a check does not.
import { randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { fitsProxy } from '../machine/responsibility.ts';
import type { Answer } from '../model/call-result.ts';
import { PROXIED } from '../model/names.ts';
import type { ProxyClaim, ServerRow } from '../model/rows.ts';
import { ServiceError } from '../model/service-error.ts';
import type { PulledProvider } from '../providers/provider.ts';
import type { ProxiedEntry } from '../providers/provider-registry.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import { stopping } from '../reconcile/passes/claimed-passes.ts';
import type { OfferedCall, Reconciler } from '../reconcile/reconciler.ts';
import { digestOf, ProxyReports } from './proxy-reports.ts';

/** A proxy's request to claim the next call of a server. */
export interface ClaimOrder {
  /** Serial of the client. */
  readonly client: string;
  /** An id from the client: a repeat of its last request gets the same answer. Null: repeats are not recognised. */
  readonly request: string | null;
  /** Returns the current tags of the client; undefined if it may no longer claim calls. */
  readonly ownTags: () => readonly string[] | undefined;
}

/** A claimed call. */
interface ClaimedCall extends OfferedCall {
  /** A secret of the proxy, which its report contains. */
  readonly lease: string;
}

/** The call of a server that a client claims to have. */
interface HeldCall {
  readonly id: string;
  readonly lease: string;
  /** Serial of the client. */
  readonly client: string;
}

/** The claim of a call, from the request until the call ends. */
interface CurrentClaim {
  readonly id: string;
  readonly claim: ProxyClaim;
  readonly request: string | null;
  readonly answer: Promise<ClaimedCall>;
  isBegun: boolean;
}

/** The dependencies of {@link ProxyWork}. */
export interface ProxyWorkOptions {
  readonly entry: ProxiedEntry;
  readonly reconciler: Reconciler;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Returns whether a proxy sees a server; not if the server belongs to another tenant. */
type SeesServer = (server: string) => boolean;

/** The work of proxies: offers, claims and reports. */
export class ProxyWork {
  readonly #options: ProxyWorkOptions;
  readonly #provider: PulledProvider;
  readonly #reports: ProxyReports;
  /** By server. */
  readonly #claims = new Map<string, CurrentClaim>();
  #isStopped = false;

  constructor(options: ProxyWorkOptions) {
    this.#options = options;
    this.#provider = options.entry.provider;
    this.#reports = new ProxyReports(options.clock);
    options.reconciler.watchCalls({
      ended: (server, isAnswered) => this.#ended(server, isAnswered),
      concluded: (server) => this.#reports.passed(server),
    });
  }

  /** The time limit of a call. */
  get timeoutSeconds(): number {
    return this.#options.entry.timeoutSeconds;
  }

  /** Notes that a client is present: it requests work or sends heartbeats. */
  hear(serial: string): void {
    this.#options.reconciler.presence.hear(serial);
  }

  /** Returns true if a proxy with the tags `own` manages a recorded server. */
  isFor(server: string, own: readonly string[]): boolean {
    return this.#row(server) !== undefined && fitsProxy(this.#options.reconciler.proxyTagsFor(server), own);
  }

  /**
   * Returns at most `limit` calls that a proxy with these tags may claim now, of servers that it sees, the longest
   * waiting first.
   */
  offered(tags: readonly string[], limit: number, sees: SeesServer): readonly OfferedCall[] {
    const found = this.#find(tags, limit, sees);
    for (const { call } of found) this.#options.reconciler.offers.rotate(call.resource);
    return found;
  }

  /** Returns true if a proxy with these tags may claim a call now. Throws `not_ready` when the controller stops. */
  hasOffer(tags: readonly string[], sees: SeesServer): boolean {
    return this.#find(tags, 1, sees).length > 0;
  }

  /** Calls `wake` when there may be new offers for a proxy with these tags. The returned function ends this. */
  watch(tags: readonly string[], wake: () => void): () => void {
    return this.#options.reconciler.offers.watch(tags, wake);
  }

  /**
   * Resolves with the claimed call when its intent is durable. Throws `conflict` if another proxy has it, or if it is
   * not due now.
   */
  async claim(server: string, id: string, order: ClaimOrder): Promise<ClaimedCall> {
    if (this.#isStopped) throw stopping();
    const current = this.#claims.get(server);
    const isSame = order.request !== null && current?.request === order.request;
    if (isSame && current.claim.client === order.client) return await current.answer;
    if (!this.#isFree(server) || isRunning(this.#row(server)))
      throw new ServiceError('conflict', `A proxy already carries out ${id}, or another action on ${server}`);
    const lease = randomBytes(32).toString('base64url');
    const claim = { lease: digestOf(lease), client: order.client };
    const answer = this.#begin(server, { id, claim, ownTags: order.ownTags }, lease);
    const begun = { id, claim, request: order.request, answer, isBegun: false };
    this.#claims.set(server, begun);
    try {
      return await answer;
    } finally {
      // The claim was refused.
      if (!begun.isBegun && this.#claims.get(server) === begun) this.#claims.delete(server);
    }
  }

  /**
   * Resolves with true when the answer of a call is recorded, even if it was recorded before. Resolves with false if
   * the client does not have the call, or if that was given up.
   */
  async report(server: string, held: HeldCall, answer: Answer): Promise<boolean> {
    if (this.#isStopped) throw stopping();
    const content = digestOf(JSON.stringify([server, held.id, held.client, answer]));
    const known = this.#reports.of(held.lease);
    if (known?.content === content) {
      await this.#reports.recorded(known);
      return true;
    }
    if (known !== undefined || !this.isHeld(server, held)) return false;
    const report = this.#reports.begin(server, held.lease, content);
    if (this.#provider.callOf(server) !== undefined) this.#provider.answer(server, answer);
    else {
      this.#ended(server, true);
      this.#options.reconciler.conclude(server, { kind: 'action', provider: PROXIED, answer });
    }
    await this.#reports.recorded(report);
    return true;
  }

  /** Returns true if a client has this call with that lease, and the call was not given up. */
  isHeld(server: string, { id, lease, client }: HeldCall): boolean {
    const claim = this.#findClaim(server, id);
    return claim?.client === client && claim.lease === digestOf(lease);
  }

  /** Refuses waiting and later requests. */
  stop(): void {
    this.#isStopped = true;
    this.#options.reconciler.claims.stop();
    this.#reports.stop();
    this.#options.reconciler.offers.wake();
  }

  /** Lets a pass begin the call, and resolves with the call and its lease. */
  async #begin(
    server: string,
    { id, claim, ownTags }: Pick<ClaimOrder, 'ownTags'> & Pick<CurrentClaim, 'id' | 'claim'>,
    lease: string,
  ): Promise<ClaimedCall> {
    await this.#options.reconciler.claims.run(server, {
      id,
      claimant: () => {
        const tags = ownTags();
        return tags !== undefined && this.isFor(server, tags) ? { claim, tags } : undefined;
      },
    });
    const call = this.#provider.callOf(server);
    const row = this.#row(server);
    const current = this.#claims.get(server);
    if (call === undefined || row === undefined || current === undefined)
      throw new ServiceError('conflict', `${server} needs nothing now; ask for actions again`);
    current.isBegun = true;
    return { lease, call, row };
  }

  #ended(server: string, isAnswered: boolean): void {
    if (this.#begunClaim(server) !== undefined) this.#claims.delete(server);
    this.#reports.ended(server, isAnswered);
  }

  #find(tags: readonly string[], limit: number, sees: SeesServer): readonly OfferedCall[] {
    if (this.#isStopped) throw stopping();
    const { reconciler } = this.#options;
    const found: OfferedCall[] = [];
    const changed: string[] = [];
    for (const server of reconciler.offers.for(tags)) {
      if (!sees(server)) continue;
      const isOpen = this.isFor(server, tags) && this.#isFree(server);
      const offer = isOpen ? reconciler.nextCallFor(server, tags) : undefined;
      if (offer === undefined) changed.push(server);
      else if (found.push(offer) >= limit) break;
    }
    // The present proxies have changed: the next pass of these servers finds out why they wait now.
    for (const server of changed) reconciler.wake(server);
    return found;
  }

  /** Returns true if no proxy has or requests the call of a server. */
  #isFree(server: string): boolean {
    const { reconciler } = this.#options;
    return !reconciler.claims.has(server) && !reconciler.capacity.isInFlight(server);
  }

  #row(server: string): ServerRow | undefined {
    return this.#options.ledger.server(server);
  }

  #begunClaim(server: string): CurrentClaim | undefined {
    const current = this.#claims.get(server);
    return current?.isBegun === true ? current : undefined;
  }

  /** Falls back to the claim in the row, for an action that began before the controller started. */
  #findClaim(server: string, id: string): ProxyClaim | undefined {
    const current = this.#begunClaim(server);
    if (current !== undefined) return current.id === id ? current.claim : undefined;
    const { reconciler, clock } = this.#options;
    const row = this.#row(server);
    if (row?.action?.claim === undefined || row.state === 'unknown' || `${server}.${row.action.id}` !== id)
      return undefined;
    return reconciler.lostActionEnds(server, row.action) > clock.now() ? row.action.claim : undefined;
  }
}

/** Returns true if an action was begun, here or before the start of the controller, and was not given up. */
function isRunning(row: ServerRow | undefined): boolean {
  return row?.action != null && row.state !== 'unknown';
}
