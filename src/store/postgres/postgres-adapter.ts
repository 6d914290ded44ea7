// Keeps lowdb's document in a PostgreSQL database, which several processes share. Each commit is one transaction that
// locks the row of the state first, so commits come one after the other, and their revisions are seen in order.
import { type Breathe, breatheBy } from '../../base/breathe.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { reasonOf } from '../../base/wording.ts';
import type { ListedPage, ListedRange } from '../../model/instance-event.ts';
import { ALL_EVENTS, EVENTS_A_TRIM, listedEvent } from '../event-table.ts';
import { type LowdbStore, type LowdbStoreOptions, openStore } from '../lowdb-store.ts';
import type { KeptRow } from '../row-json.ts';
import {
  type Batch,
  type DocumentAdapter,
  emptyStoreDocument,
  readRows,
  type SharedChanges,
  type StoreDocument,
  type WholeStore,
} from '../store-document.ts';
import { NotLeading, StoreError } from '../store-error.ts';
import { DatabaseConnections, type DatabaseOptions, type RunStatement } from './connection.ts';
import { type CommitLease, limitCommits } from './lease.ts';
import { requireSchema } from './migrate.ts';
import { type DatabaseAddress, databaseError, LostCommit } from './postgres-error.ts';
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

/** How often a process without a lease looks whether a commit was saved whose connection was lost. */
const LOOK_UPS_MAX = 8;

/**
 * As of every store, and the lease of the process that may commit. Without one, which is for `treeline store` and tests,
 * every process may commit, and nothing fences it.
 */
export interface PostgresStoreOptions extends LowdbStoreOptions {
  readonly lease?: CommitLease | undefined;
  /** Remembers the last commit of this database. Omitted: nobody does. */
  readonly seen?: DatabaseMemory;
}

/** Remembers the last commit of a database that a process has seen. */
export interface DatabaseMemory {
  readonly known: { readonly revision: number; readonly fencing: number } | undefined;
  note(revision: number, fencing: number): void;
  /** The known commit is there, but another leader made it. */
  differs(): void;
}

/** Opens the store in a database whose tables are there. Throws StoreError where it cannot be read. */
export async function openPostgresStore(
  database: DatabaseOptions,
  options: PostgresStoreOptions = {},
): Promise<LowdbStore> {
  const { clock = systemClock, breathe = breatheBy(clock as Clock) } = options;
  const postgres = new PostgresAdapter(database, breathe, options);
  const adapter = options.adapting?.(postgres) ?? postgres;
  return await openStore(postgres.name, { ...options, adapter });
}

/** What the database says of itself. */
interface State {
  readonly revision: number;
  readonly lastEvent: number;
  /** Made with the tables. */
  readonly installation: string;
  /** That of the last process that took the lease. */
  readonly fencing: number;
  /** Marks up to this commit may be gone. */
  readonly forgotten: number;
}

/** A database with the tables of a store. */
export class PostgresAdapter implements DocumentAdapter {
  readonly #connections: DatabaseConnections;
  readonly #breathe: Breathe;
  readonly #lease: CommitLease | undefined;
  readonly #seen: DatabaseMemory | undefined;
  #installation: string | undefined;
  /** Since old events were removed; the first commit removes what is left from before. */
  #newEvents = EVENTS_A_TRIM;
  /**
   * The fencing numbers under which the last commits were made that this process has read or written, by their
   * revisions.
   */
  #terms: ReadonlyMap<number, number> = new Map();

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

  /** How messages name the database. */
  get name(): string {
    return this.#connections.name;
  }

  read(): Promise<StoreDocument> {
    return this.#readWith(async () => undefined);
  }

  /** Returns the document and all events, as of one moment. */
  async readAll(): Promise<WholeStore> {
    let events: ListedPage['events'] = [];
    const document = await this.#readWith(async (run) => {
      events = (await readEvents(run, ALL_EVENTS)).events;
    });
    return { document, events };
  }

  /** Reads the document, and `more` in the same transaction. */
  async #readWith(more: (run: RunStatement) => Promise<void>): Promise<StoreDocument> {
    const document = emptyStoreDocument();
    const rows = await this.#connections.read(async (run) => {
      await requireSchema(run, this.#connections.address);
      const { revision, lastEvent, installation } = await this.#readState(run, STATE);
      Object.assign(document, { revision, lastEvent, installation });
      const read = await this.#readRows(run, { since: 0, last: revision });
      const known = this.#seen?.known;
      if (known !== undefined && known.revision <= revision && (await readTerm(run, known.revision)) !== known.fencing)
        this.#seen?.differs();
      this.#setTerms([[revision, await readTerm(run, revision)]]);
      await more(run);
      return read;
    });
    // After the transaction, which the database ends if it waits for long.
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
    this.#setTerms([[revision, term]]);
    this.#newEvents = unsaved.events.length + (this.#newEvents >= EVENTS_A_TRIM ? 0 : this.#newEvents);
  }

  events(range: ListedRange): Promise<ListedPage> {
    return this.#connections.read((run) => readEvents(run, range));
  }

  readChanges(since: number): Promise<SharedChanges | undefined> {
    return this.#connections.read(async (run) => {
      const state = await this.#readState(run, STATE);
      const { revision, lastEvent, forgotten } = state;
      if (revision < since) throw this.#setBack(revision, since);
      await this.#requireTerm(run, since, revision);
      if (revision === since) return undefined;
      const isWhole = since < forgotten;
      const rows = await this.#readRows(run, { since: isWhole ? 0 : since, last: revision });
      return { revision, lastEvent, isWhole, rows };
    });
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  /** Returns the fencing number that this process leads with; undefined where nobody has to lead. */
  #requireLead(): number | undefined {
    const fencing = this.#lease?.fencing;
    if (this.#lease === undefined || fencing !== undefined) return fencing;
    throw new NotLeading(`This process does not lead, so it may not change ${this.name}. Nothing was saved.`);
  }

  /** The lock on the state is held: nobody takes the lease before this transaction ends. */
  #requireFencing({ fencing: there }: State, fencing: number | undefined): void {
    if (this.#requireLead() === fencing && (fencing === undefined || there === fencing)) return;
    throw new NotLeading(
      `Another process leads ${this.name} with the fencing number ${there}; this one had ${fencing}. Nothing was saved.`,
    );
  }

  /**
   * Throws StoreError if another leader made the commit `since` than this process has seen: the database was set back,
   * and has new commits.
   */
  async #requireTerm(run: RunStatement, since: number, revision: number): Promise<void> {
    const term = await readTerm(run, since);
    if (term !== (this.#terms.get(since) ?? term)) throw this.#setBack(revision, since);
    this.#setTerms([
      [since, term],
      [revision, await readTerm(run, revision)],
    ]);
  }

  /** Sets the commits that are known, the last one last, and remembers that one. */
  #setTerms(terms: readonly (readonly [revision: number, fencing: number])[]): void {
    this.#terms = new Map(terms);
    const last = terms.at(-1);
    if (last !== undefined) this.#seen?.note(...last);
  }

  /** Returns the rows that are newer than a revision. Throws StoreError for one that is newer than the last commit. */
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

  /** Writes a batch. The lock on the state is held. */
  async #save(run: RunStatement, { revision, rows, events }: Batch): Promise<void> {
    // The last of each row counts.
    const last = [...new Map(rows.map((row) => [`${row[0]}/${row[1]}`, row])).values()];
    const [kinds, names] = [last.map(([kind]) => kind), last.map(([, name]) => name)];
    await run(SAVE_ROWS, [kinds, names, last.map(([, , value]) => value), revision]);
    if (events.length > 0) {
      const [ids, instances] = [events.map(([id]) => id), events.map(([, instance]) => instance)];
      await run(ADD_EVENTS, [ids, instances, events.map(([, , value]) => value)]);
    }
    if (this.#newEvents + events.length >= EVENTS_A_TRIM) await run(TRIM_EVENTS);
    await run(FINISH, [revision]);
  }

  /**
   * Returns true if a commit is there whose connection was lost. Looks until that can be read, or the lease is over: who
   * does not lead any more finds the commit among those of others. Throws StoreError then.
   */
  async #isCommitted(revision: number, term: number): Promise<boolean> {
    for (let count = 1; ; count++) {
      try {
        return await this.#connections.write(async (run) => {
          // A transaction that has not ended at the server still has the lock.
          const state = await this.#readState(run, LOCKED_STATE);
          return state.revision >= revision && (await readTerm(run, revision)) === term;
        });
      } catch (error) {
        const isOver = this.#lease === undefined ? count === LOOK_UPS_MAX : this.#lease.fencing !== term;
        if (!isOver) await this.#connections.pause();
        else throw new StoreError(`${reasonOf(error)} Nobody knows whether the last commit was saved.`);
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
      remedy: 'Restart Treeline, so that it reads what is there.',
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

async function readEvents(run: RunStatement, { after, before, limit, instances }: ListedRange): Promise<ListedPage> {
  const values = [after, limit, instances === undefined ? null : [...instances]];
  const isBefore = before !== undefined;
  const [[lines, isGap, newest] = []] = await run(eventsStatement(isBefore), isBefore ? [...values, before] : values);
  const events = (lines as [number, string, string][]).map(listedEvent);
  if (isBefore) events.reverse();
  return { events, isGap: isGap === true, newest: Number(newest) };
}

/** Returns the fencing number of the leader that made a commit; 0: none has led yet. */
async function readTerm(run: RunStatement, revision: number): Promise<number> {
  const [[fencing = 0] = []] = await run(TERM, [revision]);
  return Number(fencing);
}
