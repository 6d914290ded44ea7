// Verifies that the sender of a push hook knows the secret. Each Git server has its own header for that. The body is
// not parsed. See docs/operations.md, webhooks.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Each holds the HMAC-SHA-256 of the body: of GitHub, Bitbucket, Gitea, Forgejo. Several may come with one request. */
const SIGNATURE_HEADERS = ['x-hub-signature-256', 'x-hub-signature', 'x-gitea-signature', 'x-forgejo-signature'];
/** GitLab sends the secret itself. */
const TOKEN_HEADER = 'x-gitlab-token';
const SIGNATURE = /^(?:sha256=)?([0-9a-f]{64})$/i;

/** Tells whether one of the headers proves the secret for this very body. How long that takes says nothing about why not. */
export function isGenuine(headers: IncomingHttpHeaders, body: Uint8Array, secret: Uint8Array): boolean {
  const expected = createHmac('sha256', secret).update(body).digest();
  const signatures = SIGNATURE_HEADERS.flatMap((name) => SIGNATURE.exec(textOf(headers[name]))?.[1] ?? []);
  const isSigned = signatures.some((signature) => timingSafeEqual(Buffer.from(signature, 'hex'), expected));
  // Node reads headers as Latin-1, and a secret may be written in UTF-8.
  const token = Buffer.from(textOf(headers[TOKEN_HEADER]), 'latin1');
  return isSigned || timingSafeEqual(digestOf(token), digestOf(secret));
}

function textOf(header: string | string[] | undefined): string {
  return typeof header === 'string' ? header : '';
}

/** Of one length, whatever the text. */
function digestOf(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
