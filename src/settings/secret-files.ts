// Lists the files that the settings name, and detects secrets that every user of the machine can read. They still work,
// so this is logged and not refused.
import { stat } from 'node:fs/promises';
import type { Logger } from '../base/log.ts';
import type { NotificationTarget, SecretPlace, Settings } from '../model/settings.ts';

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

/** The mode of a file that every user of the machine may read. */
const READ_BY_ANYBODY = 0o004;

/** Logs a warning for each of these secrets that every user can read. A missing file is reported when it is used. */
export async function warnOfOpenFiles(log: Logger, secrets: readonly NamedFile[]): Promise<void> {
  for (const file of secrets) {
    const mode = await readMode(file.path);
    if ((mode & READ_BY_ANYBODY) === 0) continue;
    const octal = mode.toString(8).padStart(4, '0');
    log.warn({ ...file, mode: octal }, 'every user of this machine may read a secret: chmod o-r');
  }
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

async function readMode(path: string): Promise<number> {
  try {
    return (await stat(path)).mode & 0o777;
  } catch (error) {
    if (error instanceof Error && 'code' in error) return 0;
    throw error;
  }
}
