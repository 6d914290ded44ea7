// Parses certificate revocation lists (RFC 5280, 5.1): issuer, validity and revoked serials. OpenSSL checks the list at
// every handshake; this parser warns before a list locks clients out, and serves to check older connections.
import { verify, type X509Certificate } from 'node:crypto';
import {
  certificateFields,
  DER_GENERALIZED_TIME,
  DER_INTEGER,
  DER_SEQUENCE,
  DER_UTC_TIME,
  type DerElement,
  derElement,
  derElements,
} from './der.ts';

/** One certificate revocation list. */
export interface RevocationList {
  /** Milliseconds since 1970, UTC. */
  readonly from: number;
  /** Infinite where the list names no end. */
  readonly until: number;
  /** The name of its authority, DER in hexadecimal. */
  readonly issuer: string;
  /** Tells whether the authority of that name signed it. */
  isOf(authority: X509Certificate): boolean;
  /** Tells whether it lists a certificate's serial. Only sensible for certificates of the authority whose list it is. */
  revokes(certificate: X509Certificate): boolean;
}

interface Fields {
  readonly issuer: Buffer;
  readonly from: number;
  readonly until: number;
  readonly revoked: Buffer;
}

interface Signature {
  /** The signed bytes. */
  readonly bytes: Buffer;
  /** The object identifier, DER content in hexadecimal. */
  readonly algorithm: string;
  readonly value: Buffer;
}

/** By object identifier: the digest that goes with a key's own algorithm; null where the algorithm brings its own. */
const DIGESTS: ReadonlyMap<string, string | null> = new Map([
  ['2a864886f70d010105', 'sha1'],
  ['2a864886f70d01010e', 'sha224'],
  ['2a864886f70d01010b', 'sha256'],
  ['2a864886f70d01010c', 'sha384'],
  ['2a864886f70d01010d', 'sha512'],
  ['2a8648ce3d040301', 'sha224'],
  ['2a8648ce3d040302', 'sha256'],
  ['2a8648ce3d040303', 'sha384'],
  ['2a8648ce3d040304', 'sha512'],
  ['2b6570', null],
  ['2b6571', null],
]);

/** Returns the list that `bytes` are. Throws for what is none. */
export function parseRevocationList(bytes: Buffer): RevocationList {
  const [signed, algorithm, signature] = derElements(derElement(bytes, DER_SEQUENCE).content);
  if (signed === undefined || algorithm === undefined || signature === undefined) throw new Error('it is not signed');
  const { issuer, from, until, revoked } = readFields(signed);
  const isSignedBy = signatureCheck({
    bytes: signed.bytes,
    algorithm: [...derElements(algorithm.content)][0]?.content.toString('hex') ?? '',
    // The first byte of a BIT STRING counts its unused bits: none.
    value: signature.content.subarray(1),
  });
  // Parsed on demand: there may be a hundred thousand, and mostly none is needed.
  let serials: ReadonlySet<string> | undefined;
  return {
    from,
    until,
    issuer: issuer.toString('hex'),
    isOf: (authority) => issuer.equals(certificateFields(authority).subject) && isSignedBy(authority),
    revokes(certificate) {
      serials ??= serialsOf(revoked);
      return serials.has(certificateFields(certificate).serial);
    },
  };
}

function readFields(signed: DerElement): Fields {
  const elements = [...derElements(signed.content)];
  if (elements[0]?.tag === DER_INTEGER) elements.shift();
  const [, issuer, from, ...rest] = elements;
  if (issuer === undefined || from === undefined) throw new Error('it lacks its issuer or date');
  const until = rest[0] !== undefined && isTime(rest[0]) ? rest.shift() : undefined;
  return {
    issuer: issuer.bytes,
    from: momentOf(from),
    until: until === undefined ? Number.POSITIVE_INFINITY : momentOf(until),
    revoked: rest[0]?.tag === DER_SEQUENCE ? rest[0].content : Buffer.alloc(0),
  };
}

function isTime({ tag }: DerElement): boolean {
  return tag === DER_UTC_TIME || tag === DER_GENERALIZED_TIME;
}

/** RFC 5280, 4.1.2.5: always with seconds and `Z`; two digits of a year count from 1950. */
function momentOf(time: DerElement): number {
  const text = time.content.toString('latin1');
  const year = time.tag === DER_UTC_TIME ? `${text.slice(0, 2) >= '50' ? 19 : 20}` : '';
  const [, date, hour, minute, second] = /^(\d{8})(\d\d)(\d\d)(\d\d)Z$/.exec(year + text) ?? [];
  const day = date?.replace(/(....)(..)(..)/, '$1-$2-$3');
  const ms = isTime(time) ? Date.parse(`${day}T${hour}:${minute}:${second}Z`) : Number.NaN;
  if (Number.isNaN(ms)) throw new Error(`"${text}" is no date`);
  return ms;
}

function serialsOf(revoked: Buffer): ReadonlySet<string> {
  const serials = new Set<string>();
  for (const entry of derElements(revoked)) {
    serials.add(derElement(entry.content, DER_INTEGER).content.toString('hex'));
  }
  return serials;
}

/** An algorithm that is not in the table is left to OpenSSL: then the name alone decides whose list it is. */
function signatureCheck({ bytes, algorithm, value }: Signature): (authority: X509Certificate) => boolean {
  const digest = DIGESTS.get(algorithm);
  return ({ publicKey }) => {
    if (digest === undefined) return true;
    try {
      return verify(digest, bytes, publicKey, value);
    } catch {
      // The key is of another kind than the signature.
      return false;
    }
  };
}
