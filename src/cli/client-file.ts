// Makes the file below clients/ for a certificate.
import type { X509Certificate } from 'node:crypto';
import type { Role } from '../model/names.ts';
import { canonicalFingerprint, canonicalSerial } from '../model/serial.ts';
import { writeYaml } from '../yaml-edit/write-yaml.ts';
import { CommandFailure } from './command-failure.ts';

const MODELINE = '# yaml-language-server: $schema=../schemas/client.schema.json';

/** The fields that a certificate does not have. */
export interface ClientFields {
  readonly role: Role;
  /** Left out: the certificate's common name. */
  readonly description?: string;
  readonly tenant?: string;
  readonly tag?: readonly string[];
}

/** Returns the text of a client's file. */
export function clientText(client: ReturnType<typeof clientDocument>): string {
  return writeYaml(client, MODELINE);
}

/** Returns the fields of a client's file. Throws CommandFailure for a certificate that cannot be registered. */
export function clientDocument(certificate: X509Certificate, { role, description, tenant, tag }: ClientFields) {
  // The minus sign of a negative serial would get lost, and such a certificate is never let in.
  const serial = certificate.serialNumber.startsWith('-') ? undefined : canonicalSerial(certificate.serialNumber);
  const fingerprint = canonicalFingerprint(certificate.fingerprint256);
  if (serial === undefined || fingerprint === undefined)
    throw new CommandFailure('the certificate has no usable serial');
  const commonName = /^CN=(.*)$/m.exec(certificate.subject)?.[1] ?? '';
  return {
    description: description ?? commonName,
    role,
    serial,
    fingerprint,
    ...(tenant === undefined ? {} : { tenant }),
    ...(tag === undefined ? {} : { tags: tag }),
  };
}
