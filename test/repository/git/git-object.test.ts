import { describe, expect, it } from 'vitest';
import { isOid, oidOf, parseCommit, treeEntries } from '../../../src/repository/git/git-object.ts';

const A = 'a'.repeat(40);
const B = 'b'.repeat(40);
const C = 'c'.repeat(40);

function tree(...entries: readonly (readonly [mode: string, name: string | Buffer, oid: string])[]): Buffer {
  const parts = entries.flatMap(([mode, name, oid]) => [`${mode} `, name, '\0', Buffer.from(oid, 'hex')]);
  return Buffer.concat(parts.map((part) => Buffer.from(part)));
}

function commit(...lines: readonly string[]): Buffer {
  return Buffer.from(lines.join('\n'));
}

describe('oidOf', () => {
  it.each([
    ['', 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'],
    ['hello\n', 'ce013625030ba8dba906f756967f9e9ca394464a'],
  ])('gives %j the id that git gives it', (text, oid) => {
    expect(oidOf({ type: 'blob', bytes: Buffer.from(text) })).toBe(oid);
    expect(isOid(oid)).toBe(true);
  });

  it.each(['', 'HEAD', 'A'.repeat(40), 'a'.repeat(39), 'a'.repeat(64)])('%j is no id', (text) => {
    expect(isOid(text)).toBe(false);
  });
});

describe('treeEntries', () => {
  it('reads modes as git understands them', () => {
    const modes = ['100644', '100664', '100600', '100755', '100775', '120000', '160000', '40000', '040000'];
    const entries = [...treeEntries(tree(...modes.map((mode, index) => [mode, `f${index}`, A] as const)))];
    expect(entries.map((entry) => entry.mode)).toEqual([
      '100644',
      '100644',
      '100644',
      '100755',
      '100755',
      '120000',
      '160000',
      '40000',
      '40000',
    ]);
  });

  it('keeps names apart that are no UTF-8', () => {
    const names = [Buffer.from([0xe8]), Buffer.from([0xe9]), Buffer.from('é')];
    const entries = [...treeEntries(tree(...names.map((name) => ['100644', name, A] as const)))];
    expect(entries.map((entry) => entry.name)).toEqual(['è', 'é', 'é']);
  });

  it.each([
    ['an id that is cut off', tree(['100644', 'a', A]).subarray(0, 20), /middle of an entry/],
    ['a name that is cut off', Buffer.from('100644 a'), /middle of an entry/],
    ['no name', Buffer.from('100644'), /middle of an entry/],
    ['a path', tree(['100644', '../a', A]), /holds the name "..\/a"/],
    ['the parent', tree(['40000', '..', A]), /holds the name ".."/],
    ['an empty name', tree(['100644', '', A]), /holds the name ""/],
    ['an unknown mode', tree(['10644', 'a', A]), /unknown mode 10644/],
  ])('refuses %s', (_, bytes, message) => {
    expect(() => [...treeEntries(bytes)]).toThrow(message);
  });
});

describe('parseCommit', () => {
  it('keeps no more of a message than anybody reads', () => {
    const bytes = commit(`tree ${A}`, 'committer A <a@b> 1800000000 +0000', '', 'x'.repeat(1_000_000));
    expect(parseCommit(A, bytes).message).toBe('x'.repeat(64 * 1024));
  });

  it('reads headers and leaves signatures alone', () => {
    const bytes = commit(
      `tree ${A}`,
      `parent ${B}`,
      `parent ${C}`,
      'author A <a@example.org> 1 +0000',
      'committer C <c@example.org> 1795169636 +0200',
      'gpgsig -----BEGIN',
      ` tree ${C}`,
      ' ',
      ' -----END',
      '',
      'Subject',
      '',
      'committer of nothing',
    );
    expect(parseCommit(C, bytes)).toEqual({
      author: 'A',
      oid: C,
      tree: A,
      parents: [B, C],
      time: '2026-11-20T10:13:56Z',
      message: 'Subject\n\ncommitter of nothing',
    });
  });

  it.each([
    ['committer A <a> 99999999999999999 +0000', '9999-12-31T23:59:59Z'],
    ['committer A <a> -5 +0000', '1970-01-01T00:00:00Z'],
    ['committer nobody', '1970-01-01T00:00:00Z'],
    ['author A <a> 1 +0000', '1970-01-01T00:00:00Z'],
  ])('finds a time for %j', (line, time) => {
    expect(parseCommit(C, commit(`tree ${A}`, line, '', 'x')).time).toBe(time);
  });

  it('reads a commit without a message, and refuses one without a tree', () => {
    expect(parseCommit(C, commit(`tree ${A}`, 'committer A <a> 1 +0000')).message).toBe('');
    expect(() => parseCommit(C, commit('committer A <a> 1 +0000', '', `tree ${A}`))).toThrow('a commit without a tree');
  });
});
