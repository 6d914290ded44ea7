// Opens the store of the settings: the embedded one in the directory, or a database, for which it waits. In both cases,
// this process locks the directory.
import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pause } from '../base/clock.ts';
import { logOnceAMinute } from '../base/log-once-a-minute.ts';
import { productVersion } from '../base/product-files.ts';
import { reasonOf } from '../base/wording.ts';
import { RECOVERY } from '../machine/recovery.ts';
import type { DatabaseSettings, Settings } from '../model/settings.ts';
import { refuseNetwork } from '../store/database.ts';
import { makeDirectory } from '../store/files.ts';
import { lockDirectory } from '../store/lock.ts';
import { createLowdbStore, type LowdbStore, type LowdbStoreOptions } from '../store/lowdb-store.ts';
import { readDatabaseSettings } from '../store/postgres/database-url.ts';
import { Lease } from '../store/postgres/lease.ts';
import { migrate } from '../store/postgres/migrate.ts';
import { openPostgresStore } from '../store/postgres/postgres-adapter.ts';
import { requireEmbedded, SeenFile } from '../store/postgres/seen-state.ts';
import { codeOf, mayPass } from '../store/store-error.ts';
import { storeRevision } from '../store/store-file.ts';
import type { SharedParts } from './open-parts.ts';
import { openPeers, type Peers } from './open-peers.ts';
import type { PresentRole } from './present-role.ts';

const STORE_FILE = 'store.sqlite';
/** The pause between two attempts to open a store. */
const RETRY_MS = 2_000;

/** The parts of a shared database in addition to the rows. */
export interface SharedDatabase {
  readonly lease: Lease;
  readonly peers: Peers;
}

/** An open store. */
export interface OpenedStore {
  readonly store: LowdbStore;
  /** Undefined if the store is embedded. */
  readonly database: SharedDatabase | undefined;
  readonly earlier: EarlierState;
}

/** The evidence of lost rows, for the first role that leads. */
export interface EarlierState {
  /** The evidence in words; undefined if there is none, or if it was recorded. */
  sign(): string | undefined;
  /** Called when the evidence, if any, was recorded. */
  accept(): void;
}

/** The dependencies of a store. */
export interface OpeningParts extends SharedParts, Pick<LowdbStoreOptions, 'onSaved'> {
  /** Reports the wait, answers forwarded requests, and changes the role. */
  readonly present: PresentRole;
  /** Called when this process has lost the lease and another one may lead. */
  readonly onOver: () => void;
}

/**
 * Opens the store of the settings; `opened` closes it. Waits while the database is unavailable or the disk is full, and
 * creates the tables. Throws StoreError if waiting does not help.
 */
export async function openConfiguredStore(settings: Settings, parts: OpeningParts): Promise<OpenedStore> {
  const { log, clock, onSaved, opened } = parts;
  // Other files without a store are evidence that the store was lost.
  const left = await findEarlierFile(settings.store.directory);
  if (settings.store.kind === 'lowdb') {
    const { directory } = settings.store;
    // Before a store is created there.
    requireEmbedded(directory, () => storeRevision(directory));
    const opening = (): Promise<LowdbStore> => createLowdbStore(directory, { log, clock, onSaved });
    const store = opened.adopt(await untilUsable(parts, opening), (it) => it.close());
    const isThere = left === undefined || left === STORE_FILE;
    const sign = `the store is empty, and its directory has "${left}" of an earlier one`;
    return {
      store,
      database: undefined,
      earlier: { sign: () => (isThere ? undefined : sign), accept: () => undefined },
    };
  }
  const place = settings.store;
  const directory = resolve(place.directory);
  await makeDirectory(directory);
  refuseNetwork(directory);
  opened.use(lockDirectory(directory));
  const { store, database, seen } = await untilUsable(parts, () => openDatabase(place, settings, parts));
  return {
    store,
    database,
    earlier: { sign: () => signIn(store, { left, seen }), accept: () => seen.accept() },
  };
}

/** Opens the database and the access to other processes. The lease is not acquired before it is started. */
async function openDatabase(
  place: DatabaseSettings,
  settings: Settings,
  { log, clock, onSaved, opened, present, onOver }: OpeningParts,
): Promise<{ readonly store: LowdbStore; readonly database: SharedDatabase; readonly seen: SeenFile }> {
  // Read again for each attempt, because the operator may have corrected them.
  const { replica } = settings;
  const options = { ...(await readDatabaseSettings(place)), replica: replica.name };
  const made = await migrate(options, settings.id);
  if (made.length > 0) log.info({ migrations: made }, 'the tables in the database were created or changed');
  await using parts = new AsyncDisposableStack();
  const held = { ...replica, onTaken: present.take, onLost: present.lose, onOver, clock, log };
  const lease = parts.adopt(new Lease(options, held), (it) => it.close());
  const seen = new SeenFile({ directory: settings.store.directory, clock, log });
  const store = await openPostgresStore(options, { log, clock, onSaved, lease, seen });
  parts.adopt(store, (it) => it.close());
  const identity = { replica, settings: settingsToAgree(settings), lease, handler: present.handler };
  const peers = await openPeers(options, { ...identity, clock, log, opened: parts });
  const kept = parts.move();
  opened.defer(() => kept.disposeAsync());
  return { store, database: { lease, peers }, seen };
}

/** Returns the evidence that a database lacks recorded commits. */
function signIn(
  store: LowdbStore,
  { left, seen: { lost, isFirst, isOther } }: { readonly left: string | undefined; readonly seen: SeenFile },
): string | undefined {
  // Another replica may have recorded the loss since.
  const isRecorded = lost !== undefined && (store.read('recovery', RECOVERY)?.since ?? '') > lost.at;
  if (lost !== undefined && !isRecorded && (isOther || store.revision < lost.revision))
    return `the database was set back: this replica has seen its revision ${lost.revision} at ${lost.at}`;
  if (store.revision > 0 || left === undefined || !isFirst) return undefined;
  return `the database is empty, and the directory of the store has "${left}" of an earlier one`;
}

/**
 * Returns the settings that must be equal in all replicas, as texts by name: otherwise a takeover would change the
 * behaviour.
 */
function settingsToAgree({ id, repository, statuses, execution, replica }: Settings): Readonly<Record<string, string>> {
  const { url, branch, directory, writes } = repository;
  const { providers, ...rest } = execution;
  const texts = {
    id,
    'repository.url': url,
    'repository.branch': branch,
    'repository.directory': directory,
    'repository.writes': writes,
    'replica.leaseSeconds': replica.leaseSeconds,
    execution: rest,
    // The paths of programs may differ between machines.
    'execution.providers': providers.map(({ name, match }) => ({ name, match })),
    statuses: statuses && { ...statuses, tokenFile: null, caFile: null },
    version: productVersion(),
  };
  return Object.fromEntries(Object.entries(texts).map(([name, value]) => [name, JSON.stringify(value)]));
}

/** Repeats the attempt while the failure may pass. */
async function untilUsable<Result>(
  { log, clock, present }: OpeningParts,
  open: () => Promise<Result>,
): Promise<Result> {
  const logOnce = logOnceAMinute(clock);
  for (let isFirst = true; ; isFirst = false) {
    try {
      const result = await open();
      if (!isFirst) log.info('the store can be used');
      return result;
    } catch (error) {
      if (!mayPass(error)) throw error;
      const reason = reasonOf(error);
      present.waitsFor(reason);
      const repeats = logOnce(error);
      if (repeats !== undefined) log.warn({ reason, ...repeats }, 'the store cannot be used yet; it is tried again');
      await pause(clock, RETRY_MS);
    }
  }
}

/**
 * Resolves with a file of an earlier controller in the directory of a store, preferably the store itself; undefined if
 * there is none.
 */
async function findEarlierFile(directory: string): Promise<string | undefined> {
  const names = await readdir(directory).catch((error): string[] => {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  });
  if (names.includes(STORE_FILE)) return STORE_FILE;
  return names.sort().find((name) => /^(?:repository|running|simulated-.*|replaced-.*)$/.test(name));
}
