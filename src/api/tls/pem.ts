// Finds the blocks of a PEM text (RFC 7468). Node and OpenSSL skip what they cannot read; here that is an error,
// because a truncated file must not count as one that trusts or revokes fewer.
import { X509Certificate } from 'node:crypto';
import { reasonOf } from '../../base/wording.ts';
import { parseRevocationList, type RevocationList } from './revocation-list.ts';

interface Kind<Value> {
  readonly label: string;
  readonly name: string;
  /** The advice for a file without any block. */
  readonly advice: string;
  readonly parse: (block: string) => Value;
}

const CERTIFICATE: Kind<X509Certificate> = {
  label: 'CERTIFICATE',
  name: 'certificate',
  advice: 'from DER, "openssl x509 -inform DER -in FILE -out FILE" makes one',
  parse: (block) => new X509Certificate(block),
};

const REVOCATION_LIST: Kind<RevocationList> = {
  label: 'X509 CRL',
  name: 'revocation list',
  advice: 'from DER, in which authorities often publish it, "openssl crl -inform DER -in FILE -out FILE" makes one',
  parse: (block) => parseRevocationList(bytesOf(block)),
};

/** Returns the certificates of a text, at least one. Throws, with words for the operator, where one cannot be read. */
export function readCertificates(text: string): readonly X509Certificate[] {
  return readAll(text, CERTIFICATE);
}

/** Returns the revocation lists of a text, at least one. Throws, with words for the operator, where one cannot be read. */
export function readRevocationLists(text: string): readonly RevocationList[] {
  return readAll(text, REVOCATION_LIST);
}

/** Returns the certificates of a text as they stand in it, at least one. Throws where there is none or one is cut off. */
export function certificateBlocks(text: string): readonly string[] {
  return blocksOf(text, CERTIFICATE);
}

/** Returns the revocation lists of a text as they stand in it, at least one. Throws where there is none or one is cut off. */
export function revocationListBlocks(text: string): readonly string[] {
  return blocksOf(text, REVOCATION_LIST);
}

function readAll<Value>(text: string, kind: Kind<Value>): readonly Value[] {
  return blocksOf(text, kind).map((block, index) => {
    try {
      return kind.parse(block);
    } catch (error) {
      const reason = reasonOf(error);
      throw new Error(`its ${kind.name} number ${index + 1} cannot be read (${reason})`, { cause: error });
    }
  });
}

function blocksOf(text: string, { label, name, advice }: Kind<unknown>): readonly string[] {
  const begin = `-----BEGIN ${label}-----`;
  const blocks = text.match(new RegExp(`${begin}[\\s\\S]*?-----END ${label}-----`, 'g')) ?? [];
  if (text.split(begin).length - 1 > blocks.length) throw new Error(`a ${name} in it is cut off`);
  if (blocks.length === 0) throw new Error(`it holds no ${name} in PEM ("${begin}"); ${advice}`);
  return blocks;
}

function bytesOf(block: string): Buffer {
  const base64 = block.split('\n').slice(1, -1).join('').replaceAll(/\s/g, '');
  if (!/^[A-Za-z0-9+/]+=*$/.test(base64)) throw new Error('it is no base64');
  return Buffer.from(base64, 'base64');
}
