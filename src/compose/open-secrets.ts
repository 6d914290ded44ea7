// Secrets in files that everybody on the machine may read. They work all the same, so this is told and not refused.
import { stat } from 'node:fs/promises';
import type { Settings } from '../settings.ts';

export interface OpenSecret {
  /** Which key of the settings names the file. */
  readonly setting: string;
  readonly path: string;
  /** Octal, such as `0644`. */
  readonly mode: string;
}

const READ_BY_ANYBODY = 0o004;

/** Returns the files with a secret that everybody may read. One that is not there is told where it is read. */
export async function openSecrets(settings: Settings): Promise<readonly OpenSecret[]> {
  const found = await Promise.all(
    secretFiles(settings).map(async (file) => ({ ...file, mode: await modeOf(file.path) })),
  );
  return found
    .filter(({ mode }) => (mode & READ_BY_ANYBODY) !== 0)
    .map((file) => ({ ...file, mode: file.mode.toString(8).padStart(4, '0') }));
}

function secretFiles({ api, webhook, repository }: Settings): readonly Omit<OpenSecret, 'mode'>[] {
  const { username, password } = repository.access;
  return [
    { setting: 'api.tls.key', path: api.tls.key },
    ...(webhook === null ? [] : [{ setting: 'webhook.secretFile', path: webhook.secretFile }]),
    ...(password?.kind === 'file' ? [{ setting: 'repository.passwordFile', path: password.path }] : []),
    // A host that looks at a token alone takes it as the name.
    ...(password === null && username?.kind === 'file'
      ? [{ setting: 'repository.usernameFile', path: username.path }]
      : []),
  ];
}

async function modeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).mode & 0o777;
  } catch (error) {
    if (error instanceof Error && 'code' in error) return 0;
    throw error;
  }
}
