// Records in the database which processes share it, and their addresses for each other. The leader compares the
// settings of other processes with its own, and removes old marks of removed rows.
import { createHash, randomUUID } from 'node:crypto';
import { type Clock, pause, systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { quote, reasonOf, toRfc3339 } from '../../base/wording.ts';
import { DatabaseConnections, type DatabaseOptions, type RunStatement } from './connection.ts';
import { type CommitLease, type Leader, limitCommits } from './lease.ts';
import {
  HAS_OLD_MARKS,
  LOCKED_STATE,
  OTHER_REPLICAS,
  PEERS,
  REMOVE_MARKS,
  REMOVE_REPLICA,
  REMOVE_SILENT_REPLICAS,
  REPORT_REPLICA,
} from './statements.ts';

/** The address of a replica for the others. */
export interface RecordedPeer {
  /** Unique among all processes. */
  readonly name: string;
  /** Host and port. */
  readonly address: string;
  /** SHA-256 of its certificate. */
  readonly certificate: string;
}

/** The record of this process. */
export interface ReplicasOptions extends RecordedPeer {
  /** True if the address is a default that only processes of this machine can reach. */
  readonly isAlone: boolean;
  /**
   * The settings that must be equal in all processes, by name, without secrets. The database gets their digests.
   */
  readonly settings: Readonly<Record<string, string>>;
  readonly lease: CommitLease;
  readonly clock?: Clock;
  readonly log?: Logger | undefined;
}

const PAUSE_MS = 10_000;
const DIGEST_LENGTH = 16;

/** Records one process, on its own connection. */
export class Replicas {
  readonly #options: ReplicasOptions;
  readonly #connections: DatabaseConnections;
  readonly #process: string = randomUUID();
  readonly #settings: Readonly<Record<string, string>>;
  readonly #closing = new AbortController();
  /** The differences between the replicas that the leader last found, and since when; undefined if there are none. */
  trouble: { readonly reason: string; readonly since: string } | undefined;
  /** All replicas as of the last read. */
  #peers: readonly RecordedPeer[] = [];
  /** The fencing number of the leader for which they were last read. */
  #readFor: number | undefined;
  #running: Promise<void> | undefined;
  #hasReported = false;

  constructor(database: DatabaseOptions, options: ReplicasOptions) {
    const limits = limitCommits(options.lease.leaseSeconds, database.limits);
    this.#connections = new DatabaseConnections({ ...database, poolSize: 1, limits });
    this.#options = options;
    this.#settings = Object.fromEntries(Object.entries(options.settings).map(([name, text]) => [name, digestOf(text)]));
  }

  /** Reports now and every few seconds. Throws StoreError if the first report fails. Later failures are only logged. */
  async start(): Promise<void> {
    await this.report();
    this.#running ??= this.#run();
  }

  /**
   * Resolves with whether a replica has a certificate with this SHA-256. Reads the database for an unknown one. Never
   * rejects.
   */
  async isPeer(fingerprint: string): Promise<boolean> {
    const isKnown = (): boolean => this.#peers.some(({ certificate }) => certificate === fingerprint);
    if (!isKnown()) await this.#try(() => this.#connections.read((run) => this.#readPeers(run)));
    return isKnown();
  }

  /** Resolves with the address of a leader; undefined if it is not recorded. Throws StoreError. */
  async find({ name, fencing }: Pick<Leader, 'name' | 'fencing'>): Promise<RecordedPeer | undefined> {
    if (this.#readFor !== fencing) await this.#connections.read((run) => this.#readPeers(run));
    this.#readFor = fencing;
    return this.#peers.find((each) => each.name === name);
  }

  /**
   * Records this process, and reads the others. As leader, removes old marks and compares settings. Throws
   * StoreError.
   */
  async report(): Promise<void> {
    const { name, lease, address, certificate } = this.#options;
    const former = await this.#connections.write(async (run) => {
      const own = [name, this.#process, JSON.stringify(this.#settings), address, certificate];
      const [[process] = []] = await run(REPORT_REPLICA, own);
      await this.#readPeers(run);
      if (lease.fencing === undefined) return process;
      await run(REMOVE_SILENT_REPLICAS);
      this.#compare(await run(OTHER_REPLICAS, [name]));
      const [[hasOldMarks] = []] = await run(HAS_OLD_MARKS);
      if (hasOldMarks !== true) return process;
      // With the lock, no commit can add a removed row again.
      await run(LOCKED_STATE);
      await run(REMOVE_MARKS);
      return process;
    });
    if (this.#hasReported && former !== this.#process)
      this.#options.log?.warn(
        { replica: name },
        'another process has this name: give each replica its own replica.name',
      );
    this.#hasReported = true;
  }

  /** Removes the record of this process. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
    if (this.#hasReported) {
      await this.#try(() => this.#connections.write((run) => run(REMOVE_REPLICA, [this.#options.name, this.#process])));
    }
    await this.#connections.close();
  }

  async #run(): Promise<void> {
    const { clock = systemClock } = this.#options;
    while (!this.#closing.signal.aborted) {
      await pause(clock, PAUSE_MS, this.#closing.signal);
      if (!this.#closing.signal.aborted) await this.#try(() => this.report());
    }
  }

  async #readPeers(run: RunStatement): Promise<void> {
    const rows = await run(PEERS);
    this.#peers = rows
      .map((row) => row.map(String))
      .map(([name = '', address = '', certificate = '']) => ({ name, address, certificate }));
  }

  async #try(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.log?.debug({ reason: reasonOf(error) }, 'this replica could not be recorded in the database');
    }
  }

  #compare(others: readonly (readonly unknown[])[]): void {
    const { address, isAlone, clock = systemClock } = this.#options;
    const reasons = others.flatMap(([name, text]) => {
      const theirs: Readonly<Record<string, unknown>> = JSON.parse(String(text));
      // A setting that only one version has is no difference.
      const keys = Object.keys(this.#settings).filter(
        (key) => (theirs[key] ?? this.#settings[key]) !== this.#settings[key],
      );
      return keys.length === 0 ? [] : [`${quote(String(name))} differs from the leader in ${keys.join(', ')}`];
    });
    if (isAlone && others.length > 0) reasons.push(`other machines cannot reach the leader at ${address}`);
    const since = this.trouble?.since ?? toRfc3339(clock.now());
    this.trouble = reasons.length === 0 ? undefined : { reason: reasons.join('; '), since };
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, DIGEST_LENGTH);
}
