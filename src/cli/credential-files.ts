// Writes keys and certificates to files for the commands that create them, and returns what registers one. It never
// overwrites a file.
import type { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KeyPair } from '../base/development-pki.ts';
import type { Role } from '../model/names.ts';
import type { Client } from '../model/objects.ts';
import { canonicalFingerprint, canonicalSerial, serialFault } from '../model/serial.ts';
import { CommandFailure } from './command-failure.ts';

/** The name of the authority's files. */
export const AUTHORITY_CREDENTIAL = 'ca';
/** The name of the files of the server's certificate. */
export const SERVER_CREDENTIAL = 'server';

/** The paths of a key and its certificate. */
export interface CredentialFiles {
  readonly key: string;
  readonly cert: string;
}

/** Returns the paths of a credential of that name. */
export function filesOf(folder: string, name: string): CredentialFiles {
  return { key: join(folder, `${name}.key`), cert: join(folder, `${name}.crt`) };
}

/** Throws CommandFailure if one of the files exists already. */
export function requireNew(...files: readonly CredentialFiles[]): void {
  const known = files.flatMap(({ key, cert }) => [key, cert]).find((path) => existsSync(path));
  if (known !== undefined) {
    throw new CommandFailure(`${known} exists already and is not overwritten: move it away first`);
  }
}

/** Creates the folder if it is missing, for its owner only. */
export async function makePrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
}

/** Writes a new key, which only its owner may read, and its certificate. Throws if one of the files exists. */
export async function writePair({ key, cert }: CredentialFiles, pair: KeyPair): Promise<void> {
  await writeFile(key, pair.key, { mode: 0o600, flag: 'wx' });
  await writeFile(cert, pair.cert, { flag: 'wx' });
}

/** Resolves with the authority of a folder. Throws CommandFailure if there is none. */
export async function readAuthority(folder: string): Promise<KeyPair> {
  const { key, cert } = filesOf(folder, AUTHORITY_CREDENTIAL);
  if (!existsSync(key) || !existsSync(cert)) {
    throw new CommandFailure(`there is no authority in ${folder}: "treeline pki init" creates one`);
  }
  return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
}

/** The fields that a certificate does not have. */
export interface ClientFields extends Pick<Partial<Client>, 'tenant' | 'node' | 'reads' | 'writes'> {
  readonly role: Role;
  /** Left out: the certificate's common name. */
  readonly description?: string;
  readonly tag?: readonly string[];
}

/** Returns the fields of a client's file. Throws CommandFailure for a certificate that cannot be registered. */
export function clientDocument(
  certificate: X509Certificate,
  { role, description, tenant, tag, node, reads, writes }: ClientFields,
) {
  const serial = canonicalSerial(certificate.serialNumber);
  const fingerprint = canonicalFingerprint(certificate.fingerprint256);
  if (serial === undefined || fingerprint === undefined) {
    const { serialNumber } = certificate;
    throw new CommandFailure(
      `the certificate has no usable serial: of "${serialNumber}", ${serialFault(serialNumber)}`,
    );
  }
  const commonName = /^CN=(.*)$/m.exec(certificate.subject)?.[1] ?? '';
  return {
    description: description ?? commonName,
    role,
    serial,
    fingerprint,
    ...(tenant && { tenant }),
    ...(tag && { tags: tag }),
    ...(node && { node }),
    ...(reads && { reads }),
    ...(writes && { writes }),
  };
}
