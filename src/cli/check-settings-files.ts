// Checks the files that the settings name: missing files, files that do not fit together, and secrets that other users
// may read. Each problem stands at the line that names the file.
import { constants, existsSync, type Stats } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { checkTls, type TlsFault } from '../api/tls/check-tls.ts';
import { readTlsFiles } from '../api/tls/tls-files.ts';
import { whyUnusable } from '../base/wording.ts';
import type { Fault } from '../model/entry.ts';
import type { Settings } from '../model/settings.ts';
import { listBranches } from '../repository/local-repository.ts';
import { missingBranch } from '../repository/remote.ts';
import { parseRepositoryUrl } from '../repository/repository-url.ts';
import { createSigner } from '../repository/signatures.ts';
import { SourceError } from '../repository/source.ts';
import type { PlacedFault } from '../settings/refuse-settings.ts';
import { filesOfSettings, READ_BY_ANYBODY, type SettingsFile, variablesOfSecrets } from '../settings/secret-files.ts';
import { readDatabaseSettings } from '../store/postgres/database-url.ts';
import { StoreError } from '../store/store-error.ts';

/** What the group and all others may do. */
const OTHERS = 0o077;

/**
 * Returns what is wrong with the files, TLS files included; warnings are for what starts all the same. `service` is the user
 * that runs the controller, where this process has become that user; without it, another user may be able to read more.
 */
export async function checkSettingsFiles(settings: Settings, service?: string): Promise<readonly PlacedFault[]> {
  const faults = await Promise.all(filesOfSettings(settings).map((file) => checkFile(file, service)));
  const written = [...(await checkStore(settings, service)), ...(await checkAudit(settings, service))];
  const stored = [...written, ...(await checkRepository(settings)), ...(await checkSigningKey(settings))];
  const files = faults.flat();
  const isDatabaseThere = !files.some(
    ({ pointer, fault }) => pointer.startsWith('/store/') && fault.code !== 'exposed_secret',
  );
  if (isDatabaseThere) stored.push(...(await checkDatabaseUrl(settings)));
  const missing = [...files, ...variablesOfSecrets(settings).map(exposedVariable), ...stored];
  const isTlsThere = !missing.some(
    ({ pointer, fault }) => pointer.startsWith('/api/tls/') && fault.severity !== 'warning',
  );
  return isTlsThere ? [...missing, ...(await checkTlsFiles(settings))] : missing;
}

async function checkFile(
  { pointer, path, isSecret }: SettingsFile,
  service: string | undefined,
): Promise<readonly PlacedFault[]> {
  const at = (fault: Fault): readonly PlacedFault[] => [{ pointer, fault }];
  try {
    const found = await stat(path);
    if (!found.isFile()) return at({ code: 'no_file', message: `${path} is no file` });
    if (isSecret && (found.mode & READ_BY_ANYBODY) !== 0) return at(exposed(path));
    await access(path, constants.R_OK);
    return [];
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'EACCES')
      return at({ code: 'no_file', message: `${path} is not there`, hint: 'make it, or correct the path' });
    return at(unreadable(path, service));
  }
}

function unreadable(path: string, service: string | undefined): Fault {
  const code = 'unreadable_file';
  if (service === undefined) {
    const message = `${path} may not be read by the user that runs this check`;
    return { code, severity: 'warning', message, hint: 'check as the user that runs the controller' };
  }
  const hint = 'give it the right to read it: "Users and permissions" of docs/operations.md';
  return { code, severity: 'error', message: `${path} may not be read by the user ${service}`, hint };
}

/** A directory that is not there is made at the start, by a user who may write to the one above it. */
async function checkStore(
  { store: { directory } }: Settings,
  service: string | undefined,
): Promise<readonly PlacedFault[]> {
  const at = (fault: Fault): readonly PlacedFault[] => [{ pointer: '/store/directory', fault }];
  try {
    const { path, found } = await firstThere(directory);
    if (!found.isDirectory()) return at({ code: 'no_directory', message: `${path} is a file, and no directory` });
    const mode = found.mode & 0o777;
    if (path === directory && (mode & OTHERS) !== 0) {
      const message = `${directory} has the mode ${mode.toString(8).padStart(4, '0')}, so that others may enter it`;
      return at({ code: 'exposed_directory', message, hint: `see who could, then: chmod 0700 ${directory}` });
    }
    await access(path, constants.W_OK | constants.X_OK | (path === directory ? constants.R_OK : 0));
    return [];
  } catch (error) {
    return at(unwritable(directory, service, whyUnusable(error)));
  }
}

/** The controller starts without it, and loses lines. */
async function checkAudit({ audit }: Settings, service: string | undefined): Promise<readonly PlacedFault[]> {
  if (audit === null) return [];
  const folder = dirname(audit.file);
  try {
    await access(folder, constants.W_OK | constants.X_OK);
    return [];
  } catch (error) {
    return [{ pointer: '/audit/file', fault: unwritable(folder, service, whyUnusable(error)) }];
  }
}

/** The database itself is not asked. */
async function checkDatabaseUrl({ store }: Settings): Promise<readonly PlacedFault[]> {
  if (store.kind === 'lowdb') return [];
  try {
    await readDatabaseSettings(store);
    return [];
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const pointer = store.url.kind === 'file' ? '/store/urlFile' : '/store';
    return [{ pointer, fault: { code: 'wrong_value', message: error.message } }];
  }
}

/** Returns the path, or the first directory above it that is there. */
async function firstThere(path: string): Promise<{ readonly path: string; readonly found: Stats }> {
  try {
    return { path, found: await stat(path) };
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (!isMissing || dirname(path) === path) throw error;
    return await firstThere(dirname(path));
  }
}

function unwritable(directory: string, service: string | undefined, why: string): Fault {
  const code = 'unwritable_directory';
  if (service === undefined) {
    const message = `${directory} may not be written, or made, by the user that runs this check: ${why}`;
    const hint = 'check as the user that runs the controller, or change its owner or mode';
    return { code, severity: 'warning', message, hint };
  }
  const message = `${directory} may not be written, or made, by the user ${service}: ${why}`;
  const hint = 'make it, and give it to that user: "Users and permissions" of docs/operations.md';
  return { code, severity: 'error', message, hint };
}

/** The controller starts without it and looks again and again, but a local path is most likely misspelt. */
async function checkRepository({ repository: { url, branch } }: Settings): Promise<readonly PlacedFault[]> {
  const place = parseRepositoryUrl(url);
  if (place.kind !== 'local') return [];
  let pointer = '/repository/url';
  try {
    const names = await listBranches(place.path);
    pointer = '/repository/branch';
    if (!names.includes(branch)) throw missingBranch(place.path, { branch, names });
    return [];
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    const fault: Fault = { code: 'no_repository', severity: 'warning', message: error.message };
    return [{ pointer, fault }];
  }
}

/** The controller does not start with a key that it cannot use. */
async function checkSigningKey({ repository: { sign } }: Settings): Promise<readonly PlacedFault[]> {
  if (sign === null || !existsSync(sign.sshKeyFile)) return [];
  try {
    await createSigner(sign.sshKeyFile)(Buffer.from('a commit'));
    return [];
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    return [{ pointer: '/repository/sign/sshKeyFile', fault: { code: 'wrong_file', message: error.message } }];
  }
}

function exposed(path: string): Fault {
  const message = `${path} is a secret, and every user of this machine may read it`;
  return { code: 'exposed_secret', severity: 'warning', message, hint: `chmod o-rwx ${path}` };
}

function exposedVariable({ variable, setting }: ReturnType<typeof variablesOfSecrets>[number]): PlacedFault {
  const message = `${variable} in the environment is a secret, and every program of the same user may read it in /proc`;
  const hint = `write it into a file, and name that as ${setting}`;
  const pointer = `/${setting.split('.')[0]}`;
  return { pointer, fault: { code: 'exposed_secret', severity: 'warning', message, hint, part: 'key' } };
}

async function checkTlsFiles({ api: { tls } }: Settings): Promise<readonly PlacedFault[]> {
  const { material, faults } = await readTlsFiles(tls);
  if (faults.length > 0) return [];
  return checkTls(material, Date.now()).faults.map((fault) => ({
    pointer: pointerOf(fault),
    fault: tlsFault(fault, tls[keyOf(fault)] ?? ''),
  }));
}

function keyOf({ part }: TlsFault): keyof Settings['api']['tls'] {
  return part === 'ca' ? 'clientCa' : part;
}

function pointerOf(fault: TlsFault): string {
  return `/api/tls/${keyOf(fault)}`;
}

function tlsFault({ message, isBroken }: TlsFault, path: string): Fault {
  return { code: 'wrong_file', severity: isBroken ? 'error' : 'warning', message: `${path}: ${message}` };
}
