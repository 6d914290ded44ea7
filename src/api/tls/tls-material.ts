// The key, certificates and revocation lists of a listener as texts, and the options for OpenSSL, which verifies
// clients.
import { constants, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { reasonOf } from '../../base/wording.ts';

/** Texts in PEM. `ca` and `crl` may contain several blocks. */
export interface TlsMaterial {
  readonly key: string;
  readonly cert: string;
  readonly ca: string;
  /** If set, clients of an authority without a list are refused. */
  readonly crl?: string | undefined;
}

/** One certificate revocation list. */
export interface RevocationList {
  /** Milliseconds since 1970, UTC. */
  readonly from: number;
  /** Infinity if the list has no end. */
  readonly until: number;
  /** Returns true if this authority is the issuer of the list. OpenSSL verifies the signature. */
  isOf(authority: X509Certificate): boolean;
}

interface Kind {
  readonly label: string;
  readonly name: string;
  /** The advice for a file without any block. */
  readonly advice: string;
}

const CERTIFICATE: Kind = {
  label: 'CERTIFICATE',
  name: 'certificate',
  advice: 'from DER, "openssl x509 -inform DER -in FILE -out FILE" makes one',
};

const REVOCATION_LIST: Kind = {
  label: 'X509 CRL',
  name: 'revocation list',
  advice: 'from DER, in which authorities often publish it, "openssl crl -inform DER -in FILE -out FILE" makes one',
};

/**
 * Returns the settings of a listener. OpenSSL checks chain, dates, purpose (clientAuth) and, if there is a list,
 * revocation. Throws if `ca` or `crl` is empty: Node would then trust its public authorities, or revoke no client.
 * Renegotiation is off, so a connection keeps the certificate of its handshake.
 */
export function secureContextOptions({ key, cert, ca, crl }: TlsMaterial): SecureContextOptions {
  const lists = crl === undefined ? {} : { crl: [...blocksOf(crl, REVOCATION_LIST)] };
  return {
    key,
    cert,
    ca: [...blocksOf(ca, CERTIFICATE)],
    ...lists,
    minVersion: 'TLSv1.2',
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
}

/** Returns the certificates of a text, at least one. Throws, with words for the operator, if one cannot be read. */
export function readCertificates(text: string): readonly X509Certificate[] {
  return readAll(text, CERTIFICATE, (block) => new X509Certificate(block));
}

/** Returns the revocation lists of a text, at least one. Throws, with words for the operator, if one cannot be read. */
export function readRevocationLists(text: string): readonly RevocationList[] {
  return readAll(text, REVOCATION_LIST, readRevocationList);
}

/**
 * Returns a function that explains why the serial of a certificate does not identify its client, as the end of a
 * sentence; undefined if it does. Two authorities may issue the same serial to different clients.
 */
export function findAmbiguity(material: () => TlsMaterial): (certificate: X509Certificate) => string | undefined {
  let known: { readonly ca: string; readonly authorities: readonly X509Certificate[] } | undefined;
  // Cached by certificate, because verifying takes longer than the rest of a small read.
  let issued = new WeakMap<X509Certificate, boolean>();
  return (certificate) => {
    const { ca } = material();
    if (known?.ca !== ca) {
      known = { ca, authorities: readCertificates(ca) };
      issued = new WeakMap();
    }
    const [authority, second] = known.authorities;
    if (authority === undefined || second !== undefined) return 'more than one authority is trusted here';
    const isIssued =
      issued.get(certificate) ?? (certificate.checkIssued(authority) && certificate.verify(authority.publicKey));
    issued.set(certificate, isIssued);
    if (isIssued) return undefined;
    return 'its certificate was issued by an authority below the one that is trusted here';
  };
}

function readAll<Value>(text: string, kind: Kind, parse: (block: string) => Value): readonly Value[] {
  return blocksOf(text, kind).map((block, index) => {
    try {
      return parse(block);
    } catch (error) {
      const reason = reasonOf(error);
      throw new Error(`its ${kind.name} number ${index + 1} cannot be read (${reason})`, { cause: error });
    }
  });
}

/**
 * RFC 7468. Node and OpenSSL skip a truncated block, which would trust or revoke fewer certificates than intended.
 */
function blocksOf(text: string, { label, name, advice }: Kind): readonly string[] {
  const begin = `-----BEGIN ${label}-----`;
  const blocks = text.match(new RegExp(`${begin}[\\s\\S]*?-----END ${label}-----`, 'g')) ?? [];
  if (text.split(begin).length - 1 > blocks.length) throw new Error(`a ${name} in it is truncated`);
  if (blocks.length === 0) throw new Error(`it contains no ${name} in PEM ("${begin}"); ${advice}`);
  return blocks;
}

/** UTCTime or GeneralizedTime. RFC 5280, 4.1.2.5. */
const TIME = String.raw`(?:\x17\x0d(\d{12})Z|\x18\x0f(\d{14})Z)`;
/** One or two times in a row. */
const TIMES = new RegExp(`${TIME}${TIME}?`);

/** Node cannot parse lists. RFC 5280, 5.1.2: the issuer's name, then the dates; OpenSSL reads the rest. */
function readRevocationList(block: string): RevocationList {
  createSecureContext({ crl: block });
  const bytes = Buffer.from(block.split('\n').slice(1, -1).join(''), 'base64').toString('latin1');
  const times = TIMES.exec(bytes);
  if (times === null) throw new Error('it has no date');
  const [, from = times[2], , until = times[4]] = times;
  const toIssuer = bytes.slice(0, times.index);
  return {
    from: timeOf(from),
    until: until === undefined ? Number.POSITIVE_INFINITY : timeOf(until),
    isOf: (authority) => toIssuer.endsWith(subjectBytesOf(authority)),
  };
}

/** Compares bytes, because two names may look alike as text. RFC 5280, 4.1: the subject follows the two dates. */
function subjectBytesOf({ raw }: X509Certificate): string {
  const bytes = raw.toString('latin1');
  const times = TIMES.exec(bytes);
  const start = times === null ? 0 : times.index + times[0].length;
  const [length, second, third] = [1, 2, 3].map((offset) => bytes.charCodeAt(start + offset)) as [
    number,
    number,
    number,
  ];
  const end = length < 0x80 ? 2 + length : length === 0x81 ? 3 + second : 4 + 256 * second + third;
  return bytes.slice(start, start + end);
}

/** Two-digit years begin at 1950. */
function timeOf(digits = ''): number {
  const year = digits.length === 14 ? '' : digits < '50' ? '20' : '19';
  return Date.parse(`${year}${digits}Z`.replace(/(....)(..)(..)(..)(..)(..)/, '$1-$2-$3T$4:$5:$6'));
}
