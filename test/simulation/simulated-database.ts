// A PostgreSQL in memory that several replicas share: the tables of the store and the lease, with transactions, locks and snapshots. It
// answers the statements of src/store/postgres/ that the adapter and the lease run, so that their own code is played. A replica that is cut
// off gets no answer; what it had sent happens all the same.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROW_FRAME_BYTES } from '../../src/store/piece.ts';
import {
  type DatabaseLimits,
  type DatabaseOptions,
  LIMITS,
  type Transactions,
} from '../../src/store/postgres/connection.ts';
import { LostCommit } from '../../src/store/postgres/postgres-error.ts';
import * as sql from '../../src/store/postgres/statements.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { drawn } from './chance.ts';
import type { ReplicaTime } from './replica-time.ts';
import type { Life, Scheduler } from './scheduler.ts';
import type { SimulatedDisk } from './simulated-disk.ts';

/** The way of one process to the database. */
export interface Link {
  readonly life: Life;
  /** The last fencing number that the process was given; 0: none. */
  fencing: number;
  isCut: boolean;
  /** Called when a transaction that writes comes to such a step. */
  onStep(step: 'begin' | 'lock' | 'commit' | 'renewal'): void;
}

type Line = readonly unknown[];

/** What is committed. Never changed: a commit makes another one. */
interface Tables {
  readonly revision: number;
  readonly bytes: number;
  readonly fencing: number;
  readonly lease: LeaseLine;
  /** Kind, name, value, revision and checksum, by kind and name. */
  readonly rows: ReadonlyMap<string, Line>;
  /** Instance, id, value, revision and checksum, by instance and id. */
  readonly events: ReadonlyMap<string, Line>;
  /** By revision. */
  readonly attempts: ReadonlyMap<unknown, unknown>;
}

interface LeaseLine {
  readonly holder: unknown;
  readonly fencing: number;
  readonly version: number;
  readonly seconds: number;
  readonly since: string;
  /** By the clock of the database. */
  readonly expiresAt: number;
}

type Statement = (transaction: Transaction, values: Line) => readonly Line[] | Promise<readonly Line[]>;

const NOTHING: Tables = {
  ...{ revision: 0, bytes: 0, fencing: 0, rows: new Map(), events: new Map(), attempts: new Map() },
  lease: { holder: null, fencing: 0, version: 0, seconds: 0, since: '', expiresAt: 0 },
};
const ADDRESS = { host: 'simulated', port: 5432, database: 'treeline', user: 'treeline' };
const MIGRATIONS = readdirSync(join(import.meta.dirname, '../../migrations')).map((file) => [file.replace('.sql', '')]);
const FETCH = /^FETCH FORWARD (\d+) FROM lines$/;
/** How long a commit takes on a slow disk, at most. */
const SLOW_MS = 800;

export class SimulatedDatabase {
  readonly scheduler: Scheduler;
  readonly state = new Lock();
  readonly lease = new Lock();
  readonly #time: ReplicaTime;
  readonly #seed: number;
  readonly #disk: SimulatedDisk;
  readonly #open = new Set<Transaction>();
  #draws = 0;
  #offsetMs = 0;
  tables = NOTHING;
  /** Called with each transaction that brought another revision. */
  onSaved: (by: Link) => void = () => undefined;

  /** Its disk is never lost, but full or slow as the one of `disk`. */
  constructor(parts: { scheduler: Scheduler; time: ReplicaTime; seed: number; disk: SimulatedDisk }) {
    this.scheduler = parts.scheduler;
    this.#time = parts.time;
    this.#seed = parts.seed;
    this.#disk = parts.disk;
  }

  /** By its own clock. */
  get now(): number {
    return this.#time.now + this.#offsetMs;
  }

  get isFull(): boolean {
    return this.#disk.isFull;
  }

  /** Sets its clock forward, or back where `ms` is less than 0. */
  step(ms: number): void {
    this.#offsetMs += ms;
  }

  /** Returns what connects a process. */
  connect(link: Link): (options: DatabaseOptions) => Transactions {
    return (options) => {
      const own = { limits: { ...LIMITS, ...options.limits }, isOfLease: options.poolSize === 1 };
      return {
        ...{ address: ADDRESS, name: 'the simulated database' },
        read: (work) => this.#transact(new Transaction(this, link, { ...own, isReading: true }), work),
        write: (work) => this.#transact(new Transaction(this, link, { ...own, isReading: false }), work),
        pause: () => this.scheduler.pause(own.limits.pauseMs, link.life),
        close: async () => undefined,
      };
    };
  }

  /** A process is dead: what it has not committed is undone. */
  drop(life: Life): void {
    for (const transaction of [...this.#open])
      if (transaction.link.life === life && !transaction.isSent) transaction.undo();
  }

  /** Takes the time of a way to the database, or of a commit there. */
  async travel(life: Life | null, msMax: number): Promise<void> {
    await this.scheduler.pause(1 + drawn(this.#seed, `database ${this.#draws++}`) ** 4 * msMax, life);
  }

  commitMs(): number {
    return this.scheduler.now < this.#disk.slowUntil ? SLOW_MS : 40;
  }

  async #transact<Result>(transaction: Transaction, work: Parameters<Transactions['read']>[0]): Promise<Result> {
    this.#open.add(transaction);
    try {
      await transaction.begin();
      const result = await work((text, values = []) => transaction.run(text, values));
      await transaction.commit();
      return result as Result;
    } finally {
      transaction.undo();
      this.#open.delete(transaction);
    }
  }
}

/** One transaction. Its changes are made at its commit, all at once. */
class Transaction {
  readonly link: Link;
  readonly database: SimulatedDatabase;
  readonly limits: DatabaseLimits;
  /** What a transaction that reads sees. */
  #snapshot: Tables | undefined;
  readonly #isReading: boolean;
  readonly #isOfLease: boolean;
  readonly #changes: ((tables: Tables) => Tables)[] = [];
  readonly #locks = new Set<Lock>();
  #cancelIdle: () => void = () => undefined;
  #isOver = false;
  /** The server commits. */
  isSent = false;
  lines: Line[] = [];

  constructor(
    database: SimulatedDatabase,
    link: Link,
    options: { limits: DatabaseLimits; isReading: boolean; isOfLease: boolean },
  ) {
    this.database = database;
    this.link = link;
    this.limits = options.limits;
    this.#isReading = options.isReading;
    this.#isOfLease = options.isOfLease;
  }

  /** A commit of the store, and none of the lease, which has one connection. */
  get #isOfStore(): boolean {
    return !this.#isReading && !this.#isOfLease;
  }

  get tables(): Tables {
    return this.#snapshot ?? this.database.tables;
  }

  async begin(): Promise<void> {
    await this.#reach(this.limits.connectMs);
    if (this.#isOfStore) this.link.onStep('begin');
    await this.database.travel(this.link.life, 40);
    if (this.#isReading) this.#snapshot = this.database.tables;
  }

  async run(text: string, values: Line): Promise<readonly Line[]> {
    await this.#reach(this.limits.statementMs + this.limits.answerMs);
    this.#cancelIdle();
    const lines = await this.#execute(text, values);
    // The server does not wait for a process that hangs with a lock.
    if (this.#locks.size > 0)
      this.#cancelIdle = this.database.scheduler.after(this.limits.idleMs, null, () => this.undo());
    return lines;
  }

  /** Changes the tables at the commit. */
  change(change: (tables: Tables) => Tables): void {
    this.#changes.push(change);
  }

  async lock(lock: Lock): Promise<void> {
    if (this.#locks.has(lock)) return;
    this.#locks.add(lock);
    if (!(await lock.acquire(this, this.database.scheduler))) {
      this.#locks.delete(lock);
      throw new StoreError('a lock was not given in time.');
    }
    if (this.#isOfStore) this.link.onStep('lock');
    await this.database.travel(this.link.life, 200);
  }

  async commit(): Promise<void> {
    if (this.#changes.length === 0) return;
    await this.#reach(this.limits.statementMs + this.limits.answerMs);
    this.#cancelIdle();
    const { database, link } = this;
    // That the process dies or hangs changes nothing any more.
    this.isSent = true;
    link.onStep(this.#isOfStore ? 'commit' : 'renewal');
    await database.travel(null, database.commitMs());
    const { revision } = database.tables;
    for (const change of this.#changes) database.tables = change(database.tables);
    this.undo();
    if (database.tables.revision !== revision) database.onSaved(link);
    await database.scheduler.pause(1, link.life);
    if (!link.isCut) return;
    await database.scheduler.pause(this.limits.statementMs + this.limits.answerMs, link.life);
    throw new LostCommit('the connection was lost.');
  }

  /** Changes nothing any more, and lets go of its locks. */
  undo(): void {
    this.#isOver = true;
    this.#cancelIdle();
    for (const lock of this.#locks) lock.release(this);
    this.#locks.clear();
  }

  /** Who is cut off hears nothing, for as long as it waits. */
  async #reach(waitMs: number): Promise<void> {
    if (this.link.isCut) {
      await this.database.scheduler.pause(waitMs, this.link.life);
      throw new StoreError('the database does not answer.');
    }
    if (this.#isOver) throw new StoreError('the server has closed the connection.');
  }

  async #execute(text: string, values: Line): Promise<readonly Line[]> {
    const [, count] = FETCH.exec(text) ?? [];
    if (count !== undefined) return this.lines.splice(0, Number(count));
    const statement = STATEMENTS.get(text);
    if (statement === undefined) throw new TypeError(`the simulated database does not know: ${text}`);
    return await statement(this, values);
  }
}

/** The lock of one row, for one transaction after the other. */
class Lock {
  #holder: Transaction | undefined;
  readonly #waiting = new Map<Transaction, (isGiven: boolean) => void>();

  /** Resolves to true once it is given; to false where that takes too long. */
  acquire(transaction: Transaction, scheduler: Scheduler): Promise<boolean> | boolean {
    if (this.#holder === undefined) {
      this.#holder = transaction;
      return true;
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#waiting.set(transaction, resolve);
    scheduler.after(transaction.limits.lockMs, null, () => {
      if (this.#waiting.delete(transaction)) resolve(false);
    });
    return promise;
  }

  release(transaction: Transaction): void {
    this.#waiting.delete(transaction);
    if (this.#holder !== transaction) return;
    const [[next, give] = []] = this.#waiting;
    this.#holder = next;
    if (next === undefined) return;
    this.#waiting.delete(next);
    give?.(true);
  }
}

const STATEMENTS: ReadonlyMap<string, Statement> = new Map<string, Statement>([
  [sql.SERVER_FACTS, () => [[150_000, '15.0', false, 'UTF8']]],
  [sql.RELATIONS, () => [[true, ['migrations']]]],
  [sql.MIGRATIONS, () => MIGRATIONS],
  [sql.STATE, ({ tables }) => [stateLine(tables)]],
  [
    sql.LOCKED_STATE,
    async (transaction) => {
      await transaction.lock(transaction.database.state);
      return [stateLine(transaction.tables)];
    },
  ],
  [sql.CHANGED_ROWS, (transaction, [since]) => openLines(transaction, changedRows(transaction.tables, since))],
  [sql.CHANGED_EVENTS, (transaction, [since]) => openLines(transaction, changedEvents(transaction.tables, since))],
  [sql.CLOSE_LINES, (transaction) => openLines(transaction, [])],
  [sql.SAVE_ROWS, saveRows],
  [sql.DROP_EVENTS, dropEvents],
  [sql.SAVE_EVENTS, saveEvents],
  [sql.FINISH, finish],
  [sql.ATTEMPT, ({ tables }, [revision]) => [[tables.attempts.get(revision)]]],
  [sql.LEASE, ({ tables: { lease }, database }) => [leaseLine(lease, database.now)]],
  [sql.ACQUIRE_LEASE, acquireLease],
  [
    sql.FENCE,
    async (transaction, [fencing]) => {
      await transaction.lock(transaction.database.state);
      transaction.change((tables) => ({ ...tables, fencing: Number(fencing) }));
      return [];
    },
  ],
  [sql.RENEW_LEASE, renewLease],
  [sql.RELEASE_LEASE, releaseLease],
]);

function stateLine({ revision, bytes, fencing }: Tables): Line {
  return [revision, bytes, 'simulated', fencing, 0];
}

function leaseLine({ holder, fencing, version, seconds, since, expiresAt }: LeaseLine, now: number): Line {
  return [holder, fencing, version, seconds, since, (expiresAt - now) / 1000];
}

function openLines(transaction: Transaction, lines: readonly Line[]): readonly Line[] {
  transaction.lines = [...lines];
  return [];
}

function changedRows({ rows }: Tables, since: unknown): readonly Line[] {
  const changed = [...rows.values()].filter(([, , , revision]) => Number(revision) > Number(since));
  return changed.sort(([a, b], [c, d]) => compare(`${a}/${b}`, `${c}/${d}`));
}

function changedEvents({ events }: Tables, since: unknown): readonly Line[] {
  const changed = [...events.values()].filter(([, , , revision]) => Number(revision) > Number(since));
  const rank = ([, id, value]: Line): number => (value === null ? -1 : Number(id));
  return changed.sort((a, b) => rank(a) - rank(b));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Returns the lines that columns of a statement are, with the revision before the checksum. */
function linesIn([groups, keys, values, checksums, revision]: Line): readonly Line[] {
  const [keyList, valueList, sums] = [keys, values, checksums] as readonly Line[];
  return (groups as Line).map((group, at) => [group, keyList?.[at], valueList?.[at], revision, sums?.[at]]);
}

function put(table: ReadonlyMap<string, Line>, lines: readonly Line[]): ReadonlyMap<string, Line> {
  const changed = new Map(table);
  for (const line of lines) changed.set(`${line[0]}/${line[1]}`, line);
  return changed;
}

function saveRows(transaction: Transaction, values: Line): readonly Line[] {
  const lines = linesIn(values);
  const before = lines.reduce((sum, [kind, name]) => sum + bytesOf(transaction.tables.rows.get(`${kind}/${name}`)), 0);
  transaction.change((tables) => ({ ...tables, rows: put(tables.rows, lines) }));
  return [[before]];
}

function bytesOf([kind, name, value]: Line = []): number {
  return value == null ? 0 : Buffer.byteLength(`${kind}${name}${value}`) + ROW_FRAME_BYTES;
}

function dropEvents(transaction: Transaction, [instances, ids]: Line): readonly Line[] {
  const marks = new Map((instances as Line).map((instance, at) => [instance, Number((ids as Line)[at])]));
  const isKept = ([instance, id]: Line): boolean => Number(id) > (marks.get(instance) ?? Number.NEGATIVE_INFINITY);
  transaction.change((tables) => ({ ...tables, events: new Map([...tables.events].filter(([, it]) => isKept(it))) }));
  return [];
}

function saveEvents(transaction: Transaction, values: Line): readonly Line[] {
  transaction.change((tables) => ({ ...tables, events: put(tables.events, linesIn(values)) }));
  return [];
}

function finish(transaction: Transaction, [revision, growth, attempt]: Line): readonly Line[] {
  if (transaction.database.isFull) throw new StoreError('the disk of the database is full.');
  if (transaction.tables.revision >= Number(revision)) return [];
  transaction.change((tables) => ({
    ...{ ...tables, revision: Number(revision), bytes: tables.bytes + Number(growth) },
    attempts: new Map(tables.attempts).set(revision, attempt),
  }));
  return [[revision]];
}

async function acquireLease(
  transaction: Transaction,
  [holder, seconds, version, former, greatest]: Line,
): Promise<readonly Line[]> {
  const { database, link } = transaction;
  await transaction.lock(database.lease);
  const { lease } = database.tables;
  if (lease.version !== version || lease.fencing !== former) return [];
  const fencing = Math.max(lease.fencing, Number(greatest)) + 1;
  const since = new Date(database.now).toISOString();
  const expiresAt = database.now + Number(seconds) * 1000;
  transaction.change((tables) => {
    link.fencing = fencing;
    const held = { holder, fencing, version: lease.version + 1, seconds: Number(seconds), since, expiresAt };
    return { ...tables, lease: held };
  });
  return [[fencing, since]];
}

async function renewLease(transaction: Transaction, [holder, fencing, seconds]: Line): Promise<readonly Line[]> {
  const { database } = transaction;
  await transaction.lock(database.lease);
  const { lease } = database.tables;
  if (lease.holder !== holder || lease.fencing !== fencing) return [];
  const version = lease.version + 1;
  const renewed = { ...lease, version, seconds: Number(seconds), expiresAt: database.now + Number(seconds) * 1000 };
  transaction.change((tables) => ({ ...tables, lease: renewed }));
  return [[version]];
}

async function releaseLease(transaction: Transaction, [holder, fencing]: Line): Promise<readonly Line[]> {
  const { database } = transaction;
  await transaction.lock(database.lease);
  const { lease } = database.tables;
  if (lease.holder !== holder || lease.fencing !== fencing) return [];
  const released = { ...lease, holder: null, version: lease.version + 1, expiresAt: database.now };
  transaction.change((tables) => ({ ...tables, lease: released }));
  return [];
}
