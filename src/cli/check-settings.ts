// `treeline serve --check`: opens the files and folders that a start opens, and prints failures. Does not start or
// change anything.
import { constants, existsSync } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { checkTls } from '../api/tls/check-tls.ts';
import { readTlsFiles } from '../api/tls/tls-files.ts';
import { createLog } from '../base/log.ts';
import { reasonOf } from '../base/wording.ts';
import { parseYaml } from '../catalog/yaml.ts';
import type { Problem } from '../model/problem.ts';
import type { Settings } from '../model/settings.ts';
import { listBranches } from '../repository/local-repository.ts';
import { missingBranch } from '../repository/remote.ts';
import { parseRepositoryUrl } from '../repository/repository-url.ts';
import { createSigner } from '../repository/signatures.ts';
import { loadSettings, problemsOfSettings } from '../settings/load-settings.ts';
import type { PlacedFault } from '../settings/refuse-settings.ts';
import { warnOfOpenFiles } from '../settings/secret-files.ts';
import { makeDirectory } from '../store/files.ts';
import { readDatabaseSettings } from '../store/postgres/database-url.ts';
import { describeSystemError } from './command-failure.ts';

const AS_ROOT = 'treeline: warning: root may use every file: check as the user that runs the controller\n';

/** A resource that a start opens, and its setting. */
interface Part {
  readonly pointer: string;
  /** Rejects if it cannot be used. */
  readonly open: () => Promise<unknown>;
  /** The controller can start without it. */
  readonly isOptional?: true;
}

/**
 * Returns the problems of a settings file and the resources that it names. Throws SettingsError for an invalid file.
 */
export async function checkSettings(path: string): Promise<readonly Problem[]> {
  if (process.getuid?.() === 0) process.stderr.write(AS_ROOT);
  const settings = await loadSettings(path);
  await warnOfOpenFiles(createLog('warn', process.stderr), settings.files);
  return problemsOfSettings(path, parseYaml(path, await readFile(path)), await faultsOf(settings));
}

async function faultsOf(settings: Settings): Promise<readonly PlacedFault[]> {
  const files = settings.files.map(({ pointer, path }) => ({
    pointer,
    open: () => access(path, constants.R_OK),
  }));
  const missing = await failuresOf(files);
  if (missing.length > 0) return missing;
  return [...(await failuresOf(partsOf(settings))), ...(await checkTlsFiles(settings))];
}

async function failuresOf(parts: readonly Part[]): Promise<readonly PlacedFault[]> {
  const faults: PlacedFault[] = [];
  for (const { pointer, open, isOptional } of parts) {
    try {
      await open();
    } catch (error) {
      const message = describeSystemError(error) ?? reasonOf(error);
      faults.push({ pointer, fault: { code: 'wrong_file', severity: isOptional ? 'warning' : 'error', message } });
    }
  }
  return faults;
}

function partsOf({ store, audit, repository: { url, branch, sign } }: Settings): readonly Part[] {
  const place = parseRepositoryUrl(url);
  const parts: Part[] = [{ pointer: '/store/directory', open: () => openStore(store.directory) }];
  if (store.kind !== 'lowdb') {
    const pointer = store.url.kind === 'file' ? '/store/urlFile' : '/store';
    parts.push({ pointer, open: () => readDatabaseSettings(store) });
  }
  if (audit !== null) {
    parts.push({ pointer: '/audit/file', open: () => openDirectory(dirname(audit.file)), isOptional: true });
  }
  if (sign !== null) {
    const open = async (): Promise<unknown> => createSigner(sign.sshKeyFile)(Buffer.from('a commit'));
    parts.push({ pointer: '/repository/sign/sshKeyFile', open });
  }
  if (place.kind === 'local') {
    parts.push({ pointer: '/repository/url', open: () => requireBranch(place.path, branch), isOptional: true });
  }
  return parts;
}

/** Checks the parent if a directory is missing, because the start creates it. */
async function openDirectory(directory: string): Promise<void> {
  const above = dirname(directory);
  if (!existsSync(directory) && above !== directory) return await openDirectory(above);
  await access(directory, constants.W_OK | constants.X_OK);
}

/** Throws StoreError if other users may enter the directory of the store. */
async function openStore(directory: string): Promise<void> {
  await openDirectory(directory);
  if (existsSync(directory)) await makeDirectory(directory);
}

async function requireBranch(path: string, branch: string): Promise<void> {
  const names = await listBranches(path);
  if (!names.includes(branch)) throw missingBranch(path, { branch, names });
}

async function checkTlsFiles({ api: { tls } }: Settings): Promise<readonly PlacedFault[]> {
  const { material, faults } = await readTlsFiles(tls);
  const found = faults.length > 0 ? faults : checkTls(material, Date.now()).faults;
  return found.map(({ part, message, isBroken }) => {
    const key = part === 'ca' ? 'clientCa' : part;
    const severity = isBroken ? 'error' : 'warning';
    return { pointer: `/api/tls/${key}`, fault: { code: 'wrong_file', severity, message: `${tls[key]}: ${message}` } };
  });
}
