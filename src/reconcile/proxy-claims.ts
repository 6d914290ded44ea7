// Holds the claims of proxies: those that wait for the pass which begins the call, and those whose call is in progress.
// The claim of an action is in its row as well, and outlives the controller; that of a check does not.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { momentOf } from '../base/wording.ts';
import type { Claimant } from '../machine/decision.ts';
import { fitsProxy } from '../machine/responsibility.ts';
import type { ProxyClaim, RunningAction, ServerRow } from '../model/rows.ts';
import { ServiceError } from '../model/service-error.ts';
import type { Call, PulledProvider } from '../providers/provider.ts';

/** How long a claim waits for its pass. */
const CLAIM_MS = 10_000;

/** A request of a proxy for the next call of a server. */
export interface ClaimOrder {
  /** Serial of the client. */
  readonly client: string;
  /** Chosen by the client: a repeat of its last request gets the same answer. Null: no repeat is recognised. */
  readonly request: string | null;
  /** Returns the tags of the client now; undefined if it may have no calls any more. */
  readonly ownTags: () => readonly string[] | undefined;
}

/** A call that a proxy is to carry out. */
export interface ClaimedCall {
  /** Known to the proxy only: its report names it. */
  readonly lease: string;
  readonly call: Call;
  readonly row: ServerRow;
}

interface PendingClaim {
  /** Of the call that the client has named. */
  readonly id: string;
  readonly order: ClaimOrder;
  readonly claim: ProxyClaim;
  readonly lease: string;
  readonly answer: PromiseWithResolvers<ClaimedCall>;
  /** Its pass has begun: it can no longer be withdrawn. */
  isPassing: boolean;
}

interface HeldClaim {
  readonly id: string;
  readonly claim: ProxyClaim;
  readonly request: string | null;
  readonly answer: ClaimedCall;
}

/** The facts that claims depend on, and the parts that begin their calls. */
export interface ProxyClaimsOptions {
  readonly clock: Clock;
  readonly provider: PulledProvider;
  readonly rowOf: (server: string) => ServerRow | undefined;
  /** Returns the proxy tags of a server. */
  readonly tagsOf: (server: string) => readonly string[];
  /** Returns the id of the call that a proxy with these tags would be given now; undefined if it would be given none. */
  readonly nextOf: (server: string, own: readonly string[]) => string | undefined;
  /** Gives a server capacity for its next call, and enqueues it. */
  readonly grant: (server: string) => void;
  /** Returns when an action that this process does not run can no longer be running, milliseconds since 1970. */
  readonly lostActionEnds: (server: string, action: RunningAction) => number;
  readonly isInFlight: (server: string) => boolean;
}

/** The claims of proxies in this process. */
export class ProxyClaims {
  readonly #options: ProxyClaimsOptions;
  readonly #pending = new Map<string, PendingClaim>();
  readonly #held = new Map<string, HeldClaim>();
  /** When the proxy of the last call of each server was last heard of. */
  readonly #heard = new Map<string, { readonly id: string; readonly time: string }>();

  constructor(options: ProxyClaimsOptions) {
    this.#options = options;
  }

  /** Returns the proxy that asks for the next call of a server and may have it; undefined if none does. */
  pendingOf(server: string): Claimant | undefined {
    const pending = this.#pending.get(server);
    const tags = pending?.order.ownTags();
    if (pending === undefined || tags === undefined) return undefined;
    return fitsProxy(this.#options.tagsOf(server), tags) ? { claim: pending.claim, tags } : undefined;
  }

  /** Returns true if no proxy has the call of a server, nor asks for it. */
  isFree(server: string): boolean {
    return !this.#pending.has(server) && !this.#options.isInFlight(server);
  }

  /** Returns the answer to a request that is repeated; undefined if it is none. */
  repeated(server: string, { client, request }: ClaimOrder): Promise<ClaimedCall> | undefined {
    if (request === null) return undefined;
    const pending = this.#pending.get(server);
    if (pending?.order.request === request && pending.order.client === client) return pending.answer.promise;
    const held = this.#held.get(server);
    const isSame = held?.request === request && held.claim.client === client;
    return isSame ? Promise.resolve(held.answer) : undefined;
  }

  /** Resolves once the call has begun and its intent is durable. Throws `conflict` if it is not to be done now. */
  async claim(server: string, id: string, order: ClaimOrder): Promise<ClaimedCall> {
    if (!this.#isNext(server, id, order)) throw notNow(id);
    const lease = randomBytes(32).toString('base64url');
    const answer = Promise.withResolvers<ClaimedCall>();
    const claim = { lease: digestOf(lease), client: order.client };
    const pending: PendingClaim = { id, order, claim, lease, answer, isPassing: false };
    this.#pending.set(server, pending);
    const cancel = this.#options.clock.after(CLAIM_MS, () => {
      if (!pending.isPassing) this.#refuse(server, pending, new ServiceError('not_ready', 'Too busy now; try again'));
    });
    this.#options.grant(server);
    return await answer.promise.finally(cancel);
  }

  /** Notes that a pass over a server begins. Refuses a claim of which the call has become another since: it named that one. */
  passing(server: string): void {
    const pending = this.#pending.get(server);
    if (pending === undefined) return;
    if (this.#isNext(server, pending.id, pending.order)) pending.isPassing = true;
    else this.#refuse(server, pending, notNow(pending.id));
  }

  /** Notes that a pass over a server has ended, and answers the claim that it was for. */
  passed(server: string): void {
    const pending = this.#pending.get(server);
    if (pending?.isPassing !== true) return;
    const { provider, rowOf } = this.#options;
    const call = provider.callOf(server);
    const row = rowOf(server);
    if (call === undefined || row === undefined) {
      this.#refuse(server, pending, new ServiceError('conflict', `${server} needs nothing now; ask for actions again`));
      return;
    }
    this.#pending.delete(server);
    const answer = { lease: pending.lease, call, row };
    this.#held.set(server, { id: call.action, claim: pending.claim, request: pending.order.request, answer });
    this.#hear(server, call.action);
    pending.answer.resolve(answer);
  }

  /** Notes that the call of a server has ended. */
  ended(server: string): void {
    this.#heard.delete(server);
    this.#held.delete(server);
  }

  /** Returns true if a client holds this call of a server with that lease, and the call was not given up. */
  isHeld(server: string, { id, lease, client }: { id: string; lease: string; client: string }): boolean {
    const claim = this.#claimOf(server, id);
    if (claim === undefined || claim.client !== client || !isSameDigest(claim.lease, digestOf(lease))) return false;
    this.#hear(server, id);
    return true;
  }

  /** Returns the serial of the proxy that carries out the call of a server, and when it was last heard of, if any does. */
  holderOf(server: string): { readonly client: string; readonly heard: string | null } | undefined {
    const action = this.#options.rowOf(server)?.action;
    const held = this.#held.get(server);
    const client = held?.claim.client ?? action?.claim?.client;
    if (client === undefined) return undefined;
    const heard = this.#heard.get(server);
    return { client, heard: heard?.id === (held?.id ?? `${server}.${action?.id}`) ? heard.time : null };
  }

  /** Refuses all claims that wait. */
  stop(): void {
    for (const [server, pending] of this.#pending) this.#refuse(server, pending, stopping());
  }

  #isNext(server: string, id: string, { ownTags }: ClaimOrder): boolean {
    const own = ownTags();
    return own !== undefined && this.#options.nextOf(server, own) === id;
  }

  #refuse(server: string, { answer }: PendingClaim, error: ServiceError): void {
    this.#pending.delete(server);
    answer.reject(error);
  }

  /** An action that began before the controller was started is held by its row until it is given up. */
  #claimOf(server: string, id: string): ProxyClaim | undefined {
    const held = this.#held.get(server);
    if (held !== undefined) return held.id === id ? held.claim : undefined;
    const { rowOf, lostActionEnds, clock } = this.#options;
    const row = rowOf(server);
    if (row?.action?.claim === undefined || row.state === 'unknown' || `${server}.${row.action.id}` !== id)
      return undefined;
    return lostActionEnds(server, row.action) > clock.now() ? row.action.claim : undefined;
  }

  #hear(server: string, id: string): void {
    this.#heard.set(server, { id, time: momentOf(this.#options.clock.now()) });
  }
}

function notNow(id: string): ServiceError {
  return new ServiceError('conflict', `${id} is not to be done now; ask for actions again`);
}

/** Returns the error of requests that come while the controller stops. */
export function stopping(): ServiceError {
  return new ServiceError('not_ready', 'The controller is stopping');
}

/** Returns the digest of a secret text, for comparing and storing. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function isSameDigest(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
