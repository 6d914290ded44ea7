// Parses the files of a commit ahead of its derivation, which is synchronous: fifty files of a megabyte take seconds.
import { setImmediate } from 'node:timers/promises';
import type { Catalog, FileEntry } from '../catalog/catalog.ts';
import { type ParsedFiles, parseFiles } from '../catalog/load-catalog.ts';
import type { Snapshot } from '../model/snapshot.ts';

/** Yields to other work after this number of bytes. Each file counts as some bytes more. */
const BYTES_A_TURN = 128 * 1024;
const FILE_COST_BYTES = 1024;

/**
 * Returns the entries of the files of a snapshot that `previous` does not have. It yields to other work meanwhile:
 * `yieldToOthers` is awaited after an amount of work, so that the same snapshot yields at the same places. A small commit does not yield.
 */
export async function parseAhead(
  snapshot: Snapshot,
  previous?: Catalog,
  yieldToOthers: () => Promise<unknown> = setImmediate,
): Promise<ParsedFiles> {
  const parsed = new Map<string, FileEntry>();
  let work = 0;
  for (const entry of parseFiles(snapshot, previous)) {
    parsed.set(entry.path, entry);
    work += FILE_COST_BYTES + (snapshot.blobs.get(entry.oid)?.length ?? 0);
    if (work < BYTES_A_TURN) continue;
    work = 0;
    await yieldToOthers();
  }
  return parsed;
}
