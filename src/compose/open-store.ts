// Opens the store that the settings name: the embedded one in the directory, or a database, which is waited for. The directory belongs
// to this process in both cases.
import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pause } from '../base/clock.ts';
import { RepeatedErrors } from '../base/throttles.ts';
import type { Settings } from '../model/settings.ts';
import { refuseNetwork } from '../store/database.ts';
import { makeDirectory } from '../store/files.ts';
import { lockDirectory } from '../store/lock.ts';
import { createLowdbStore, type LowdbStore } from '../store/lowdb-store.ts';
import type { DatabaseOptions } from '../store/postgres/connection.ts';
import { readDatabaseSettings } from '../store/postgres/database-url.ts';
import { migrate } from '../store/postgres/migrate.ts';
import { openPostgresStore } from '../store/postgres/postgres-adapter.ts';
import { requireEmbedded, SeenFile } from '../store/postgres/seen-state.ts';
import { codeOf, StoreUnavailable } from '../store/store-error.ts';
import type { SharedParts } from './open-parts.ts';

/** Between two tries to open a database. */
const RETRY_MS = 2_000;

/** An open store. */
export interface OpenedStore {
  readonly store: LowdbStore;
  /** Undefined: the store is embedded. */
  readonly database: DatabaseOptions | undefined;
  readonly earlier: EarlierState;
}

/** What shows an earlier controller of which the store knows nothing, for the first role that leads. */
export interface EarlierState {
  /** Undefined: nothing does, or it was recorded. */
  sign(): EarlierSign | undefined;
  /** The sign was recorded, if there was one. */
  accept(): void;
}

/** What shows that an earlier controller has done more than the store knows. */
export interface EarlierSign {
  /** In words. */
  readonly sign: string;
  /** The store has rows, of an earlier time. */
  readonly isBehind: boolean;
}

/** The parts that a store is opened with. */
interface OpeningParts extends SharedParts {
  /** What {@link findEarlierFile} returned before anything was opened. */
  readonly left: string | undefined;
  /** Is called with the reason while the database is waited for. */
  readonly waitsFor?: (reason: string) => void;
}

/**
 * Opens the store of the settings; `opened` closes it. Waits where a database cannot be used yet, and makes its tables. Throws StoreError
 * where waiting does not help.
 */
export async function openConfiguredStore(
  { store: settings, replica }: Pick<Settings, 'store' | 'replica'>,
  parts: OpeningParts,
): Promise<OpenedStore> {
  const { log, clock, adapting, opened, left } = parts;
  if (settings.kind === 'lowdb') {
    requireEmbedded(settings.directory);
    const store = opened.adopt(await createLowdbStore(settings.directory, { log, clock, adapting }), (it) =>
      it.close(),
    );
    const isThere = left === undefined || left === 'store.sqlite' || left === 'journal';
    const sign = `the store is empty, and its directory has "${left}" of an earlier one`;
    return {
      store,
      database: undefined,
      earlier: untilAccepted(() => (isThere ? undefined : { sign, isBehind: false })),
    };
  }
  const directory = resolve(settings.directory);
  await makeDirectory(directory);
  refuseNetwork(directory);
  opened.use(lockDirectory(directory));
  const { store, database, seen } = await untilUsable(parts, async () => {
    // Read for each try: they may be corrected meanwhile.
    const database = { ...(await readDatabaseSettings(settings)), replica: replica.name };
    const made = await migrate(database);
    if (made.length > 0) log.info({ migrations: made }, 'the tables in the database were made or changed');
    const store = await openPostgresStore(database, { log, clock, adapting });
    try {
      const options = { directory, store, isEmpty: store.revision === 0, clock, log };
      return { store, database, seen: await SeenFile.open(database, options) };
    } catch (error) {
      await store.close();
      throw error;
    }
  });
  opened.adopt(store, (it) => it.close());
  opened.adopt(seen, async (it) => it.close());
  return {
    store,
    database,
    earlier: untilAccepted(
      () => signIn(store, { left, lost: seen.lost }),
      () => seen.accept(),
    ),
  };
}

/** Returns what shows that a database knows less than was done. */
function signIn(
  store: LowdbStore,
  { left, lost }: { readonly left: string | undefined; readonly lost: SeenFile['lost'] },
): EarlierSign | undefined {
  const began = store.read('beginning', 'store')?.began;
  // Another replica may have recorded it.
  if (lost !== undefined && !(began !== undefined && Date.parse(began) > Date.parse(lost.at))) {
    const sign = `the database was set back: this replica had seen its commit ${lost.revision} at ${lost.at}`;
    return { sign, isBehind: true };
  }
  if (store.revision > 0 || left === undefined) return undefined;
  const sign = `the database is empty, and the directory of the store has "${left}" of an earlier one`;
  return { sign, isBehind: false };
}

function untilAccepted(sign: EarlierState['sign'], accept: () => void = () => undefined): EarlierState {
  let isAccepted = false;
  return {
    sign: () => (isAccepted ? undefined : sign()),
    accept() {
      isAccepted = true;
      accept();
    },
  };
}

/** Tries again and again while waiting helps. */
async function untilUsable<Result>(
  { log, clock, waitsFor }: Pick<OpeningParts, 'log' | 'clock' | 'waitsFor'>,
  open: () => Promise<Result>,
): Promise<Result> {
  const errors = new RepeatedErrors(clock);
  for (let isFirst = true; ; isFirst = false) {
    try {
      const result = await open();
      if (!isFirst) log.info('the database can be used');
      return result;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      waitsFor?.(error.message);
      const told = errors.tell(error);
      if (told !== undefined)
        log.warn({ reason: error.message, ...told }, 'the database cannot be used yet; it is tried again');
      await pause(clock, RETRY_MS);
    }
  }
}

/** Returns a file that an earlier controller has left in the directory of a store, the store itself first; undefined: there is none. */
export async function findEarlierFile(directory: string): Promise<string | undefined> {
  const names = await readdir(directory).catch((error): string[] => {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  });
  const store = ['store.sqlite', 'journal'].find((name) => names.includes(name));
  return (
    store ?? names.sort().find((name) => /^(?:repository|running|simulated-.*|(?:replaced|former)-.*)$/.test(name))
  );
}
