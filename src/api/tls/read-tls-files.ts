// Reads the files of a listener. check-tls.ts checks their content.
import { readFile, stat } from 'node:fs/promises';
import { reasonOf } from '../../base/wording.ts';
import type { TlsFault, TlsPart } from './check-tls.ts';
import type { TlsMaterial } from './tls-material.ts';

/** Absolute paths; symbolic links are followed. */
export interface TlsPaths {
  readonly key: string;
  readonly cert: string;
  /** The authorities of clients. */
  readonly clientCa: string;
  /** Null: no certificate is revoked. */
  readonly crl: string | null;
}

/** A revocation list of 100,000 certificates has some 5 MB. */
const FILE_BYTES_MAX = 16 * 1024 * 1024;

interface ReadTlsFiles {
  /** Of a file that cannot be read, an empty text. */
  readonly material: TlsMaterial;
  /** The faults of files that cannot be read. */
  readonly faults: readonly TlsFault[];
}

/** Returns what the files hold. */
export async function readTlsFiles(paths: TlsPaths): Promise<ReadTlsFiles> {
  const faults: TlsFault[] = [];
  async function read(part: TlsPart): Promise<string> {
    try {
      return await readText(pathOf(paths, part));
    } catch (error) {
      faults.push({ part, message: reasonOf(error), isBroken: true });
      return '';
    }
  }
  const [key, cert, ca, crl] = await Promise.all([
    read('key'),
    read('cert'),
    read('ca'),
    paths.crl === null ? undefined : read('crl'),
  ]);
  return { material: { key, cert, ca, crl }, faults };
}

/** Returns the file of a part. Throws where there is none: without revocation lists nothing can be said of them. */
export function pathOf({ key, cert, clientCa, crl }: TlsPaths, part: TlsPart): string {
  const path = { key, cert, ca: clientCa, crl }[part];
  if (path === null) throw new Error('no revocation lists are configured');
  return path;
}

async function readText(path: string): Promise<string> {
  const found = await stat(path);
  // A pipe would never end.
  if (!found.isFile()) throw new Error('it is no file');
  if (found.size > FILE_BYTES_MAX) throw new Error(`it has ${found.size} bytes, and ${FILE_BYTES_MAX} are read`);
  return await readFile(path, 'utf8');
}
