// Finds the demo of a folder, so that commands can use it without options.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadSettings, SettingsError } from '../../load-settings.ts';
import { filesOf } from '../credential-files.ts';
import { settingsFileIn } from './settings-file.ts';

/** The folder in which `treeline demo` keeps everything, unless told otherwise. */
export const DEMO_FOLDER = '.treeline';

/** The address of the demo, and the files of its client. */
interface Demo {
  readonly server: string;
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

/** Returns how to ask, as its administrator, the demo that was made in `folder`; undefined where there is none. */
export async function findDemo(folder: string): Promise<Demo | undefined> {
  const demo = join(folder, DEMO_FOLDER);
  const { cert, key } = filesOf(join(demo, 'pki'), 'administrator');
  const ca = filesOf(join(demo, 'pki'), 'ca').cert;
  const port = existsSync(cert) ? await portOf(settingsFileIn(demo)) : undefined;
  return port === undefined ? undefined : { server: `https://localhost:${port}`, cert, key, ca };
}

/** Settings that the user has made wrong are the demo's to report. */
async function portOf(file: string): Promise<number | undefined> {
  try {
    return (await loadSettings(file)).api.port;
  } catch (error) {
    if (error instanceof SettingsError) return undefined;
    throw error;
  }
}
