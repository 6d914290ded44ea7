// Reads and parses the URL of the database. Its errors never contain the URL, which contains the password.
import { readSettingFile } from '../../base/secrets.ts';
import { reasonOf } from '../../base/wording.ts';
import type { DatabaseSettings } from '../../model/settings.ts';
import { StoreError } from '../store-error.ts';
import type { DatabaseAddress } from './postgres-error.ts';

/** The parsed URL of a database. */
interface DatabaseUrl {
  readonly address: DatabaseAddress;
  /** Empty if there is none. */
  readonly password: string;
  /** True for TLS with a verified certificate. */
  readonly isEncrypted: boolean;
}

const PORT = 5432;
const LOOPBACK = ['localhost', '127.0.0.1', '::1'];
const PARAMETERS = ['sslmode', 'host'];
const URL_FORM = 'postgres://user:password@host:5432/database, with special characters percent-encoded';
const FILE_BYTES_MAX = 64 * 1024;

/** Resolves with the options from the settings. Throws StoreError if a file or the URL cannot be used. */
export async function readDatabaseSettings({
  url: place,
  caFile,
  poolSize,
}: DatabaseSettings): Promise<{ readonly url: string; readonly ca: string | undefined; readonly poolSize: number }> {
  const ca = caFile === null ? undefined : await readText(caFile, 'store.caFile');
  const url = await readPlace(place);
  readDatabaseUrl(url, ca !== undefined);
  return { url, ca, poolSize };
}

async function readPlace(place: DatabaseSettings['url']): Promise<string> {
  if (place.kind === 'settings') return place.url;
  if (place.kind === 'variable') return (process.env[place.name] ?? '').trim();
  const text = (await readText(place.path, 'store.urlFile')).trim();
  if (text === '') throw new StoreError(`store.urlFile ${place.path} is empty: write the URL into it, ${URL_FORM}.`);
  return text;
}

async function readText(path: string, setting: string): Promise<string> {
  try {
    return (await readSettingFile(path, setting, FILE_BYTES_MAX)).toString();
  } catch (error) {
    throw new StoreError(reasonOf(error), { cause: error });
  }
}

/**
 * Parses a URL. Without `sslmode`, TLS is required, except on this machine without `hasCa`. Throws StoreError.
 */
export function readDatabaseUrl(text: string, hasCa: boolean): DatabaseUrl {
  const url = URL.parse(text);
  if (url === null || !['postgres:', 'postgresql:'].includes(url.protocol)) throw wrong('is none');
  // After an unencoded "?", these parameters may be a part of the password, so the message does not contain them.
  if ([...url.searchParams.keys()].some((name) => !PARAMETERS.includes(name)))
    throw wrong(`has other parameters than ${PARAMETERS.join(' and ')}`);
  const host = decode(url.hostname).replace(/^\[(.*)\]$/, '$1') || (url.searchParams.get('host') ?? '');
  const user = decode(url.username);
  const database = decode(url.pathname.slice(1)) || user;
  if (host === '' || user === '' || database === '') throw wrong('names no host, user or database');
  const isLocal = host.startsWith('/') || (LOOPBACK.includes(host) && !hasCa);
  const mode = url.searchParams.get('sslmode') ?? (isLocal ? 'disable' : 'verify-full');
  if (mode !== 'disable' && mode !== 'verify-full') throw wrong('has another sslmode than verify-full and disable');
  const address = { host, port: Number(url.port || PORT), database, user };
  return { address, password: decode(url.password), isEncrypted: mode === 'verify-full' };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong('has a % that begins no character');
  }
}

function wrong(what: string): StoreError {
  return new StoreError(`The URL of the database ${what}: it must be ${URL_FORM}.`);
}
