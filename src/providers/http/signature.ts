// Signs the requests of the provider "http", so that a service knows who sent them, and that they are unchanged.
import { createHmac } from 'node:crypto';

/** The header with the time of the request, in seconds since 1970. */
export const TIMESTAMP_HEADER = 'treeline-timestamp';
/** The header with the signature: `sha256=` and 64 hexadecimal digits. */
export const SIGNATURE_HEADER = 'treeline-signature';

/** What is signed, besides the time. */
export interface SignedParts {
  readonly method: string;
  readonly url: URL;
  readonly body: string;
}

/** Returns the two headers of a request at `now`, milliseconds since 1970. docs/providers.md, signatures. */
export function signatureHeaders(
  parts: SignedParts,
  secret: Uint8Array,
  now: number,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(now / 1000));
  return { [TIMESTAMP_HEADER]: timestamp, [SIGNATURE_HEADER]: `sha256=${sign(parts, secret, timestamp)}` };
}

function sign({ method, url, body }: SignedParts, secret: Uint8Array, timestamp: string): string {
  const text = [timestamp, method, `${url.pathname}${url.search}`, body].join('\n');
  return createHmac('sha256', secret).update(text).digest('hex');
}
