// Decides which of several processes leads: a row of the database that one of them holds for a while and renews. Each
// holder has a greater fencing number than those before, which its commits have to show.
import { type Clock, type ClockTimes, msSince, pause, readClocks, systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { reasonOf } from '../../base/wording.ts';
import { DatabaseConnections, type DatabaseLimits, type DatabaseOptions, LIMITS } from './connection.ts';
import { ACQUIRE_LEASE, FENCE, LEASE, RELEASE_LEASE, RENEW_LEASE } from './statements.ts';

/** Who tries to hold the lease, and what follows. */
export interface LeaseOptions {
  /** Names this process in the database. */
  readonly name: string;
  /** How long a lease lasts that is not renewed. */
  readonly leaseSeconds: number;
  /** Called once the lease is held. Must not throw. */
  readonly onTaken: (fencing: number) => void;
  /** Called once when the lease is lost. This process does not take it again. Must not throw. */
  readonly onLost: (reason: string) => void;
  /** Called once the database is read after a loss: another process may lead. Must not throw. */
  readonly onOver: () => void;
  readonly clock?: Clock;
  readonly log?: Logger | undefined;
}

/** A process that leads. */
export interface Leader {
  readonly name: string;
  /** RFC 3339, by the database's clock. */
  readonly since: string;
  /** Each leader's is greater than those before. */
  readonly fencing: number;
}

/** What a commit has to know of the lease. */
export type CommitLease = Pick<Lease, 'fencing' | 'leaseSeconds'>;

/** The lease while this process holds it. */
interface Held {
  readonly leader: Leader;
  /** When the last renewal was sent that the database has confirmed. */
  sent: ClockTimes;
}

/** Renewals in a lease. */
const RENEWALS = 3;
/** The longest time between two looks at a lease that another process holds. */
const POLL_MS_MAX = 250;
/** Looks in a short lease, and tries of a renewal that failed. */
const POLLS = 8;
const STATEMENT_MS_MIN = 500;
const LOCK_MS_MAX = 1_000;
const LEADER_STATEMENT_MS_MIN = 10_000;

/**
 * Returns the limits of the leader's commits, at most the given ones. One that is silent within a commit keeps others
 * from leading no longer than its lease, and to wait for longer than that serves nobody.
 */
export function limitCommits(leaseSeconds: number, limits: Partial<DatabaseLimits> = {}): Partial<DatabaseLimits> {
  const leaseMs = leaseSeconds * 1_000;
  const { idleMs, lockMs, statementMs } = { ...LIMITS, ...limits };
  return {
    ...limits,
    idleMs: Math.min(idleMs, leaseMs),
    lockMs: Math.min(lockMs, leaseMs),
    // A statement whose process was killed continues at the server, and keeps its locks.
    statementMs: Math.min(statementMs, Math.max(leaseMs, LEADER_STATEMENT_MS_MIN)),
  };
}

/** A lease that this process tries to hold. It has a connection of its own: a renewal never waits for a commit. */
export class Lease {
  readonly leaseSeconds: number;
  readonly #options: LeaseOptions;
  readonly #clock: Clock;
  readonly #connections: DatabaseConnections;
  #held: Held | undefined;
  #cancelExpiry: (() => void) | undefined;
  /** Of the last look, while another process leads; at that time by the monotonic clock. */
  #seen: { readonly leader: Leader; readonly atMs: number } | undefined;
  /** The greatest fencing number that this process knows of: a database that was set back may have forgotten it. */
  #fencingMax = 0;
  #running: Promise<void> | undefined;
  readonly #stopping = new AbortController();
  /** Why the row could not be read or written when that was last tried, for an operator; undefined where it could. */
  failure: string | undefined;
  /** By the monotonic clock: this process does not take the lease earlier. */
  #notBeforeMs = 0;
  /** It was lost, and the database was not read since. */
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
   * The number that this process leads with; undefined where it does not lead, by its own clocks at the moment of the
   * call: another one may take the lease no earlier than a lease after the database has confirmed the last renewal,
   * which was sent before that.
   */
  get fencing(): number | undefined {
    return this.#held !== undefined && this.#msLeft(this.#held) > 0 ? this.#held.leader.fencing : undefined;
  }

  /**
   * Returns who leads, as this process last read it; undefined where nobody does, or this process has not looked for as
   * long as a lease lasts.
   */
  leader(): Leader | undefined {
    if (this.fencing !== undefined) return this.#held?.leader;
    if (this.#seen === undefined || this.#clock.monotonic() - this.#seen.atMs > this.leaseSeconds * 1_000)
      return undefined;
    return this.#seen.leader;
  }

  /** Begins to try. Nothing is thrown later: the database may be away. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Does not take the lease any more, since this process ends. A lease that is held is kept and renewed. */
  retire(): void {
    this.#notBeforeMs = Number.POSITIVE_INFINITY;
  }

  /** Stops trying, and lets another process lead at once if this one does. `onLost` is not called. Never rejects. */
  async release(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#end();
  }

  /**
   * Gives the lease back, since this process cannot lead now: another one may. This one does not take it again for as
   * long as a lease lasts. Never rejects.
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

  /** Renews, or looks whether the lease may be taken. Returns how long to wait then. */
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

  /** Takes the lease if it is over. Whoever commits at that moment comes first, or this throws StoreError. */
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

  /** Loses the lease if it is over by the clocks, and looks again when it would be. */
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

  /** Changes nothing where another process has the lease. Where the database is away, the lease ends by itself. */
  async #giveBack(fencing: number): Promise<void> {
    const { name, log } = this.#options;
    try {
      await this.#connections.write((run) => run(RELEASE_LEASE, [name, fencing]));
    } catch (error) {
      log?.info({ reason: reasonOf(error) }, 'the lease could not be given back, and ends by itself');
    }
  }

  #msLeft({ sent }: Held): number {
    return this.leaseSeconds * 1_000 - msSince(sent, this.#clock);
  }
}
