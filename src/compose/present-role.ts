// Holds the current role of a process and delegates to it: requests, health, hooks. A replica leads when it acquires
// the lease. After it loses the lease, it answers reads as a standby until the process ends.
import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { isForwarded } from '../api/peer.ts';
import { invariant } from '../base/invariant.ts';
import type { Logger } from '../base/log.ts';
import { reasonOf } from '../base/wording.ts';
import { ServiceError } from '../model/service-error.ts';
import type { Reader } from '../service/read/reader.ts';
import type { Lease } from '../store/postgres/lease.ts';

/** A role, as seen by clients. */
export interface ServingRole {
  readonly handler: RequestListener;
  readonly reader: Reader;
  /** Returns true if this process leads at the time of the call, else the reason why not. */
  leads(): true | string;
  /** Returns why no reads are served, for an operator. */
  notReadyReason(): string;
  /** Begins to work. Called when the listeners are ready. */
  begin?(): void;
  /** Requests a poll of the branch. */
  poll?(): void;
  /** Begins no more calls of providers, and resolves when running calls have ended. */
  drain?(): Promise<void>;
  /** Answers or refuses waiting requests, before the listeners close. */
  stopWaiting(): Promise<void>;
  /** Stops all parts. A leader also ends running calls. */
  stop(): Promise<void>;
}

/** The role of a standby, which may be started again. */
export interface Standby extends ServingRole {
  /** Follows the leader. */
  start(): void;
}

interface Succession {
  readonly standby: Standby;
  /** Builds the leader. */
  readonly lead: () => Promise<ServingRole>;
  readonly lease: Pick<Lease, 'resign' | 'release'>;
  readonly log: Logger;
}

/** How long a forwarded request waits while the leader is being built. */
const TAKE_MS = 10_000;

/** The current role. */
export class PresentRole {
  #role: ServingRole | undefined;
  /** Undefined for a single process. */
  #succession: Succession | undefined;
  /** The last change of roles. */
  #last: Promise<void> = Promise.resolve();
  /** The leader that is being built. */
  #taking: Promise<void> | undefined;
  #waitsFor = 'it is starting';
  #isListening = false;
  #isStopped = false;

  /**
   * Passes requests to the role. Forwarded requests wait while the leader is being built.
   */
  readonly handler: RequestListener = (request, response) => {
    const answer = (): void => {
      if (this.#role !== undefined) this.#role.handler(request, response);
      else response.writeHead(503).end();
    };
    if (this.#taking === undefined || !isForwarded(request)) answer();
    else void Promise.race([this.#taking, sleep(TAKE_MS, undefined, { ref: false })]).then(answer);
  };

  /** Returns true when reads are served from a good commit, else the reason why not. */
  readonly ready = (): true | string => {
    const reader = this.#role?.reader;
    return this.#isListening && reader !== undefined && isReady(reader) ? true : `not ready: ${this.#reason()}`;
  };

  /** Returns true if this process leads, else the reason why not. */
  readonly leads = (): true | string => {
    if (!this.#isListening || this.#role === undefined) return `not leading: ${this.#reason()}`;
    return this.#role.leads();
  };

  /** The read service of the role. Throws before there is one. */
  get reader(): Reader {
    invariant(this.#role !== undefined, 'there is a role as long as the process serves');
    return this.#role.reader;
  }

  /** Sets what the process waits for before it listens. */
  readonly waitsFor = (reason: string): void => {
    this.#waitsFor = reason;
    this.#isListening = false;
  };

  /** Sets the role, which begins if the process listens. */
  show(role: ServingRole): void {
    this.#role = role;
    if (this.#isListening) role.begin?.();
  }

  /** Called when the listeners are ready: begins the current role and each later one. */
  begin(): void {
    this.#isListening = true;
    this.#role?.begin?.();
  }

  poll(): void {
    this.#role?.poll?.();
  }

  async drain(): Promise<void> {
    await this.#role?.drain?.();
  }

  async stopWaiting(): Promise<void> {
    await Promise.all([this.#role?.stopWaiting(), this.#succession?.standby.stopWaiting()]);
  }

  /** Makes the replica a standby, which leads when it acquires the lease. */
  standBy(succession: Succession): void {
    this.#succession = succession;
    succession.standby.start();
    this.show(succession.standby);
  }

  /** Called when the lease is acquired. */
  readonly take = (): void => {
    this.#last = this.#last.then(async () => {
      this.#taking = this.#take();
      await this.#taking;
      this.#taking = undefined;
    });
  };

  /** Called when the lease is lost. */
  readonly lose = (): void => {
    this.#last = this.#last.then(() => this.#lose());
  };

  /** Resolves when the last change of roles has ended, so that a former leader has stopped. */
  settled(): Promise<void> {
    return this.#last;
  }

  /** Stops the current role, or one that is being built. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#last;
    const { standby, lease } = this.#succession ?? {};
    if (this.#role !== standby) await this.#role?.stop();
    await lease?.release();
    await standby?.stop();
  }

  /** Never rejects. If the leader cannot be built, another replica may lead, or this one tries again later. */
  async #take(): Promise<void> {
    if (this.#succession === undefined || this.#isStopped) return;
    const { standby, lead, lease, log } = this.#succession;
    await standby.stop();
    try {
      this.show(await lead());
    } catch (error) {
      log.error({ err: error }, `this replica cannot become the leader yet: ${reasonOf(error)}`);
      standby.start();
      await lease.resign();
    }
  }

  /** Never rejects. */
  async #lose(): Promise<void> {
    const leader = this.#role;
    const { standby, log } = this.#succession ?? {};
    if (standby === undefined || leader === standby || this.#isStopped) return;
    this.show(standby);
    standby.start();
    await leader?.stop().catch((err) => log?.error({ err }, 'the former leader role did not stop in order'));
  }

  #reason(): string {
    return this.#isListening && this.#role !== undefined ? this.#role.notReadyReason() : this.#waitsFor;
  }
}

function isReady(reader: Reader): boolean {
  try {
    return reader.commit() !== '';
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_ready') return false;
    throw error;
  }
}
