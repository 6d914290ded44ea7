// Opens the parts that live as long as the process, whatever its role: the store with what is shown of it, and the repository.
import { createSlices } from '../base/slices.ts';
import type { Settings } from '../model/settings.ts';
import type { LowdbStore } from '../store/lowdb-store.ts';
import type { DatabaseOptions } from '../store/postgres/connection.ts';
import { type ShownStore, showStore } from './core.ts';
import { openRepository, type Repository, type SharedParts } from './open-parts.ts';
import { findEarlierFile, type OpenedStore, openConfiguredStore } from './open-store.ts';

/** The parts of a process that may lead or stand by. */
export interface Replica {
  readonly repository: Repository;
  readonly store: LowdbStore;
  readonly shown: ShownStore;
  /** Undefined: the store is embedded, and this process is the only one. */
  readonly database: DatabaseOptions | undefined;
  readonly earlier: OpenedStore['earlier'];
}

/** Opens the parts of a replica; `opened` closes them. A database is waited for. Throws where a person has to help. */
export async function openReplica(
  settings: Settings,
  parts: SharedParts & { readonly waitsFor?: (reason: string) => void },
): Promise<Replica> {
  const { log, clock, opened } = parts;
  // Before the store is read: git starts meanwhile, and a start takes longer in a process that is large already. The local
  // copy is only read until then, since the lock of the directory keeps other controllers from it.
  const left = await findEarlierFile(settings.store.directory);
  const repository = await openRepository(settings, { log, clock, opened });
  const { store, database, earlier } = await openConfiguredStore(settings, { ...parts, left });
  return { repository, store, shown: showStore(store, createSlices(clock)), database, earlier };
}
