// A directory of its own for the embedded store, for the contract suite.
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLowdbStore, type LowdbStoreOptions } from '../../src/store/lowdb-store.ts';
import type { StorePlace } from '../contract/store.ts';

/** Returns a place whose stores are opened with these options. */
export function storePlace(options: LowdbStoreOptions): StorePlace {
  const directory = mkdtempSync(join(tmpdir(), 'treeline-'));
  return {
    open: () => createLowdbStore(join(directory, 'state'), options),
    remove: () => rm(directory, { recursive: true }),
  };
}
