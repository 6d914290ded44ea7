// Leader election: one process holds a lease, a row of the database, and renews it. Each holder has a greater fencing
// number than all earlier ones, and its commits have to present that number.
import { type Clock, type ClockTimes, msSince, pause, readClocks, systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { reasonOf } from '../../base/wording.ts';
import { DatabaseConnections, type DatabaseLimits, type DatabaseOptions, LIMITS } from './connection.ts';
import { ACQUIRE_LEASE, FENCE, LEASE, RELEASE_LEASE, RENEW_LEASE } from './statements.ts';

/** The candidate for the lease, and its callbacks. */
export interface LeaseOptions {
  /** The name of this process in the database. */
  readonly name: string;
  /** The duration of a lease that is not renewed. */
  readonly leaseSeconds: number;
  /** Called when the lease is acquired. Must not throw. */
  readonly onTaken: (fencing: number) => void;
  /** Called when the lease is lost. This process does not acquire it again. Must not throw. */
  readonly onLost: (reason: string) => void;
  /** Called when the database was read after a loss, so another process may lead. Must not throw. */
  readonly onOver: () => void;
  readonly clock?: Clock;
  readonly log?: Logger | undefined;
}

/** A process that leads. */
export interface Leader {
  readonly name: string;
  /** RFC 3339, by the database's clock. */
  readonly since: string;
  /** Greater than the number of every earlier leader. */
  readonly fencing: number;
}

/** The part of the lease that a commit needs. */
export type CommitLease = Pick<Lease, 'fencing' | 'leaseSeconds'>;

/** The lease while this process holds it. */
interface Held {
  readonly leader: Leader;
  /** The send time of the last confirmed renewal. */
  sent: ClockTimes;
}

/** The number of renewals within the duration of a lease. */
const RENEWALS = 3;
/** The maximum time between two polls of a lease that another process holds. */
const POLL_MS_MAX = 250;
/** The number of polls within a short lease, and of attempts of a failed renewal. */
const POLLS = 8;
const STATEMENT_MS_MIN = 500;
const LOCK_MS_MAX = 1_000;
const LEADER_STATEMENT_MS_MIN = 10_000;

/**
 * Returns the limits of the leader's commits, at most the given ones. A leader that hangs between two statements
 * must not prevent a takeover for longer than its lease; a running statement has at least 10 s.
 */
export function limitCommits(leaseSeconds: number, limits: Partial<DatabaseLimits> = {}): Partial<DatabaseLimits> {
  const leaseMs = leaseSeconds * 1_000;
  const { idleMs, lockMs, statementMs } = { ...LIMITS, ...limits };
  return {
    ...limits,
    idleMs: Math.min(idleMs, leaseMs),
    lockMs: Math.min(lockMs, leaseMs),
    // The statement of a killed process continues at the server and keeps its locks.
    statementMs: Math.min(statementMs, Math.max(leaseMs, LEADER_STATEMENT_MS_MIN)),
  };
}

/** The lease that this process tries to hold. It has its own connection, so a renewal never waits for a commit. */
export class Lease {
  readonly leaseSeconds: number;
  readonly #options: LeaseOptions;
  readonly #clock: Clock;
  readonly #connections: DatabaseConnections;
  #held: Held | undefined;
  #cancelExpiry: (() => void) | undefined;
  /** The result of the last poll while another process leads, with its time by the monotonic clock. */
  #seen: { readonly leader: Leader; readonly atMs: number } | undefined;
  /** The greatest known fencing number, which a restored database may have lost. */
  #fencingMax = 0;
  #running: Promise<void> | undefined;
  readonly #stopping = new AbortController();
  /** Why the last access to the row failed, for an operator; undefined if it succeeded. */
  failure: string | undefined;
  /** The earliest time at which this process acquires the lease, by the monotonic clock. */
  #notBeforeMs = 0;
  /** True if the lease was lost and the database was not read since. */
  #isLost = false;

  constructor(database: DatabaseOptions, options: LeaseOptions) {
    const { leaseSeconds, clock = systemClock } = options;
    const statementMs = Math.max(STATEMENT_MS_MIN, (leaseSeconds * 1_000) / RENEWALS);
    const limits = {
      connectMs: statementMs,
      statementMs,
      idleMs: statementMs,
      lockMs: Math.min(statementMs, LOCK_MS_MAX),
    };
    this.leaseSeconds = leaseSeconds;
    this.#options = options;
    this.#clock = clock;
    this.#connections = new DatabaseConnections({
      ...database,
      poolSize: 1,
      limits: { ...database.limits, ...limits, answerMs: STATEMENT_MS_MIN },
    });
  }

  /**
   * The fencing number of this process; undefined if it does not lead. Computed at each call by its own clocks, from
   * the send time of the last renewal. The database counts from its later confirmation, so no other process can lead
   * at the same time.
   */
  get fencing(): number | undefined {
    return this.#held !== undefined && this.#msLeft(this.#held) > 0 ? this.#held.leader.fencing : undefined;
  }

  /**
   * Returns the leader of the last poll; undefined if there is none, or if the poll is older than the duration of a
   * lease.
   */
  leader(): Leader | undefined {
    if (this.fencing !== undefined) return this.#held?.leader;
    if (this.#seen === undefined || this.#clock.monotonic() - this.#seen.atMs > this.leaseSeconds * 1_000)
      return undefined;
    return this.#seen.leader;
  }

  /** Starts trying to acquire the lease. Never throws later, even if the database is away. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Stops acquiring the lease, because this process ends. A held lease is still renewed. */
  retire(): void {
    this.#notBeforeMs = Number.POSITIVE_INFINITY;
  }

  /** Stops trying, and releases a held lease, without calling `onLost`. Never rejects. */
  async release(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#end();
  }

  /**
   * Releases the lease, because this process cannot lead now. It does not acquire the lease again for the duration of a
   * lease. Never rejects.
   */
  async resign(): Promise<void> {
    const pauseMs = this.leaseSeconds * 1_000;
    this.#notBeforeMs = Math.max(this.#notBeforeMs, this.#clock.monotonic() + pauseMs);
    await this.#end();
  }

  async close(): Promise<void> {
    await this.release();
    await this.#connections.close();
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const waitMs = await this.#step();
      if (!this.#stopping.signal.aborted) await pause(this.#clock, waitMs, this.#stopping.signal);
    }
  }

  /** Renews the lease, or polls whether it is free. Resolves with the time to wait. */
  async #step(): Promise<number> {
    const { log } = this.#options;
    try {
      const waitMs = this.#held === undefined ? await this.#observe() : await this.#renew(this.#held);
      if (this.failure !== undefined) log?.info('the lease can be read and written again');
      this.failure = undefined;
      return waitMs;
    } catch (error) {
      const reason = reasonOf(error);
      if (this.failure === undefined)
        log?.warn({ reason }, 'the lease could not be read or written; this is tried again');
      this.failure = reason;
      return this.#pollMs;
    }
  }

  get #pollMs(): number {
    return Math.min(POLL_MS_MAX, (this.leaseSeconds * 1_000) / POLLS);
  }

  async #renew(held: Held): Promise<number> {
    const sent = readClocks(this.#clock);
    if (this.#msLeft(held) > 0) {
      const values = [held.leader.name, held.leader.fencing, this.leaseSeconds];
      const renewed = await this.#connections.write((run) => run(RENEW_LEASE, values));
      if (renewed.length === 0) this.#lose(held, 'another process has taken the lease');
      held.sent = sent;
    }
    this.#expire(held);
    return this.#held === held ? (this.leaseSeconds * 1_000) / RENEWALS : 0;
  }

  async #observe(): Promise<number> {
    const [[holder = null, number, since, secondsLeft] = []] = await this.#connections.read((run) => run(LEASE));
    const seenMs = this.#clock.monotonic();
    const fencing = Number(number);
    this.#fencingMax = Math.max(this.#fencingMax, fencing);
    const isHeld = holder !== null && Number(secondsLeft) > 0;
    const leader = { name: String(holder), since: String(since), fencing };
    this.#seen = isHeld ? { leader, atMs: seenMs } : undefined;
    if (this.#isLost) this.#options.onOver();
    this.#isLost = false;
    if (!isHeld && seenMs >= this.#notBeforeMs) return await this.#acquire();
    return this.#pollMs;
  }

  /** Acquires the lease if it has expired. Waits for a running commit, or throws StoreError. */
  async #acquire(): Promise<number> {
    const { name, onTaken, log } = this.#options;
    const sent = readClocks(this.#clock);
    const values = [name, this.leaseSeconds, this.#fencingMax];
    const [acquired] = await this.#connections.write(async (run) => {
      const rows = await run(ACQUIRE_LEASE, values);
      if (rows[0] !== undefined) await run(FENCE, [rows[0][0]]);
      return rows;
    });
    if (acquired === undefined) return 0;
    const fencing = Number(acquired[0]);
    const held: Held = { leader: { name, since: String(acquired[1]), fencing }, sent };
    this.#fencingMax = fencing;
    if (this.#stopping.signal.aborted || this.#msLeft(held) <= 0) {
      await this.#giveBack(fencing);
      return this.#pollMs;
    }
    this.#held = held;
    this.#expire(held);
    log?.info({ replica: name, fencing }, 'this replica leads');
    onTaken(fencing);
    return (this.leaseSeconds * 1_000) / RENEWALS;
  }

  /** Loses the lease if it has expired by the clocks; otherwise checks again at its end. */
  #expire(held: Held): void {
    if (this.#held !== held) return;
    this.#cancelExpiry?.();
    const leftMs = this.#msLeft(held);
    if (leftMs > 0) this.#cancelExpiry = this.#clock.after(leftMs, () => this.#expire(held));
    else this.#lose(held, `the lease could not be renewed for ${this.leaseSeconds} seconds`);
  }

  #lose(held: Held, reason: string): void {
    if (this.#held !== held) return;
    const { name, log, onLost } = this.#options;
    const { fencing } = held.leader;
    this.#forget();
    log?.warn({ replica: name, fencing, reason }, 'this replica no longer leads');
    this.retire();
    this.#isLost = true;
    onLost(reason);
  }

  #forget(): void {
    this.#held = undefined;
    this.#cancelExpiry?.();
    this.#cancelExpiry = undefined;
  }

  async #end(): Promise<void> {
    const held = this.#held;
    this.#forget();
    if (held !== undefined) await this.#giveBack(held.leader.fencing);
  }

  /** Has no effect if another process has the lease. If the database is away, the lease expires. */
  async #giveBack(fencing: number): Promise<void> {
    const { name, log } = this.#options;
    try {
      await this.#connections.write((run) => run(RELEASE_LEASE, [name, fencing]));
    } catch (error) {
      log?.info({ reason: reasonOf(error) }, 'the lease could not be released; it will expire');
    }
  }

  #msLeft({ sent }: Held): number {
    return this.leaseSeconds * 1_000 - msSince(sent, this.#clock);
  }
}
