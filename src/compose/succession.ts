// Builds the leader when the replica takes the lease. When the replica loses the lease, stops the leader, and answers
// reads as a standby until the process ends.
import type { Logger } from '../base/log.ts';
import { reasonOf } from '../base/wording.ts';
import type { Lease } from '../store/postgres/lease.ts';
import type { PresentRole, ServingRole } from './present-role.ts';
import type { Standby } from './standby.ts';

interface SuccessionParts {
  readonly present: Pick<PresentRole, 'show'>;
  readonly standby: Standby;
  /** Builds the leader. */
  readonly lead: () => Promise<ServingRole>;
  readonly lease: Pick<Lease, 'resign' | 'release'>;
  readonly log: Logger;
}

/** Lets one replica stand by, lead, and stand by again. */
export class Succession {
  readonly #parts: SuccessionParts;
  #leader: ServingRole | undefined;
  #last: Promise<void> = Promise.resolve();
  #isStopped = false;

  /** The replica stands by. */
  constructor(parts: SuccessionParts) {
    this.#parts = parts;
    parts.standby.start();
    parts.present.show(parts.standby);
  }

  /** The lease is taken. */
  readonly take = (): void => {
    this.#last = this.#last.then(() => this.#take());
  };

  /** The lease is lost. */
  readonly lose = (): void => {
    this.#last = this.#last.then(() => this.#lose());
  };

  /** Resolves once the last change of roles is over: what the replica did as the leader has stopped. */
  settled(): Promise<void> {
    return this.#last;
  }

  /** Ends the role that is there, or being built. Another replica may lead as soon as this one does not. */
  async stop(): Promise<void> {
    const { standby, lease } = this.#parts;
    this.#isStopped = true;
    await this.#last;
    await this.#leader?.stop();
    await lease.release();
    await standby.stop();
  }

  /** Never rejects. If no leader can be built, another replica may lead, or this one tries again later. */
  async #take(): Promise<void> {
    if (this.#isStopped) return;
    const { present, standby, lead, lease, log } = this.#parts;
    await standby.stop();
    try {
      this.#leader = await lead();
      present.show(this.#leader);
    } catch (error) {
      log.error({ err: error }, `this replica cannot become the leader yet: ${reasonOf(error)}`);
      standby.start();
      await lease.resign();
    }
  }

  /** Never rejects. */
  async #lose(): Promise<void> {
    const { present, standby, log } = this.#parts;
    const leader = this.#leader;
    if (leader === undefined || this.#isStopped) return;
    this.#leader = undefined;
    present.show(standby);
    standby.start();
    await leader.stop().catch((err) => log.error({ err }, 'what this replica did as the leader did not stop in order'));
  }
}
