// Provides the credentials and certificate authorities for requests to a repository over HTTP. Secrets are read again
// for each request, so that a rotated one works without a restart.

import { X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import { reasonOf } from '../../base/wording.ts';
import type { RepositoryAccess, SecretPlace } from '../../model/settings.ts';
import { SourceError } from '../source.ts';
import type { SentLogin } from './sent-secrets.ts';

/** The credentials and authorities of one request; secret. */
interface HttpSecrets {
  /** The header `Authorization`; undefined: none. */
  readonly authorization: string | undefined;
  /** The login in that header. */
  readonly login: SentLogin | undefined;
  /** PEM; undefined: the authorities that Node trusts. */
  readonly ca: string | undefined;
}

/** Anonymous access. */
export const NO_ACCESS: RepositoryAccess = { username: null, password: null, caFile: null };

/** Hosts that check the password only accept any name; this is the one that GitHub documents. */
const USERNAME_DEFAULT = 'x-access-token';
const PROXY_VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY'];
const SECRET_BYTES_MAX = 64 * 1024;
const CA_BYTES_MAX = 4 * 1024 * 1024;

/** Throws SourceError if a name and password would be sent unencrypted. */
export function checkEncryption(url: string, hasSecret: boolean): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'http:' && hasSecret && !isLoopback(hostname)) {
    throw new SourceError(
      `"${url}" would carry the password unencrypted: write https:// (repository.caFile names the authority of a private certificate)`,
    );
  }
}

/** Returns true for names and addresses of this machine. */
export function isLoopback(hostname: string): boolean {
  if (hostname === 'localhost' || hostname === '[::1]') return true;
  return isIP(hostname) === 4 && hostname.startsWith('127.');
}

/** Reads the secrets. Throws SourceError if a file or variable is missing or invalid. */
export async function readHttpSecrets({ username, password, caFile }: RepositoryAccess): Promise<HttpSecrets> {
  const ca = caFile === null ? undefined : await readAuthorities(caFile);
  if (username === null && password === null) return { authorization: undefined, login: undefined, ca };
  const name = username === null ? USERNAME_DEFAULT : await readSecret(username, 'repository.usernameFile');
  if (name.includes(':')) {
    throw new SourceError(
      `the user name in ${placeOf(username)} holds a ":", which no user name can: see what is in it`,
    );
  }
  const secret = password === null ? '' : await readSecret(password, 'repository.passwordFile');
  const login = { username: name, password: secret };
  return { authorization: `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`, login, ca };
}

/** Returns the logins in the URLs of the proxies that the environment names. */
export function proxyLogins(): readonly SentLogin[] {
  return PROXY_VARIABLES.flatMap((name) => [name, name.toLowerCase()]).flatMap((name) => {
    const url = URL.parse(process.env[name] ?? '');
    return url === null || url.password === ''
      ? []
      : [{ username: decodePercent(url.username), password: decodePercent(url.password) }];
  });
}

/** Returns a part of a URL without its percent-encoding. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    // A single percent sign is literal.
    if (error instanceof URIError) return text;
    throw error;
  }
}

/** Returns where name and password are configured, for messages. Undefined if there are none. */
export function placesOf({ username, password }: RepositoryAccess): string | undefined {
  const places = [username, password].filter((place) => place !== null).map(placeOf);
  return places.length === 0 ? undefined : places.join(' and ');
}

function placeOf(place: SecretPlace | null): string {
  if (place === null) return 'nothing';
  return place.kind === 'file' ? place.path : `the environment variable ${place.name}`;
}

/** A trailing newline of a file is not part of the secret. */
async function readSecret(place: SecretPlace, key: string): Promise<string> {
  const text =
    place.kind === 'file'
      ? (await readText(place.path, key, SECRET_BYTES_MAX)).replace(/\r?\n$/, '')
      : (process.env[place.name] ?? '');
  if (text === '') throw new SourceError(`${placeOf(place)} is empty: it has to hold the secret for the repository`);
  return text;
}

async function readAuthorities(path: string): Promise<string> {
  const text = await readText(path, 'repository.caFile', CA_BYTES_MAX);
  try {
    new X509Certificate(text);
    return text;
  } catch (error) {
    throw new SourceError(`${path} holds no certificate: repository.caFile has to name a PEM file`, { cause: error });
  }
}

/** Resolves with the text of a file that a setting names. Throws SourceError, which names the setting. */
export async function readText(path: string, key: string, bytesMax: number): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > bytesMax) throw new Error(`it has ${size} bytes, and ${bytesMax} are allowed`);
    return await readFile(path, 'utf8');
  } catch (error) {
    const reason = reasonOf(error);
    throw new SourceError(`${key} cannot be read: ${reason}`, { cause: error });
  }
}
