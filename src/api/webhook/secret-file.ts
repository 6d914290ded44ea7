// Reads the secret that Treeline shares with the Git server, from the operator's file.
import { readFile, stat } from 'node:fs/promises';
import { reasonOf } from '../../base/wording.ts';

/** The file cannot be used. Its message says why, and nothing of what is in it. */
export class SecretFileError extends Error {
  override readonly name = 'SecretFileError';
}

const SECRET_BYTES_MAX = 64 * 1024;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Returns the secret; a newline at its end is not part of it. Throws SecretFileError where there is none. */
export async function readSecretFile(path: string): Promise<Buffer> {
  const secret = withoutNewline(await read(path));
  // Every sender could sign with an empty secret.
  if (secret.length === 0) throw new SecretFileError(`webhook.secretFile ${path} is empty: write the secret into it`);
  return secret;
}

async function read(path: string): Promise<Buffer> {
  try {
    const { size } = await stat(path);
    if (size > SECRET_BYTES_MAX) throw new Error(`it has ${size} bytes, and ${SECRET_BYTES_MAX} are allowed`);
    return await readFile(path);
  } catch (error) {
    const reason = reasonOf(error);
    throw new SecretFileError(`webhook.secretFile cannot be read: ${reason}`, { cause: error });
  }
}

function withoutNewline(bytes: Buffer): Buffer {
  if (bytes.at(-1) !== LINE_FEED) return bytes;
  return bytes.subarray(0, bytes.at(-2) === CARRIAGE_RETURN ? -2 : -1);
}
