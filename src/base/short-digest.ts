// Computes short digests, which answers have as ETag and nodes use to confirm a record.
import { hash } from 'node:crypto';

/** Slightly more than 128 bits of SHA-256, in base64url. */
export const DIGEST_LENGTH = 22;

/** Returns the digest of a text, or of bytes. */
export function shortDigest(content: string | Uint8Array): string {
  return hash('sha256', content, 'base64url').slice(0, DIGEST_LENGTH);
}
