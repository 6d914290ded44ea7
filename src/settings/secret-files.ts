// Detects secrets that every user of the machine can read. They still work, so it logs a warning.
import { stat } from 'node:fs/promises';
import type { Logger } from '../base/log.ts';
import type { SettingsFile } from '../model/settings.ts';

/** The mode of a file that every user of the machine may read. */
const READ_BY_ANYBODY = 0o004;

/** Logs a warning for each secret that every user can read. A missing file is reported when it is used. */
export async function warnOfOpenFiles(log: Logger, files: readonly Omit<SettingsFile, 'pointer'>[]): Promise<void> {
  for (const { setting, path } of files.filter(({ isSecret }) => isSecret)) {
    const mode = await readMode(path);
    if ((mode & READ_BY_ANYBODY) === 0) continue;
    const octal = mode.toString(8).padStart(4, '0');
    log.warn({ setting, path, mode: octal }, 'every user of this machine may read a secret: chmod o-r');
  }
}

async function readMode(path: string): Promise<number> {
  try {
    return (await stat(path)).mode & 0o777;
  } catch (error) {
    if (error instanceof Error && 'code' in error) return 0;
    throw error;
  }
}
