// Reads the URL of the database from where the settings have it, and what it says. Nothing that it throws shows the
// URL, which has the password.
import { X509Certificate } from 'node:crypto';
import { readSettingFile } from '../../base/secrets.ts';
import { reasonOf } from '../../base/wording.ts';
import type { DatabaseSettings } from '../../model/settings.ts';
import { StoreError } from '../store-error.ts';
import type { DatabaseAddress } from './postgres-error.ts';

/** What the URL of a database says. */
interface DatabaseUrl {
  readonly address: DatabaseAddress;
  /** Empty: none. */
  readonly password: string;
  /** With TLS, whose certificate is verified. */
  readonly isEncrypted: boolean;
}

const PORT = 5432;
const LOOPBACK = ['localhost', '127.0.0.1', '::1'];
const PARAMETERS = ['sslmode', 'host'];
const URL_FORM = 'postgres://user:password@host:5432/database, with special characters percent-encoded';
const FILE_BYTES_MAX = 64 * 1024;

/**
 * Returns what the settings say of the database. Throws StoreError where a file of theirs cannot be used, or the URL.
 */
export async function readDatabaseSettings({
  url: place,
  caFile,
  poolSize,
}: DatabaseSettings): Promise<{ readonly url: string; readonly ca: string | undefined; readonly poolSize: number }> {
  const ca = caFile === null ? undefined : await readAuthorities(caFile);
  const url = await readPlace(place);
  readDatabaseUrl(url, ca !== undefined);
  return { url, ca, poolSize };
}

/** TLS would pass over what is none, and then trust nobody. */
async function readAuthorities(path: string): Promise<string> {
  const text = await readText(path, 'store.caFile');
  try {
    new X509Certificate(text);
  } catch (error) {
    throw new StoreError(`store.caFile ${path} holds no certificate: it has to name a PEM file.`, { cause: error });
  }
  return text;
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
 * Returns what a URL says. Without `sslmode`, TLS is required but on this machine, there too with `hasCa`. Throws
 * StoreError.
 */
export function readDatabaseUrl(text: string, hasCa: boolean): DatabaseUrl {
  const url = URL.parse(text);
  if (url === null || !['postgres:', 'postgresql:'].includes(url.protocol)) {
    throw new StoreError(`The URL of the database is none: it must be ${URL_FORM}.`);
  }
  const unknown = [...url.searchParams.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) {
    // Behind a "?" that is not percent-encoded it is a part of the password.
    const named = /^[a-z_]+$/.test(unknown) ? ` "${unknown}"` : '';
    throw new StoreError(
      `The URL of the database has the unknown parameter${named}; known are ${PARAMETERS.join(', ')}.`,
    );
  }
  const host = decode(url.hostname).replace(/^\[(.*)\]$/, '$1') || (url.searchParams.get('host') ?? '');
  const user = decode(url.username);
  const database = decode(url.pathname.slice(1)) || user;
  if (host === '' || user === '' || database === '') {
    throw new StoreError(`The URL of the database names no host, user or database: it must be ${URL_FORM}.`);
  }
  const address = { host, port: Number(url.port || PORT), database, user };
  const isLocal = host.startsWith('/') || (LOOPBACK.includes(host) && !hasCa);
  const mode = url.searchParams.get('sslmode') ?? (isLocal ? 'disable' : 'verify-full');
  if (mode !== 'disable' && mode !== 'verify-full') {
    const named = /^[a-z-]+$/.test(mode) ? `=${mode}` : ' of an unknown kind';
    throw new StoreError(
      `The URL of the database has sslmode${named}: it must be verify-full, the default, or disable.`,
    );
  }
  return { address, password: decode(url.password), isEncrypted: mode === 'verify-full' };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new StoreError(`The URL of the database has a % that begins no character: it must be ${URL_FORM}.`);
  }
}
