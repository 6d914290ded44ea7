// Verifies that the sender of a push hook knows the secret. Each Git server has its own header. The body is hashed
// while it arrives and is not parsed. See docs/install.md, webhooks.
import { createHash, createHmac, type Hmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Headers with the HMAC-SHA-256 of the body: GitHub, Bitbucket, Gitea, Forgejo. A request may have several of them. */
const SIGNATURE_HEADERS = ['x-hub-signature-256', 'x-hub-signature', 'x-gitea-signature', 'x-forgejo-signature'];
/** GitLab sends the secret itself, or a signature of Standard Webhooks. */
const TOKEN_HEADER = 'x-gitlab-token';
const SIGNATURE = /^(?:sha256=)?([0-9a-f]{64})$/i;

/** The prefix of a secret of Standard Webhooks; the key follows in base64. */
const SIGNING_TOKEN = 'whsec_';
const STANDARD_SIGNATURE = /^v1,([A-Za-z0-9+/]{43}=)$/;
/** The tolerated clock difference. A replayed hook is refused after that time. */
const CLOCK_SKEW_MS = 5 * 60 * 1000;

/** Checks one hook while its body arrives. */
interface HookCheck {
  /** Adds the next bytes of the body. */
  readonly update: (bytes: Uint8Array) => void;
  /**
   * Returns true if one of the headers proves the secret for this body. Its duration does not reveal why not.
   */
  readonly isGenuine: () => boolean;
}

/** The signatures of one scheme, one of which has to equal the digest. */
interface Signed {
  readonly hmac: Hmac;
  readonly signatures: readonly Buffer[];
}

/** Returns the check of a hook with these headers. `now`: milliseconds since 1970. */
export function checkSignature(headers: IncomingHttpHeaders, secret: Buffer, now: number): HookCheck {
  const schemes = [signedBody(headers, secret), signedStandard(headers, secret, now)].filter(
    (one) => one !== undefined,
  );
  // Node reads headers as Latin-1, and a secret may be written in UTF-8.
  const token = Buffer.from(textOf(headers[TOKEN_HEADER]), 'latin1');
  return {
    update(bytes) {
      for (const { hmac } of schemes) hmac.update(bytes);
    },
    isGenuine() {
      const isSigned = schemes.some(({ hmac, signatures }) => {
        const expected = hmac.digest();
        return signatures.some((signature) => timingSafeEqual(signature, expected));
      });
      return isSigned || timingSafeEqual(digestOf(token), digestOf(secret));
    },
  };
}

function signedBody(headers: IncomingHttpHeaders, secret: Buffer): Signed | undefined {
  const found = SIGNATURE_HEADERS.flatMap((name) => SIGNATURE.exec(textOf(headers[name]))?.[1] ?? []);
  const signatures = found.map((text) => Buffer.from(text, 'hex'));
  return signatures.length === 0 ? undefined : { hmac: createHmac('sha256', secret), signatures };
}

/** Follows the specification of Standard Webhooks, "Verifying webhook authenticity". */
function signedStandard(headers: IncomingHttpHeaders, secret: Buffer, now: number): Signed | undefined {
  const [id, timestamp, written] = ['id', 'timestamp', 'signature'].map((name) => textOf(headers[`webhook-${name}`]));
  const found = (written ?? '').split(' ').flatMap((one) => STANDARD_SIGNATURE.exec(one)?.[1] ?? []);
  const isRecent = /^\d{1,12}$/.test(timestamp ?? '') && Math.abs(now - Number(timestamp) * 1000) <= CLOCK_SKEW_MS;
  const text = secret.toString('latin1');
  if (found.length === 0 || id === '' || !isRecent || !text.startsWith(SIGNING_TOKEN)) return undefined;
  const hmac = createHmac('sha256', Buffer.from(text.slice(SIGNING_TOKEN.length), 'base64'));
  hmac.update(`${id}.${timestamp}.`, 'latin1');
  return { hmac, signatures: found.map((one) => Buffer.from(one, 'base64')) };
}

function textOf(header: string | string[] | undefined): string {
  return typeof header === 'string' ? header : '';
}

/** Hashes to a constant length, so that comparing takes constant time. */
function digestOf(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
