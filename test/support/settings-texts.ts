// Settings of a test: a text as a file, and the problems for which it is refused.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '../../src/model/problem.ts';
import { SettingsError } from '../../src/settings/load-settings.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** Returns a file with this text, alone in a directory of the running test. */
export function settingsFile(text: string, name = 'treeline.yaml'): string {
  const file = join(temporaryDirectory(), name);
  writeFileSync(file, text);
  return file;
}

/** Returns the problems with which settings are refused. Rejects where they are accepted, or fail otherwise. */
export async function settingsProblems(loading: Promise<unknown>): Promise<readonly Problem[]> {
  const error: unknown = await loading.then(
    () => new Error('it was accepted'),
    (reason) => reason,
  );
  if (!(error instanceof SettingsError)) throw error;
  return error.problems;
}
