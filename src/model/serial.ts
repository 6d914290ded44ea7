// Normalizes certificate serials and fingerprints, which people and tools spell in many ways.

/**
 * Returns the serial in canonical form: upper-case hexadecimal, no separators, no leading zero bytes (the form of
 * Node's `X509Certificate.serialNumber`). Accepts `0x`, colons, dashes and lower case. Undefined: not a serial.
 */
export function canonicalSerial(text: string): string | undefined {
  const digits = text.replace(/^0x/i, '').replace(/[:-]/g, '').toUpperCase();
  if (!/^[0-9A-F]{1,64}$/.test(digits)) return undefined;
  const even = digits.length % 2 === 0 ? digits : `0${digits}`;
  return even.replace(/^(?:00)+(?=..)/, '');
}

/** Returns a SHA-256 fingerprint as upper-case bytes joined by colons. Undefined: not a SHA-256 fingerprint. */
export function canonicalFingerprint(text: string): string | undefined {
  const digits = text
    .replace(/^sha-?256[:=\s]*(?:fingerprint=)?/i, '')
    .replace(/[:\s-]/g, '')
    .toUpperCase();
  if (!/^[0-9A-F]{64}$/.test(digits)) return undefined;
  return digits.replace(/..(?=.)/g, '$&:');
}
