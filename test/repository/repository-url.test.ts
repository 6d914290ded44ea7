import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseRepositoryUrl } from '../../src/repository/repository-url.ts';
import { SourceError } from '../../src/repository/source.ts';

describe('parseRepositoryUrl', () => {
  it.each([
    ['/srv/git/stacks.git', { kind: 'local', path: '/srv/git/stacks.git' }],
    ['stacks.git', { kind: 'local', path: resolve('stacks.git') }],
    ['../with space/a:b', { kind: 'local', path: resolve('../with space/a:b') }],
    ['/srv/a:b', { kind: 'local', path: '/srv/a:b' }],
    ['file:///srv/with%20space', { kind: 'local', path: '/srv/with space' }],
    ['FILE:///srv/x', { kind: 'local', path: '/srv/x' }],
    ['https://git.example/x.git', { kind: 'http', url: 'https://git.example/x.git' }],
    ['http://git.example/x.git', { kind: 'http', url: 'http://git.example/x.git' }],
    ['HTTPS://Git.Example:443/x.git//', { kind: 'http', url: 'https://git.example/x.git' }],
    ['https://git.example/', { kind: 'http', url: 'https://git.example' }],
    ['ssh://git@host:22/x.git', { kind: 'ssh', url: 'ssh://git@host:22/x.git' }],
    ['git@host:group/x.git', { kind: 'ssh', url: 'git@host:group/x.git' }],
  ])('%j', (text, expected) => {
    expect(parseRepositoryUrl(text)).toEqual(expected);
  });

  it.each([
    ['', /is empty/],
    ['ftp://host/x', /"ftp:\/\/host\/x" is not a repository that can be followed/],
    ['git://host/x', /is not a repository that can be followed/],
    ['file://other-host/x', /names no file of this machine/],
    ['https://', /"https:\/\/" is not a repository/],
    ['https://git.example/x?a=b', /write the URL without "\?" and "#"/],
    ['https://git.example/x#a', /write the URL without "\?" and "#"/],
    ['https://user@git.example/x', /^"https:\/\/git.example\/x" is written with a user or password before the host/],
    ['ftp://user:secret@host/x', /^"ftp:\/\/host\/x" is not a repository/],
    ['ssh://user:secret@host/x', /^"ssh:\/\/host\/x" is written with a password, which ssh does not take/],
    ['ssh:///x', /is not a repository/],
    ['ssh://-oProxyCommand=x/y', /is not a repository/],
    ['-oProxyCommand=x:y', /is not a repository/],
    ['ext::sh -c x', /is not a repository/],
  ])('refuses %j', (text, message) => {
    expect(() => parseRepositoryUrl(text)).toThrow(message);
    expect(() => parseRepositoryUrl(text)).toThrow(SourceError);
  });

  it.each([
    ['u:PASSWORD@host:path', '"host:path" is written with a password, which ssh does not take'],
    ['u:PASSWORD@host/path', '"host/path" is written with a password'],
    ['u:PASS/WORD@host:path', '"host:path" is written with a password'],
    ['u:PASS@WORD@host:path', '"host:path" is written with a password'],
    [
      'https://host/x?token=PASSWORD',
      '"https://host/x" is not a repository that can be followed: write the URL without "?"',
    ],
    ['https://host/x#PASSWORD', '"https://host/x" is not a repository'],
    ['https://u:PASS/WORD@host/x', '"https://host/x" is not a repository'],
    ['https://u:PASS#WORD@host/x', '"https://host/x" is not a repository'],
    ['https://u:PASS@WORD@host/x', '"https://host/x" is written with a user'],
    ['https:/u:PASSWORD@host/x', '"https:/host/x" is not a repository'],
    ['ssh://u:PASS/WORD@host/x', '"ssh://host/x" is not a repository'],
    [
      'ssh://git@host/x?token=PASSWORD',
      '"ssh://host/x" is not a repository that can be followed: write the URL without "?"',
    ],
    ['ssh://git@host/x#PASSWORD', '"ssh://host/x" is not a repository'],
    ['git+ssh://git@host/x?token=PASSWORD', '"git+ssh://host/x" is not a repository'],
    ['git@host:x?token=PASSWORD', '"host:x" is not a repository'],
    ['ftp://host/x?token=PASSWORD', '"ftp://host/x" is not a repository'],
    ['file://u:PASSWORD@host/x', '"file://host/x" names no file'],
  ])('refuses %j and prints no password', (text, message) => {
    const error = errorOf(() => parseRepositoryUrl(text));
    expect(error.message).toContain(message);
    expect(error.message).not.toMatch(/PASS|WORD/);
  });
});

function errorOf(work: () => unknown): SourceError {
  try {
    work();
  } catch (error) {
    if (error instanceof SourceError) return error;
    throw error;
  }
  throw new Error('it was accepted');
}
