import type { IncomingHttpHeaders } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { checkSignature } from '../../../src/api/webhook/signature.ts';

const SECRET = Buffer.from("It's a Secret to Everybody");
const BODY = Buffer.from('Hello, World!');
/** The example of GitHub's documentation, "Validating webhook deliveries". */
const SIGNED = '757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
const WRONG = SIGNED.replace('7', '8');

const NOW = new Date('2026-11-20T10:00:00Z');

/** The body arrives in two pieces. */
function isGenuine(headers: IncomingHttpHeaders, body: Buffer, secret: Buffer): boolean {
  const check = checkSignature(headers, secret, NOW.getTime());
  check.update(body.subarray(0, 5));
  check.update(body.subarray(5));
  return check.isGenuine();
}

describe('a hook is genuine', () => {
  it.each([
    ['GitHub', { 'x-hub-signature-256': `sha256=${SIGNED}` }],
    [
      'GitHub, with its older header beside',
      { 'x-hub-signature': 'sha1=01', 'x-hub-signature-256': `sha256=${SIGNED}` },
    ],
    ['Bitbucket', { 'x-hub-signature': `sha256=${SIGNED}` }],
    ['Gitea', { 'x-gitea-signature': SIGNED }],
    [
      'Forgejo',
      { 'x-forgejo-signature': SIGNED, 'x-gitea-signature': SIGNED, 'x-hub-signature-256': `sha256=${SIGNED}` },
    ],
    ['upper case', { 'x-hub-signature-256': `SHA256=${SIGNED.toUpperCase()}` }],
    ['GitLab', { 'x-gitlab-token': SECRET.toString() }],
  ])('from %s', (_, headers) => {
    expect(isGenuine(headers, BODY, SECRET)).toBe(true);
    expect(isGenuine(headers, BODY, Buffer.from('another'))).toBe(false);
  });

  it('not for another body', () => {
    const headers = { 'x-hub-signature-256': `sha256=${SIGNED}` };
    for (const body of [Buffer.from('Hello, World?'), Buffer.alloc(0), Buffer.concat([BODY, Buffer.of(0)])]) {
      expect(isGenuine(headers, body, SECRET)).toBe(false);
    }
  });

  it('with a UTF-8 token that Node reads as Latin-1', () => {
    const secret = Buffer.from('schlüssel');
    expect(isGenuine({ 'x-gitlab-token': secret.toString('latin1') }, BODY, secret)).toBe(true);
    expect(isGenuine({ 'x-gitlab-token': 'schlüssel' }, BODY, secret)).toBe(false);
  });

  it.each<[string, Record<string, string | string[]>]>([
    ['nothing', {}],
    ['a wrong signature', { 'x-hub-signature-256': `sha256=${WRONG}` }],
    ['a short one', { 'x-hub-signature-256': `sha256=${SIGNED.slice(2)}` }],
    ['an empty one', { 'x-hub-signature-256': '' }],
    ['another algorithm', { 'x-hub-signature': `sha1=${SIGNED}` }],
    ['two in one', { 'x-hub-signature-256': `sha256=${WRONG}, sha256=${SIGNED}` }],
    ['a list', { 'x-hub-signature-256': [`sha256=${SIGNED}`] }],
    ['a wrong token', { 'x-gitlab-token': 'It' }],
    ['the secret as a signature', { 'x-hub-signature-256': SECRET.toString() }],
    ['the signature as a token', { 'x-gitlab-token': SIGNED }],
  ])('never with %s', (_, headers) => {
    expect(isGenuine(headers, BODY, SECRET)).toBe(false);
  });
});

describe('a signing token of GitLab', () => {
  const TOKEN = `whsec_${Buffer.alloc(32, 'k').toString('base64')}`;
  const SIGNER = new Webhook(TOKEN);

  /** As the public library of Standard Webhooks signs. */
  function signed(body: Buffer, at = NOW): Record<string, string> {
    const signature = SIGNER.sign('msg_1', at, body.toString());
    const timestamp = String(Math.floor(at.getTime() / 1000));
    return { 'webhook-id': 'msg_1', 'webhook-timestamp': timestamp, 'webhook-signature': signature };
  }
  const HEADERS = signed(BODY);

  it('proves the secret, even among other signatures', () => {
    expect(isGenuine(HEADERS, BODY, Buffer.from(TOKEN))).toBe(true);
    const several = `v1a,x v1,${'A'.repeat(43)}= ${HEADERS['webhook-signature']}`;
    expect(isGenuine({ ...HEADERS, 'webhook-signature': several }, BODY, Buffer.from(TOKEN))).toBe(true);
    expect(isGenuine({ 'x-gitlab-token': TOKEN }, BODY, Buffer.from(TOKEN))).toBe(true);
  });

  it.each<[string, Record<string, string>]>([
    ['another id', { 'webhook-id': 'msg_2' }],
    ['no id', { 'webhook-id': '' }],
    ['another time', { 'webhook-timestamp': String(NOW.getTime() / 1000 + 1) }],
    ['no time', { 'webhook-timestamp': 'now' }],
    ['another signature', { 'webhook-signature': `v1,${'A'.repeat(43)}=` }],
    [
      'a signature of another version',
      { 'webhook-signature': String(HEADERS['webhook-signature']).replace('v1', 'v2') },
    ],
    ['an old signature', signed(BODY, new Date(NOW.getTime() - 301_000))],
    ['one of the future', signed(BODY, new Date(NOW.getTime() + 301_000))],
  ])('is refused with %s', (_, changed) => {
    expect(isGenuine({ ...HEADERS, ...changed }, BODY, Buffer.from(TOKEN))).toBe(false);
  });

  it('is refused for another body, another secret, or an invalid signing token', () => {
    expect(isGenuine(HEADERS, Buffer.from('Hello, World?'), Buffer.from(TOKEN))).toBe(false);
    expect(isGenuine(HEADERS, BODY, Buffer.from(`whsec_${Buffer.alloc(32, 'l').toString('base64')}`))).toBe(false);
    expect(isGenuine(HEADERS, BODY, Buffer.from(TOKEN.slice('whsec_'.length)))).toBe(false);
  });
});
