// Detects secrets in files that every user of the machine can read. They still work, so this is logged and not refused.
import { stat } from 'node:fs/promises';
import type { Settings } from '../settings.ts';

interface OpenSecret {
  /** The key of the settings that names the file. */
  readonly setting: string;
  readonly path: string;
  /** Octal, such as `0644`. */
  readonly mode: string;
}

const READ_BY_ANYBODY = 0o004;

/** Returns the files with a secret that every user can read. A missing file is reported when it is read. */
export async function openSecrets(settings: Settings): Promise<readonly OpenSecret[]> {
  const found = await Promise.all(
    secretFiles(settings).map(async (file) => ({ ...file, mode: await modeOf(file.path) })),
  );
  return found
    .filter(({ mode }) => (mode & READ_BY_ANYBODY) !== 0)
    .map((file) => ({ ...file, mode: file.mode.toString(8).padStart(4, '0') }));
}

function secretFiles({ api, webhook, repository, execution }: Settings): readonly Omit<OpenSecret, 'mode'>[] {
  const { username, password } = repository.access;
  return [
    { setting: 'api.tls.key', path: api.tls.key },
    ...(webhook === null ? [] : [{ setting: 'webhook.secretFile', path: webhook.secretFile }]),
    ...(password?.kind === 'file' ? [{ setting: 'repository.passwordFile', path: password.path }] : []),
    ...execution.providers.flatMap((provider) =>
      provider.implementation === 'http'
        ? [{ setting: `execution.providers: secretFile of ${provider.name}`, path: provider.secretFile }]
        : [],
    ),
    // A host that checks the token only accepts it as the username.
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
