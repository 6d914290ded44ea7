// Keeps lowdb's document in a PostgreSQL database, which several processes share. Each commit is one transaction that
// first locks the state's row, so commits are serialised and their revisions become visible in order.
import { type Breathe, breatheBy } from '../../base/breathe.ts';
import { systemClock } from '../../base/clock.ts';
import { reasonOf } from '../../base/wording.ts';
import type { EventRange, ListedPage } from '../../model/instance-event.ts';
import { listedEvent } from '../event-table.ts';
import { type LowdbStore, type LowdbStoreOptions, openStore } from '../lowdb-store.ts';
import type { KeptRow } from '../row-json.ts';
import {
  type Batch,
  type DocumentAdapter,
  emptyStoreDocument,
  readRows,
  type SharedChanges,
  type StoreDocument,
} from '../store-document.ts';
import { NotLeading, StoreError } from '../store-error.ts';
import { DatabaseConnections, type DatabaseOptions, type RunStatement } from './connection.ts';
import { type CommitLease, limitCommits } from './lease.ts';
import { requireSchema } from './migrate.ts';
import { type DatabaseAddress, databaseError, LostCommit } from './postgres-error.ts';
import type { SeenFile } from './seen-state.ts';
import {
  ADD_EVENTS,
  CHANGED_ROWS,
  eventsStatement,
  FINISH,
  LOCKED_STATE,
  SAVE_ROWS,
  STATE,
  TERM,
  TRIM_EVENTS,
} from './statements.ts';

/**
 * The options of every store, and the lease of the process that may commit. Without a lease, for `treeline store` and
 * tests, every process may commit without fencing.
 */
export interface PostgresStoreOptions extends LowdbStoreOptions {
  readonly lease?: CommitLease | undefined;
  /** Remembers the last seen commit of this database. Omitted: not remembered. */
  readonly seen?: SeenFile;
}

/** Opens the store in a database with existing tables. Throws StoreError if it cannot be read. */
export async function openPostgresStore(
  database: DatabaseOptions,
  options: PostgresStoreOptions = {},
): Promise<LowdbStore> {
  const { clock = systemClock, breathe = breatheBy(clock) } = options;
  const adapter = new PostgresAdapter(database, breathe, options);
  return await openStore(adapter.name, { ...options, adapter });
}

/** The state row of the database. */
interface State {
  readonly revision: number;
  readonly lastEvent: number;
  /** Created with the tables. */
  readonly installation: string;
  /** The number of the last process that acquired the lease. */
  readonly fencing: number;
  /** Removal marks up to this commit may be missing. */
  readonly forgotten: number;
}

/** A database with the tables of a store. */
export class PostgresAdapter implements DocumentAdapter {
  readonly #connections: DatabaseConnections;
  readonly #breathe: Breathe;
  readonly #lease: CommitLease | undefined;
  readonly #seen: SeenFile | undefined;
  #installation: string | undefined;
  /** The last commit that this process has read or written, with the fencing number of its leader. */
  #last = { revision: 0, fencing: 0 };

  constructor(
    options: DatabaseOptions,
    breathe: Breathe,
    { lease, seen }: Pick<PostgresStoreOptions, 'lease' | 'seen'> = {},
  ) {
    const limits = lease === undefined ? options.limits : limitCommits(lease.leaseSeconds, options.limits);
    this.#connections = new DatabaseConnections({ ...options, ...(limits === undefined ? {} : { limits }) });
    this.#breathe = breathe;
    this.#lease = lease;
    this.#seen = seen;
  }

  get address(): DatabaseAddress {
    return this.#connections.address;
  }

  /** The name of the database in messages. */
  get name(): string {
    return this.#connections.name;
  }

  async read(): Promise<StoreDocument> {
    const document = emptyStoreDocument();
    const rows = await this.#connections.read(async (run) => {
      await requireSchema(run, this.#connections.address);
      const { revision, lastEvent, installation } = await this.#readState(run, STATE);
      Object.assign(document, { revision, lastEvent });
      const known = this.#seen?.known;
      const knownTerm = known && (await readTerm(run, known.revision));
      this.#seen?.compare({ database: this.name, installation, revision, knownTerm });
      this.#note(revision, await readTerm(run, revision));
      return await this.#readRows(run, { since: 0, last: revision });
    });
    // After the transaction, because the database ends idle transactions.
    await readRows(document.tables, rows, { path: this.name, breathe: this.#breathe });
    return document;
  }

  async write({ unsaved }: StoreDocument): Promise<void> {
    if (unsaved === undefined) return;
    const { since, revision } = unsaved;
    const fencing = this.#requireLead();
    let term = fencing ?? 0;
    try {
      await this.#connections.write(async (run) => {
        const state = await this.#readState(run, LOCKED_STATE);
        this.#requireFencing(state, fencing);
        if (state.revision !== since) throw this.#setBack(state.revision, since);
        term = fencing ?? (await readTerm(run, revision));
        await this.#save(run, unsaved);
      });
    } catch (error) {
      if (error instanceof NotLeading || !(error instanceof StoreError)) throw error;
      if (!(error instanceof LostCommit)) throw notSaved(error);
      if (!(await this.#isCommitted(revision, term))) throw notSaved(error);
    }
    this.#note(revision, term);
  }

  events(range: EventRange): Promise<ListedPage> {
    return this.#connections.read((run) => readEvents(run, range));
  }

  readChanges(since: number): Promise<SharedChanges | undefined> {
    return this.#connections.read(async (run) => {
      const state = await this.#readState(run, STATE);
      const { revision, lastEvent, forgotten } = state;
      const { revision: last, fencing } = this.#last;
      // Also if another leader made this commit: then the database was restored and has new commits.
      if (revision < last || (await readTerm(run, last)) !== fencing) throw this.#setBack(revision, last);
      this.#note(revision, await readTerm(run, revision));
      if (revision === since) return undefined;
      const isWhole = since < forgotten;
      const rows = await this.#readRows(run, { since: isWhole ? 0 : since, last: revision });
      return { revision, lastEvent, isWhole, rows };
    });
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  /** Returns the fencing number of this process; undefined without a lease. Throws NotLeading if it does not lead. */
  #requireLead(): number | undefined {
    const fencing = this.#lease?.fencing;
    if (this.#lease === undefined || fencing !== undefined) return fencing;
    throw new NotLeading(`This process does not lead, so it may not change ${this.name}. Nothing was saved.`);
  }

  /** Requires the lock on the state, so that no process can acquire the lease before this transaction ends. */
  #requireFencing({ fencing: there }: State, fencing: number | undefined): void {
    if (this.#requireLead() === fencing && (fencing === undefined || there === fencing)) return;
    throw new NotLeading(
      `Another process leads ${this.name} with the fencing number ${there}; this one had ${fencing}. Nothing was saved.`,
    );
  }

  #note(revision: number, fencing: number): void {
    this.#last = { revision, fencing };
    this.#seen?.note(revision, fencing);
  }

  /**
   * Resolves with the rows that are newer than a revision. Throws StoreError for a row that is newer than the last
   * commit.
   */
  async #readRows(
    run: RunStatement,
    { since, last }: { readonly since: number; readonly last: number },
  ): Promise<readonly KeptRow[]> {
    const rows: KeptRow[] = [];
    for (const [kind, name, value, revision] of await run(CHANGED_ROWS, [since])) {
      const row: KeptRow = [String(kind), String(name), value as string | null];
      if (Number(revision) > last) throw this.#damaged(`the ${row[0]} "${row[1]}" is newer than the last commit`);
      rows.push(row);
      await this.#breathe();
    }
    return rows;
  }

  /** Writes a batch. Requires the lock on the state. */
  async #save(run: RunStatement, { revision, rows, events, isTrim }: Batch): Promise<void> {
    // Only the last change of each row matters.
    const last = [...new Map(rows.map((row) => [`${row[0]}/${row[1]}`, row])).values()];
    const [kinds, names] = [last.map(([kind]) => kind), last.map(([, name]) => name)];
    await run(SAVE_ROWS, [kinds, names, last.map(([, , value]) => value), revision]);
    if (events.length > 0) {
      const [ids, instances] = [events.map(([id]) => id), events.map(([, instance]) => instance)];
      await run(ADD_EVENTS, [ids, instances, events.map(([, , value]) => value)]);
    }
    if (isTrim) await run(TRIM_EVENTS);
    await run(FINISH, [revision]);
  }

  /**
   * Resolves with true if a commit whose connection was lost was saved. Repeats the lookup until it succeeds. Throws
   * StoreError if the lease expires: afterwards the commit is found like those of other processes.
   */
  async #isCommitted(revision: number, term: number): Promise<boolean> {
    for (;;) {
      try {
        return await this.#connections.write(async (run) => {
          // Waits for the lock, which an unfinished transaction at the server still holds.
          const state = await this.#readState(run, LOCKED_STATE);
          return state.revision >= revision && (await readTerm(run, revision)) === term;
        });
      } catch (error) {
        if (this.#lease?.fencing === term) await this.#connections.pause();
        else throw new StoreError(`${reasonOf(error)} It is unknown whether the last commit was saved.`);
      }
    }
  }

  async #readState(run: RunStatement, statement: string): Promise<State> {
    const [[revision, lastEvent, installation, fencing, forgotten] = []] = await run(statement);
    const state: State = {
      revision: Number(revision),
      lastEvent: Number(lastEvent),
      installation: String(installation),
      fencing: Number(fencing),
      forgotten: Number(forgotten),
    };
    this.#installation ??= state.installation;
    if (this.#installation === state.installation) return state;
    throw databaseError(this.#connections.address, {
      why: 'is another one than at the start: it has the rows of another installation',
      remedy: 'Restart Treeline if that is meant; otherwise correct the URL.',
    });
  }

  #setBack(there: number, known: number): StoreError {
    return databaseError(this.#connections.address, {
      why:
        there < known
          ? `was set back: its last commit is ${there}, and this process has seen ${known}`
          : `was set back: its commit ${known} is another one than this process has seen`,
      remedy: 'Restart Treeline, so that it reads the current rows.',
    });
  }

  #damaged(what: string): StoreError {
    return databaseError(this.#connections.address, {
      why: `is damaged: ${what}`,
      remedy: 'It was whole when it was written, so look at who else writes to the schema treeline. Restore a backup.',
    });
  }
}

function notSaved(error: Error): StoreError {
  return new StoreError(`${error.message} Nothing was saved.`, { cause: error });
}

async function readEvents(run: RunStatement, { after, before, limit, instances }: EventRange): Promise<ListedPage> {
  const values = [after, limit, instances === undefined ? null : [...instances]];
  const isBefore = before !== undefined;
  const [[lines, isGap, newest] = []] = await run(eventsStatement(isBefore), isBefore ? [...values, before] : values);
  const events = (lines as [number, string, string][]).map(listedEvent);
  if (isBefore) events.reverse();
  return { events, isGap: isGap === true, newest: Number(newest) };
}

/** Resolves with the fencing number of a commit's leader; 0 if there was no leader yet. */
async function readTerm(run: RunStatement, revision: number): Promise<number> {
  const [[fencing = 0] = []] = await run(TERM, [revision]);
  return Number(fencing);
}
