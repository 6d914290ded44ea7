// Reads secrets and other files that the settings name, and hides secrets in messages.
import { readFile, stat } from 'node:fs/promises';
import { whyUnusable } from './wording.ts';

const SECRET_BYTES_MAX = 64 * 1024;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const PROXY_VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY'];
const HIDDEN = '***';
/** Hiding shorter secrets would make messages unreadable and protect nothing. */
const SECRET_LENGTH_MIN = 3;

/** The file cannot be used. The message names the setting, and does not quote the file. */
export class SecretFileError extends Error {
  override readonly name = 'SecretFileError';
}

/** Returns a secret without the newline at its end. Throws SecretFileError if the file is empty or cannot be read. */
export async function readSecretFile(path: string, setting: string): Promise<Buffer> {
  const secret = withoutNewline(await readSettingFile(path, setting, SECRET_BYTES_MAX));
  // With an empty secret, anyone could sign.
  if (secret.length === 0) throw new SecretFileError(`${setting} ${path} is empty: write the secret into it`);
  return secret;
}

/** Returns the bytes of a file that a setting names. Throws SecretFileError. */
export async function readSettingFile(path: string, setting: string, bytesMax: number): Promise<Buffer> {
  try {
    const { size } = await stat(path);
    if (size > bytesMax) throw new Error(`it has ${size} bytes, and ${bytesMax} are allowed`);
    return await readFile(path);
  } catch (error) {
    throw new SecretFileError(`${setting} ${path} cannot be read: ${whyUnusable(error)}`, { cause: error });
  }
}

function withoutNewline(bytes: Buffer): Buffer {
  if (bytes.at(-1) !== LINE_FEED) return bytes;
  return bytes.subarray(0, bytes.at(-2) === CARRIAGE_RETURN ? -2 : -1);
}

/** Returns the passwords in the URLs of the proxies that the environment names. */
export function proxySecrets(): readonly string[] {
  return PROXY_VARIABLES.flatMap((name) => [name, name.toLowerCase()]).flatMap((name) => {
    const url = URL.parse(process.env[name] ?? '');
    return url === null || url.password === '' ? [] : [url.password, decodePercent(url.password)];
  });
}

/** A single percent sign is literal. */
function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns a text with `***` in place of the secrets, including their Base64 and percent-encoded forms. */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  const forms = secrets.flatMap((secret) => {
    const base64 = Buffer.from(secret).toString('base64');
    return [secret, encodeURIComponent(secret), base64, base64.replace(/=+$/, ''), encodeURIComponent(base64)];
  });
  const longestFirst = [...new Set(forms)].filter(({ length }) => length >= SECRET_LENGTH_MIN);
  longestFirst.sort((a, b) => b.length - a.length);
  if (longestFirst.length === 0) return text;
  return text.replace(new RegExp(longestFirst.map(RegExp.escape).join('|'), 'gi'), HIDDEN);
}
