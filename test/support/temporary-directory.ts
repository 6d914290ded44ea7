// A directory for one test, gone after it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Returns the path of a new directory that is removed when the running test is over. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'treeline-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
