// Detects secrets in files that every user of the machine can read or in the environment, and programs that every user can
// change. They still work, so this is logged and not refused.
import { stat } from 'node:fs/promises';
import type { Logger } from '../log.ts';
import type { ProviderSettings, Settings } from '../settings.ts';

/** A file that the settings name. */
interface NamedFile {
  /** The key of the settings that names the file. */
  readonly setting: string;
  readonly path: string;
}

interface OpenFile extends NamedFile {
  /** Octal, such as `0644`. */
  readonly mode: string;
}

/** A variable of the environment that holds a secret. */
interface NamedVariable {
  readonly variable: string;
  /** The key of the settings that names a file for it. */
  readonly setting: string;
}

interface OpenSecrets {
  readonly secrets: readonly NamedFile[];
  readonly variables?: readonly NamedVariable[];
  readonly providers: readonly ProviderSettings[];
}

const READ_BY_ANYBODY = 0o004;
const WRITTEN_BY_ANYBODY = 0o002;

/** Logs a warning for each of these secrets that others can read, and for each program that every user can change. */
export async function warnOfOpenFiles(log: Logger, { secrets, variables = [], providers }: OpenSecrets): Promise<void> {
  for (const variable of variables) {
    log.warn(variable, 'programs of this user may read a secret in the environment: write it into a file');
  }
  for (const file of await filesWith(READ_BY_ANYBODY, secrets)) {
    log.warn(file, 'everybody on this machine may read a secret: chmod o-r');
  }
  for (const file of await filesWith(WRITTEN_BY_ANYBODY, providers.flatMap(programsOf))) {
    log.warn(file, 'everybody on this machine may change a program: chmod o-w');
  }
}

/** Whoever can change a program runs what they like as the user of this process. */
function programsOf(provider: ProviderSettings): readonly NamedFile[] {
  if (provider.implementation !== 'exec') return [];
  return [{ setting: `command of the provider ${provider.name}`, path: provider.command[0] }];
}

/** A missing file is reported when it is used. */
async function filesWith(rights: number, files: readonly NamedFile[]): Promise<readonly OpenFile[]> {
  const found = await Promise.all(files.map(async (file) => ({ ...file, mode: await modeOf(file.path) })));
  return found
    .filter(({ mode }) => (mode & rights) !== 0)
    .map((file) => ({ ...file, mode: file.mode.toString(8).padStart(4, '0') }));
}

/** Returns the files of the settings that hold a secret. */
export function filesOfSecrets({ api, webhook, repository, statuses, execution }: Settings): readonly NamedFile[] {
  const { username, password } = repository.access;
  return [
    { setting: 'api.tls.key', path: api.tls.key },
    ...(webhook === null ? [] : [{ setting: 'webhook.secretFile', path: webhook.secretFile }]),
    ...(password?.kind === 'file' ? [{ setting: 'repository.passwordFile', path: password.path }] : []),
    ...(statuses === null ? [] : [{ setting: 'statuses.tokenFile', path: statuses.tokenFile }]),
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

/** Returns the variables of the environment that hold a secret: what runs as this user reads them in /proc. */
export function variablesOfSecrets({ repository }: Settings): readonly NamedVariable[] {
  const { username, password } = repository.access;
  // Without a password, the username is a token.
  const [secret, key] = password === null ? [username, 'usernameFile'] : [password, 'passwordFile'];
  return secret?.kind === 'variable' ? [{ variable: secret.name, setting: `repository.${key}` }] : [];
}

async function modeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).mode & 0o777;
  } catch (error) {
    if (error instanceof Error && 'code' in error) return 0;
    throw error;
  }
}
