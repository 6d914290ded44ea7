// Hosts of this machine, and secrets in messages. test/statuses and test/controller-request.test.ts have the requests themselves.
import { afterEach, expect, it, vi } from 'vitest';
import { isLoopback } from '../src/base/http-request.ts';
import { hideSecrets, proxySecrets } from '../src/base/secrets.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

it('hideSecrets replaces a secret in each of its forms, and leaves short ones', () => {
  const secret = 'pass:wörd/+?';
  const pair = `robot:${secret}`;
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const forms = [
    secret,
    encodeURIComponent(secret),
    encodeURIComponent(secret).toLowerCase(),
    base64(secret),
    base64(pair),
  ];
  for (const form of forms) expect(hideSecrets(`I know "${form}"!`, [secret, pair])).toBe('I know "***"!');
  expect(hideSecrets('a cat', ['at'])).toBe('a cat');
  expect(hideSecrets('all', [])).toBe('all');
});

it('proxySecrets returns the passwords of proxies, encoded and decoded', () => {
  for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy', 'https_proxy']) vi.stubEnv(name, '');
  vi.stubEnv('HTTPS_PROXY', 'http://user:a%2Fb@proxy:3128');
  expect(proxySecrets()).toEqual(['a%2Fb', 'a/b']);
});

it('isLoopback is true for names and addresses of this machine', () => {
  expect(['localhost', '127.0.0.1', '127.9.9.9', '[::1]'].every(isLoopback)).toBe(true);
  expect(['git.example', '127.0.0.1.example', '10.0.0.1', '[::2]', 'localhost.example'].some(isLoopback)).toBe(false);
});
