// Normalizes certificate serials and fingerprints, which have many spellings.

/** Hexadecimal digits, or pairs of them with one kind of separator: colons, dashes or blanks. */
const DIGITS = /^(?:[0-9a-f]+|[0-9a-f]{2}(?:([: -])[0-9a-f]{2}(?:\1[0-9a-f]{2})*)?)$/i;
const SERIAL_DIGITS_MAX = 64;
const FINGERPRINT_DIGITS = 64;

/**
 * Returns the serial in canonical form: upper-case hexadecimal, no separators, no leading zero bytes (the form of
 * Node's `X509Certificate.serialNumber`). Accepts `0x`, separators between pairs, and lower case. Undefined: not a
 * serial.
 */
export function canonicalSerial(text: string): string | undefined {
  const digits = digitsOf(text.replace(/^0x/i, ''));
  if (digits === undefined || digits.length > SERIAL_DIGITS_MAX) return undefined;
  const even = digits.length % 2 === 0 ? digits : `0${digits}`;
  return even.replace(/^(?:00)+(?=..)/, '');
}

/** Returns why {@link canonicalSerial} does not accept a text, as the end of a sentence. */
export function serialFault(text: string): string {
  const digits = text.replace(/^0x/i, '');
  if (digits === '') return 'it has no digits';
  if (digits.startsWith('-')) return 'it begins with "-", and a certificate with a negative serial is never accepted';
  const foreign = /[^0-9a-f: -]/iu.exec(digits)?.[0];
  if (foreign !== undefined) return `${JSON.stringify(foreign)} is not a hexadecimal digit`;
  if (digitsOf(digits) === undefined) return 'separators must be between pairs of digits, and all the same';
  return `it has more than ${SERIAL_DIGITS_MAX} digits`;
}

/** Returns a SHA-256 fingerprint as upper-case bytes joined by colons. Undefined: not a SHA-256 fingerprint. */
export function canonicalFingerprint(text: string): string | undefined {
  const digits = digitsOf(text.replace(/^sha-?256[:=\s]*(?:fingerprint=)?/i, ''));
  return digits?.length === FINGERPRINT_DIGITS ? digits.replace(/..(?=.)/g, '$&:') : undefined;
}

/** Returns the digits of a text without separators, in upper case; undefined if it contains anything else. */
function digitsOf(text: string): string | undefined {
  return DIGITS.test(text) ? text.replace(/[: -]/g, '').toUpperCase() : undefined;
}
