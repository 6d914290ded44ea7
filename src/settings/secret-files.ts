// Lists the files that the settings name, and detects secrets in files that every user of the machine can read or in
// the environment, and programs that every user can change. They still work, so this is logged and not refused.
import { stat } from 'node:fs/promises';
import type { Logger } from '../base/log.ts';
import type { NotificationTarget, ProviderSettings, SecretPlace, Settings } from '../model/settings.ts';

/** A file that the settings name. */
interface NamedFile {
  /** The key of the settings that names the file. */
  readonly setting: string;
  readonly path: string;
}

/** A file that the settings name, and where. */
export interface SettingsFile extends NamedFile {
  /** RFC 6901. */
  readonly pointer: string;
  readonly isSecret: boolean;
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

/** The mode of a file that every user of the machine may read. */
const READ_BY_ANYBODY = 0o004;
const WRITTEN_BY_ANYBODY = 0o002;

/** Logs a warning for each of these secrets that others can read, and for each program that every user can change. */
export async function warnOfOpenFiles(log: Logger, { secrets, variables = [], providers }: OpenSecrets): Promise<void> {
  for (const variable of variables) {
    log.warn(variable, 'programs of this user may read a secret in the environment: write it into a file');
  }
  for (const file of await filesWith(READ_BY_ANYBODY, secrets)) {
    log.warn(file, 'every user of this machine may read a secret: chmod o-r');
  }
  for (const file of await filesWith(WRITTEN_BY_ANYBODY, providers.flatMap(programsOf))) {
    log.warn(file, 'every user of this machine may change a program: chmod o-w');
  }
}

/** A user who can change a program runs any code as the user of this process. */
function programsOf(provider: ProviderSettings): readonly NamedFile[] {
  if (provider.implementation !== 'exec') return [];
  return [{ setting: `command of the provider ${provider.name}`, path: provider.command[0] }];
}

/** A missing file is reported when it is used. */
async function filesWith(rights: number, files: readonly NamedFile[]): Promise<readonly OpenFile[]> {
  const found = await Promise.all(files.map(async (file) => ({ ...file, mode: await readMode(file.path) })));
  return found
    .filter(({ mode }) => (mode & rights) !== 0)
    .map((file) => ({ ...file, mode: file.mode.toString(8).padStart(4, '0') }));
}

type PlacedFile = readonly [pointer: string, path: string | null | undefined, isSecret: boolean];

/**
 * Returns the files that the settings name, but for programs; and the settings themselves where a password is in them.
 */
export function filesOfSettings({
  api: { tls },
  webhook,
  repository,
  statuses,
  notifications,
  store,
  execution,
}: Settings): readonly SettingsFile[] {
  const { verify, sign, access } = repository;
  const { username, password, caFile } = access;
  const files: readonly PlacedFile[] = [
    ['/api/tls/key', tls.key, true],
    ['/api/tls/cert', tls.cert, false],
    ['/api/tls/clientCa', tls.clientCa, false],
    ['/api/tls/crl', tls.crl, false],
    ['/webhook/secretFile', webhook?.secretFile, true],
    // A host that checks the token only accepts it as the username.
    ['/repository/usernameFile', pathOf(username), password === null],
    ['/repository/passwordFile', pathOf(password), true],
    ['/repository/caFile', caFile, false],
    ['/repository/verify/allowedSigners', verify?.allowedSigners, false],
    ['/repository/verify/keyring', verify?.keyring, false],
    ['/repository/sign/sshKeyFile', sign?.sshKeyFile, true],
    ['/statuses/tokenFile', statuses?.tokenFile, true],
    ['/statuses/caFile', statuses?.caFile, false],
    ...filesOfDatabase(store),
    ...execution.providers.flatMap((provider, index) =>
      provider.implementation === 'http' ? signingFiles(provider, `/execution/providers/${index}`) : [],
    ),
    ...notifications.flatMap((target, index) => signingFiles(target, `/notifications/${index}`)),
  ];
  return files.flatMap(([pointer, path, isSecret]) => {
    const setting = pointer.slice(1).replaceAll('/', '.');
    return path == null ? [] : [{ pointer, setting, path, isSecret }];
  });
}

/** Returns the files of an entry of a list that signs what it sends. */
function signingFiles(
  { secretFile, caFile }: Pick<NotificationTarget, 'secretFile' | 'caFile'>,
  pointer: string,
): readonly PlacedFile[] {
  return [
    [`${pointer}/secretFile`, secretFile, true],
    [`${pointer}/caFile`, caFile, false],
  ];
}

function filesOfDatabase(store: Settings['store']): readonly PlacedFile[] {
  if (store.kind === 'lowdb') return [];
  const { url, caFile } = store;
  const file: PlacedFile = ['/store/urlFile', url.kind === 'file' ? url.path : null, true];
  const hasPassword = url.kind === 'settings' && (URL.parse(url.url)?.password ?? '') !== '';
  return [file, ['/store/url', hasPassword ? url.file : null, true], ['/store/caFile', caFile, false]];
}

function pathOf(place: SecretPlace | null): string | undefined {
  return place?.kind === 'file' ? place.path : undefined;
}

/** Returns the files of the settings that hold a secret. */
export function filesOfSecrets(settings: Settings): readonly NamedFile[] {
  return filesOfSettings(settings).flatMap(({ setting, path, isSecret }) => (isSecret ? [{ setting, path }] : []));
}

/** Returns the variables of the environment that hold a secret: what runs as this user reads them in /proc. */
export function variablesOfSecrets({ repository, store }: Settings): readonly NamedVariable[] {
  const { username, password } = repository.access;
  // Without a password, the username is a token.
  const [secret, key] = password === null ? [username, 'usernameFile'] : [password, 'passwordFile'];
  const ofRepository = secret?.kind === 'variable' ? [{ variable: secret.name, setting: `repository.${key}` }] : [];
  const ofStore =
    store.kind === 'postgres' && store.url.kind === 'variable'
      ? [{ variable: store.url.name, setting: 'store.urlFile' }]
      : [];
  return [...ofRepository, ...ofStore];
}

async function readMode(path: string): Promise<number> {
  try {
    return (await stat(path)).mode & 0o777;
  } catch (error) {
    if (error instanceof Error && 'code' in error) return 0;
    throw error;
  }
}
