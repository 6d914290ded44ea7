// Computes the short digests that answers carry as their tags, and by which nodes say which record they have.
import { hash } from 'node:crypto';

/** 128 bits of SHA-256 and a little more, in base64url. */
export const DIGEST_LENGTH = 22;

/** Returns the digest of a text, or of bytes. */
export function shortDigest(content: string | Uint8Array): string {
  return hash('sha256', content, 'base64url').slice(0, DIGEST_LENGTH);
}
