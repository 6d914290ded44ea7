// Gives the calls of servers that proxies look after to proxies, and takes their reports. service/create-agent.ts decides
// which client may ask for what.
import type { Clock } from '../base/clock.ts';
import { callOf } from '../execute/executor.ts';
import type { Step } from '../machine/decision.ts';
import { fitsProxy, proxyTagsOf, responsibleTags } from '../machine/responsibility.ts';
import type { Wait } from '../machine/wait.ts';
import type { Answer, CallResult } from '../model/call-result.ts';
import { PROXIED } from '../model/names.ts';
import type { NodeRecord } from '../model/record.ts';
import type { ServerRow } from '../model/rows.ts';
import { ServiceError } from '../model/service-error.ts';
import type { Call } from '../providers/provider.ts';
import {
  type ClaimedCall,
  type ClaimOrder,
  digestOf,
  ProxyClaims,
  type ProxyClaimsOptions,
  stopping,
} from './proxy-claims.ts';
import type { ProxyOffers } from './proxy-offers.ts';
import { ProxyReports } from './proxy-reports.ts';

/** A call that a proxy may claim, as it would be if it began now. */
export interface OfferedCall {
  readonly call: Call;
  readonly row: ServerRow;
}

/** The call of a server that a client says it holds. */
export interface HeldCall {
  readonly id: string;
  readonly lease: string;
  /** Serial of the client. */
  readonly client: string;
}

/** The parts of the reconciler that the work of proxies needs. */
export interface ProxyWorkOptions extends Omit<ProxyClaimsOptions, 'tagsOf' | 'nextOf'> {
  readonly clock: Clock;
  readonly offers: ProxyOffers;
  readonly timeoutSeconds: number;
  readonly recordOf: (server: string) => NodeRecord;
  readonly waitOf: (server: string) => Wait | undefined;
  /**
   * Returns what a pass over a server would do if a proxy with these tags asked for its next call; undefined while one has to
   * conclude its last call.
   */
  readonly stepOf: (server: string, own: readonly string[]) => Step | undefined;
  /** Has the next pass conclude a call that this process did not begin. */
  readonly conclude: (server: string, result: CallResult) => void;
  readonly enqueue: (server: string) => void;
  /** Is told of an action that a proxy says it holds, and that is not held here. */
  readonly noteUnknown: (id: string) => void;
}

/** The work of proxies: offers, claims and reports. */
export class ProxyWork {
  readonly #options: ProxyWorkOptions;
  readonly #claims: ProxyClaims;
  readonly #reports: ProxyReports;
  #isStopped = false;

  constructor(options: ProxyWorkOptions) {
    this.#options = options;
    this.#claims = new ProxyClaims({
      ...options,
      tagsOf: (server) => this.#tagsOf(server),
      nextOf: (server, own) => nextCallOf(server, own, options)?.call.action,
    });
    this.#reports = new ProxyReports(options.clock);
  }

  /** The time limit of a call. */
  get timeoutSeconds(): number {
    return this.#options.timeoutSeconds;
  }

  /** The claims of proxies, for decisions and for showing. */
  get claims(): Pick<ProxyClaims, 'pendingOf' | 'passing'> {
    return this.#claims;
  }

  /** Returns true if a proxy with the tags `own` looks after a recorded server. */
  isFor(server: string, own: readonly string[]): boolean {
    return this.#options.rowOf(server) !== undefined && fitsProxy(this.#tagsOf(server), own);
  }

  /** Returns at most `limit` calls that a proxy with these tags may claim now, those that wait longest first. */
  offered(tags: readonly string[], limit: number): readonly OfferedCall[] {
    const found = this.#find(tags, limit);
    for (const { call } of found) this.#options.offers.rotate(call.resource, tags);
    return found;
  }

  /** Returns true if a proxy with these tags may claim a call now. Throws `not_ready` when the controller stops. */
  hasOffer(tags: readonly string[]): boolean {
    return this.#find(tags, 1).length > 0;
  }

  /** Calls `wake` when there may be more to offer to a proxy with these tags, until the returned function is called. */
  watch(tags: readonly string[], wake: () => void): () => void {
    return this.#options.offers.watch(tags, wake);
  }

  /** Returns the call that now belongs to the client. Throws `conflict` if it is another's, or not to be done now. */
  async claim(server: string, id: string, order: ClaimOrder): Promise<ClaimedCall> {
    if (this.#isStopped) throw stopping();
    const repeated = this.#claims.repeated(server, order);
    if (repeated !== undefined) return await repeated;
    const isFree = this.#claims.isFree(server) && !isRunning(this.#options.rowOf(server));
    if (!isFree)
      throw new ServiceError('conflict', `A proxy carries out ${id} already, or another action on ${server}`);
    return await this.#claims.claim(server, id, order);
  }

  /**
   * Resolves with true once the answer of a call is recorded, also if it was before. With false if the client does not
   * hold the call, or it was given up.
   */
  async report(server: string, held: HeldCall, answer: Answer): Promise<boolean> {
    if (this.#isStopped) throw stopping();
    const content = digestOf(JSON.stringify([server, held.id, held.client, answer]));
    const known = this.#reports.of(held.lease);
    if (known?.content === content) {
      await this.#reports.recorded(known);
      return true;
    }
    if (known !== undefined || !this.#isHeld(server, held)) return false;
    const report = this.#reports.begin(server, held.lease, content);
    const { provider, conclude } = this.#options;
    if (provider.callOf(server) !== undefined) provider.answer(server, answer);
    else {
      this.ended(server, true);
      conclude(server, { kind: 'action', provider: PROXIED, answer });
    }
    await this.#reports.recorded(report);
    return true;
  }

  /** Notes that a proxy is at work on a call. Returns false if it does not hold the call, or it was given up. */
  heartbeat(server: string, held: HeldCall): boolean {
    return this.#isHeld(server, held);
  }

  #isHeld(server: string, held: HeldCall): boolean {
    const isHeld = this.#claims.isHeld(server, held);
    if (!isHeld) this.#options.noteUnknown(held.id);
    return isHeld;
  }

  /** Returns the serial of the proxy that carries out the call of a server, and when it was last heard of, if any does. */
  holderOf(server: string): ReturnType<ProxyClaims['holderOf']> {
    return this.#claims.holderOf(server);
  }

  /** Returns true if a server waits for a proxy, or has none. */
  isAwaiting(server: string): boolean {
    const reason = this.#options.rowOf(server)?.reason?.code;
    const isOffered = awaitedTags(this.#options.waitOf(server)) !== undefined;
    return isOffered || reason === 'no_proxy' || reason === 'provider_changed';
  }

  /** Notes that a pass over a server has ended. `isConcluded`: it has recorded how the last call ended. */
  passed(server: string, isConcluded: boolean): void {
    this.#claims.passed(server);
    if (isConcluded) this.#reports.passed(server);
    const tags = awaitedTags(this.#options.waitOf(server));
    if (tags !== undefined) this.#options.offers.wake(tags);
  }

  /** Notes that a call of a server has ended, with an answer or without. */
  ended(server: string, isAnswered: boolean): void {
    this.#claims.ended(server);
    this.#reports.ended(server, isAnswered);
  }

  /** Refuses what waits, and all that comes. */
  stop(): void {
    this.#isStopped = true;
    this.#claims.stop();
    this.#reports.stop();
    this.#options.offers.wake();
  }

  #find(tags: readonly string[], limit: number): readonly OfferedCall[] {
    if (this.#isStopped) throw stopping();
    const found: OfferedCall[] = [];
    const changed: string[] = [];
    for (const server of this.#options.offers.for(tags)) {
      const offer = this.isFor(server, tags) ? this.#offerTo(tags, server) : undefined;
      if (offer === undefined) changed.push(server);
      else if (found.push(offer) >= limit) break;
    }
    // Their facts have changed: their next pass finds out what they wait for now.
    changed.forEach(this.#options.enqueue);
    return found;
  }

  #tagsOf(server: string): readonly string[] {
    return tagsOf(server, this.#options);
  }

  #offerTo(own: readonly string[], server: string): OfferedCall | undefined {
    return this.#claims.isFree(server) ? nextCallOf(server, own, this.#options) : undefined;
  }
}

/** Returns the call that a pass over a server would give to a proxy with these tags now; undefined if it would give none. */
function nextCallOf(
  server: string,
  own: readonly string[],
  {
    stepOf,
    recordOf,
    clock,
    timeoutSeconds,
  }: Pick<ProxyWorkOptions, 'stepOf' | 'recordOf' | 'clock' | 'timeoutSeconds'>,
): OfferedCall | undefined {
  const { row, next } = stepOf(server, own) ?? { row: null, next: undefined };
  if (row === null || (next?.kind !== 'check' && next?.kind !== 'run') || next.provider !== PROXIED) return undefined;
  const operation = next.kind === 'check' ? 'check' : (row.action?.operation ?? 'check');
  const deadline = clock.now() + timeoutSeconds * 1000;
  return { call: callOf(server, { row, operation }, { record: recordOf(server), deadline }), row };
}

/** Returns the tags of the proxies that the next call of a server is for. */
function tagsOf(server: string, { recordOf, rowOf }: Pick<ProxyWorkOptions, 'recordOf' | 'rowOf'>): readonly string[] {
  const [row, present] = [rowOf(server), proxyTagsOf(recordOf(server))];
  return (row && responsibleTags(row, present)) ?? present;
}

/** Returns the tags of a server that waits for a proxy; undefined if it does not. */
function awaitedTags(wait: Wait | undefined): readonly string[] | undefined {
  return wait?.kind === 'capacity' ? wait.tags : undefined;
}

/** Returns true if an action was begun, here or before the start of the controller, and is not given up. */
function isRunning(row: ServerRow | undefined): boolean {
  return row?.action != null && row.state !== 'unknown';
}
