// Parses tags and lengths of DER (X.690), as far as certificates and revocation lists need it. Node parses certificates
// itself, but neither revocation lists nor the exact bytes of names and serials, which are compared here.
import type { X509Certificate } from 'node:crypto';

/** One value with its bytes. */
export interface DerElement {
  /** The tag's byte. */
  readonly tag: number;
  /** Tag, length and content. */
  readonly bytes: Buffer;
  readonly content: Buffer;
}

/** The tag of an INTEGER. */
export const DER_INTEGER = 0x02;
/** The tag of a BIT STRING. */
const DER_BIT_STRING = 0x03;
/** The tag of a SEQUENCE. */
export const DER_SEQUENCE = 0x30;
/** The tag of a UTCTime. */
export const DER_UTC_TIME = 0x17;
/** The tag of a GeneralizedTime. */
export const DER_GENERALIZED_TIME = 0x18;
/** `[0]`, holding other values: the version of a certificate. */
const TAGGED_0 = 0xa0;
/** `[3]`, holding the extensions of a certificate. */
const TAGGED_3 = 0xa3;
/** The OID 2.5.29.15, DER. */
const KEY_USAGE = '0603551d0f';

const LENGTH_BYTES_MAX = 4;

/** Returns the values that stand one after the other in `bytes`. Throws where they are cut off or no DER. */
export function* derElements(bytes: Buffer): Generator<DerElement, void> {
  for (let start = 0; start < bytes.length; ) {
    const element = elementAt(bytes, start);
    yield element;
    start += element.bytes.length;
  }
}

/** Returns the first value in `bytes`. Throws where there is none, it is cut off, or it has another tag. */
export function derElement(bytes: Buffer, tag: number): DerElement {
  const element = elementAt(bytes, 0);
  if (element.tag !== tag) throw new Error(`tag ${element.tag} where ${tag} was expected`);
  return element;
}

function elementAt(bytes: Buffer, start: number): DerElement {
  const tag = bytes[start];
  const first = bytes[start + 1];
  if (tag === undefined || first === undefined) throw new Error('cut off');
  let contentAt = start + 2;
  let length = first;
  if (first >= 0x80) {
    const count = first - 0x80;
    if (count === 0 || count > LENGTH_BYTES_MAX) throw new Error('a length that is no DER, or too large');
    if (contentAt + count > bytes.length) throw new Error('cut off');
    length = bytes.readUIntBE(contentAt, count);
    contentAt += count;
  }
  const end = contentAt + length;
  if (end > bytes.length) throw new Error('cut off');
  return { tag, bytes: bytes.subarray(start, end), content: bytes.subarray(contentAt, end) };
}

/** The fields of a certificate that Node shows only as text, in which different bytes may look alike. */
interface CertificateFields {
  /** The content of the INTEGER, in hexadecimal. */
  readonly serial: string;
  /** The subject's name, DER. */
  readonly subject: Buffer;
  /** It has no extensions, so that nothing in it says whether it is an authority. */
  readonly isVersion1: boolean;
}

/** Returns fields of a certificate as they stand in it. RFC 5280, 4.1. */
export function certificateFields(certificate: X509Certificate): CertificateFields {
  const [first, ...rest] = signedFields(certificate);
  const [serial, , , , subject] = first?.tag === TAGGED_0 ? rest : [first, ...rest];
  if (serial === undefined || subject === undefined) throw new Error('a certificate without serial or subject');
  return { serial: serial.content.toString('hex'), subject: subject.bytes, isVersion1: first?.tag !== TAGGED_0 };
}

/**
 * Returns the first byte of the key usage, whose highest bit is `digitalSignature`; undefined where a certificate does not limit
 * it. Throws where it cannot be read. RFC 5280, 4.2.1.3.
 */
export function readKeyUsage(certificate: X509Certificate): number | undefined {
  const extensions = [...signedFields(certificate)].find(({ tag }) => tag === TAGGED_3);
  if (extensions === undefined) return undefined;
  for (const { content } of derElements(derElement(extensions.content, DER_SEQUENCE).content)) {
    const [id, ...rest] = derElements(content);
    const value = rest.at(-1);
    if (id?.bytes.toString('hex') !== KEY_USAGE || value === undefined) continue;
    // An OCTET STRING that holds the BIT STRING, whose first byte counts the bits that are not used.
    return derElement(value.content, DER_BIT_STRING).content[1] ?? 0;
  }
  return undefined;
}

function signedFields(certificate: X509Certificate): Generator<DerElement, void> {
  return derElements(derElement(derElement(certificate.raw, DER_SEQUENCE).content, DER_SEQUENCE).content);
}
