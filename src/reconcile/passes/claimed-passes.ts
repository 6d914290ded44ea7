// Runs passes for claims of proxies. The claim is part of the decision context, and the pass begins the claimed call or
// refuses the claim. agents/proxy-work.ts answers the proxies.
import type { Clock } from '../../base/clock.ts';
import type { Claimant, Step } from '../../machine/decision.ts';
import { PROXIED } from '../../model/names.ts';
import { ServiceError } from '../../model/service-error.ts';
import { callIdOf } from '../calls/executor.ts';

/** How long a claim waits for its pass. */
const CLAIM_MS = 10_000;

/** A claim for the next call of a server. */
export interface CallClaim {
  /** The id of the claimed call. */
  readonly id: string;
  /** Returns the proxy; undefined if it may no longer have calls of this server. */
  readonly claimant: () => Claimant | undefined;
}

interface OpenClaim extends CallClaim {
  readonly begun: PromiseWithResolvers<void>;
  /** Its pass has decided to begin the call, so the claim can no longer time out. */
  isAccepted: boolean;
}

interface ClaimedPassesOptions {
  readonly clock: Clock;
  /** Enqueues a server. */
  readonly wake: (server: string) => void;
  readonly isInFlight: (server: string) => boolean;
}

/** The claims that wait for their pass, by server. */
export class ClaimedPasses {
  readonly #options: ClaimedPassesOptions;
  readonly #open = new Map<string, OpenClaim>();

  constructor(options: ClaimedPassesOptions) {
    this.#options = options;
  }

  /** Returns true if a claim waits for its pass. */
  has(server: string): boolean {
    return this.#open.has(server);
  }

  /**
   * Resolves once a pass has begun the call and its intent is durable. Throws `conflict` if the call is not the next
   * one, and `not_ready` if the pass does not begin in time. The server must have no other open claim.
   */
  async run(server: string, claim: CallClaim): Promise<void> {
    const open: OpenClaim = { ...claim, begun: Promise.withResolvers(), isAccepted: false };
    this.#open.set(server, open);
    const cancel = this.#options.clock.after(CLAIM_MS, () => {
      if (!open.isAccepted) this.#refuse(server, open, new ServiceError('not_ready', 'Too busy now; try again'));
    });
    this.#options.wake(server);
    await open.begun.promise.finally(cancel);
  }

  /** Returns the proxy that claims the next call of a server and may have it; undefined if there is none. */
  claimantOf(server: string): Claimant | undefined {
    return this.#open.get(server)?.claimant();
  }

  /** Returns false, and refuses the claim, if a claim is open and the step does not begin the claimed call. */
  accepts(server: string, step: Step): boolean {
    const open = this.#open.get(server);
    if (open === undefined) return true;
    open.isAccepted = claimedId(server, step) === open.id;
    if (!open.isAccepted) this.#refuse(server, open, notNow(open.id));
    return open.isAccepted;
  }

  /** Answers the claim after the pass over its server. */
  passed(server: string): void {
    const open = this.#open.get(server);
    if (open?.isAccepted !== true) return;
    if (this.#options.isInFlight(server)) {
      this.#open.delete(server);
      open.begun.resolve();
    } else {
      this.#refuse(server, open, new ServiceError('conflict', `${server} needs nothing now; ask for actions again`));
    }
  }

  /** Refuses all open claims. */
  stop(): void {
    for (const [server, open] of this.#open) this.#refuse(server, open, stopping());
  }

  #refuse(server: string, { begun }: OpenClaim, error: ServiceError): void {
    this.#open.delete(server);
    begun.reject(error);
  }
}

/** Returns the id of the proxy call that a step begins; undefined if it begins none. */
export function claimedId(server: string, { row, next }: Step): string | undefined {
  const isCall = next.kind === 'check' || next.kind === 'run';
  return row !== null && isCall && next.provider === PROXIED ? callIdOf(server, row) : undefined;
}

/** Returns the error for a claim of a call that is not the next one. */
function notNow(id: string): ServiceError {
  return new ServiceError('conflict', `${id} is not to be done now; ask for actions again`);
}

/** Returns the error for requests while the controller stops. */
export function stopping(): ServiceError {
  return new ServiceError('not_ready', 'The controller is stopping');
}
