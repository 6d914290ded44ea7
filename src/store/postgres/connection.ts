// Connects to PostgreSQL and runs transactions. Only this file imports the driver. Every wait is limited, here and at
// the server.
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { invariant } from '../../base/invariant.ts';
import { readDatabaseUrl } from './database-url.ts';
import { type DatabaseAddress, explainFailure, isLost, LostCommit, nameOf } from './postgres-error.ts';
import { beginReading, beginWriting, type ServerLimits } from './statements.ts';

/** The database, and how to connect to it. */
export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database`, with `?sslmode=disable` or `?sslmode=verify-full`. */
  readonly url: string;
  /** The certificates of the server's authority, as PEM; default: those of the system. */
  readonly ca?: string | undefined;
  readonly poolSize?: number;
  /** The name of the replica that connects; omitted for a command. */
  readonly replica?: string;
  /** Limits for tests. */
  readonly limits?: Partial<DatabaseLimits>;
}

/** Time limits in milliseconds. */
export interface DatabaseLimits extends ServerLimits {
  readonly connectMs: number;
  /** In addition to `statementMs`, until a statement counts as unanswered. */
  readonly answerMs: number;
  /** Between two lookups of a commit with unknown outcome. */
  readonly pauseMs: number;
}

/** Runs one statement, and returns its rows as lists of values. */
export type RunStatement = (text: string, values?: readonly unknown[]) => Promise<readonly (readonly unknown[])[]>;

/** The default limits. */
export const LIMITS: DatabaseLimits = {
  connectMs: 10_000,
  statementMs: 60_000,
  lockMs: 30_000,
  idleMs: 20_000,
  answerMs: 5_000,
  pauseMs: 1_000,
};
const POOL_SIZE = 4;

/** A database with a few connections, opened on demand. */
export class DatabaseConnections {
  readonly address: DatabaseAddress;
  readonly limits: DatabaseLimits;
  readonly #pool: pg.Pool;
  #closing: Promise<void> | undefined;

  constructor(options: DatabaseOptions) {
    const { address, password, isEncrypted } = readDatabaseUrl(options.url, options.ca !== undefined);
    this.address = address;
    this.limits = { ...LIMITS, ...options.limits };
    this.#pool = new pg.Pool({
      ...address,
      ...(password === '' ? {} : { password }),
      ssl: isEncrypted && (options.ca === undefined || { ca: options.ca }),
      application_name: applicationName(options.replica),
      connectionTimeoutMillis: this.limits.connectMs,
      query_timeout: this.limits.statementMs + this.limits.answerMs,
      keepAlive: true,
      max: options.poolSize ?? POOL_SIZE,
      allowExitOnIdle: true,
    });
    // An idle connection was closed, for example by a restart of the server. The next one is opened on demand.
    this.#pool.on('error', ignoreLoss);
  }

  /** The name of the database in messages. */
  get name(): string {
    return nameOf(this.address);
  }

  /** Runs `work` in a transaction with a consistent snapshot. Throws StoreError. */
  read<Result>(work: (run: RunStatement) => Promise<Result>): Promise<Result> {
    return this.#transact(beginReading(this.limits), work);
  }

  /**
   * Runs `work` in a writing transaction, and resolves when it would survive a power cut. Throws StoreError if it was
   * rolled back, and LostCommit if its outcome is unknown.
   */
  write<Result>(work: (run: RunStatement) => Promise<Result>): Promise<Result> {
    return this.#transact(beginWriting(this.limits), work);
  }

  /** Waits between two attempts. */
  async pause(): Promise<void> {
    await setTimeout(this.limits.pauseMs);
  }

  close(): Promise<void> {
    this.#closing ??= this.#pool.end();
    return this.#closing;
  }

  async #transact<Result>(begin: string, work: (run: RunStatement) => Promise<Result>): Promise<Result> {
    const client = await this.#begin(begin);
    let failure: unknown;
    try {
      const result = await work((text, values) => this.#run(client, text, values));
      await this.#commit(client);
      return result;
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      client.off('error', ignoreLoss);
      // After a failure, the connection is closed, which rolls back its transaction.
      client.release(failure !== undefined);
    }
  }

  /** Resolves with a connection in a transaction. A pooled connection may be closed, so it tries a second one. */
  async #begin(begin: string): Promise<pg.PoolClient> {
    for (let isLast = false; ; isLast = true) {
      let client: pg.PoolClient | undefined;
      try {
        client = await this.#pool.connect();
        client.on('error', ignoreLoss);
        await client.query(begin);
        return client;
      } catch (error) {
        client?.off('error', ignoreLoss);
        client?.release(true);
        if (isLast || client === undefined || !isLost(error)) throw explainFailure(error, this.address);
      }
    }
  }

  async #run(client: pg.ClientBase, text: string, values: readonly unknown[] = []): ReturnType<RunStatement> {
    try {
      const { rows } = await client.query<unknown[]>({ text, values: [...values], rowMode: 'array' });
      return rows;
    } catch (error) {
      throw explainFailure(error, this.address);
    }
  }

  async #commit(client: pg.PoolClient): Promise<void> {
    try {
      const { command } = await client.query('COMMIT');
      invariant(command === 'COMMIT', 'a transaction without errors commits');
    } catch (error) {
      const failure = explainFailure(error, this.address);
      throw isLost(error) ? new LostCommit(failure.message, { cause: error }) : failure;
    }
  }
}

/** PostgreSQL shows at most 63 characters. */
function applicationName(replica: string | undefined): string {
  return replica === undefined ? 'treeline command' : `treeline/${replica}`.slice(0, 63);
}

function ignoreLoss(): void {
  // The waiting statement, or the next one, gets the error too.
}
