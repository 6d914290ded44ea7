// Opens bytes in memory as a store opens a file to read it.
import type { ReadFile } from '../../src/store/files.ts';

/** Returns a file that has these bytes. */
export function readFileOf(bytes: Buffer): ReadFile {
  const copy = Buffer.from(bytes);
  return {
    size: copy.length,
    read: async (into, position) => copy.copy(into, 0, position),
    close: async () => undefined,
  };
}
