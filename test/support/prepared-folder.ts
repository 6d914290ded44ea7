// A folder that is filled once a process and copied for each test: git takes much longer to make a repository than a disk to
// copy one.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Returns a function that copies into a folder what `fill` has made when it was called first, and resolves with its facts. */
export function prepareOnce<Facts>(fill: (folder: string) => Promise<Facts>): (to: string) => Promise<Facts> {
  let prepared: ReturnType<typeof makeFolder<Facts>> | undefined;
  return async (to) => {
    prepared ??= makeFolder(fill);
    const { folder, facts } = await prepared;
    cpSync(folder, to, { recursive: true, preserveTimestamps: true });
    return facts;
  };
}

async function makeFolder<Facts>(fill: (folder: string) => Promise<Facts>) {
  const folder = mkdtempSync(join(tmpdir(), 'treeline-prepared-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return { folder, facts: await fill(folder) };
}
