// One file at a time: whole or not at all, with its rights, and never through a link.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ManagedPlace } from '../../../src/agents/render/load-render-settings.ts';
import { isAsWanted, writeManagedFile } from '../../../src/agents/render/managed-file.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const IS_ROOT = process.geteuid?.() === 0;
const NOBODY = [65_534, 65_534] as const;
const TEXT = Buffer.from('listen 80\n');

let folder: string;
let place: ManagedPlace;
beforeEach(() => {
  folder = temporaryDirectory();
  place = { path: join(folder, 'app.conf'), mode: 0o640, owner: null };
});

describe('a managed file', () => {
  it('is created with its content and mode, regardless of the umask', async () => {
    const before = process.umask(0o077);
    try {
      expect(await isAsWanted(place, TEXT)).toBe(false);
      await writeManagedFile({ ...place, mode: 0o664 }, TEXT);
    } finally {
      process.umask(before);
    }
    expect(statSync(place.path).mode & 0o7777).toBe(0o664);
    expect(await isAsWanted({ ...place, mode: 0o664 }, TEXT)).toBe(true);
    expect(readdirSync(folder)).toEqual(['app.conf']);
  });

  it.each<readonly [what: string, change: (path: string) => void]>([
    ['another content of the same length', (path) => writeFileSync(path, 'listen 81\n')],
    ['more content', (path) => writeFileSync(path, 'listen 80\n\n')],
    ['other rights', (path) => chmodSync(path, 0o644)],
    ['the bit that runs it as its owner', (path) => chmodSync(path, 0o4640)],
  ])('with %s is replaced', async (_, change) => {
    await writeManagedFile(place, TEXT);
    change(place.path);
    expect(await isAsWanted(place, TEXT)).toBe(false);
    await writeManagedFile(place, TEXT);
    expect(await isAsWanted(place, TEXT)).toBe(true);
  });

  it('is replaced by a new inode, so that open readers keep the old content', async () => {
    await writeManagedFile(place, TEXT);
    const other = join(folder, 'other-name');
    linkSync(place.path, other);
    await writeManagedFile(place, Buffer.from('new'));
    expect(readFileSync(other)).toEqual(TEXT);
    expect(statSync(other).ino).not.toBe(statSync(place.path).ino);
  });

  it('replaces a temporary file of a killed process', async () => {
    writeFileSync(join(folder, '.app.conf.treeline-new'), 'half');
    await writeManagedFile(place, TEXT);
    expect(readdirSync(folder)).toEqual(['app.conf']);
  });

  it.runIf(IS_ROOT)('is given to its owner, and back from another', async () => {
    const owned = { ...place, owner: NOBODY };
    await writeManagedFile(owned, TEXT);
    expect(statSync(place.path)).toMatchObject({ uid: 65_534, gid: 65_534 });
    expect(await isAsWanted(owned, TEXT)).toBe(true);
    chownSync(place.path, 0, 65_534);
    expect(await isAsWanted(owned, TEXT)).toBe(false);
    expect(await isAsWanted(place, TEXT)).toBe(true);
  });
});

describe('writeManagedFile refuses to write', () => {
  it('through a link, even a dangling one', async () => {
    const target = join(folder, 'secret');
    writeFileSync(target, 'secret');
    for (const to of [target, join(folder, 'nothing')]) {
      const path = join(folder, `link to ${to.split('/').at(-1)}`);
      symlinkSync(to, path);
      await expect(isAsWanted({ ...place, path }, TEXT)).rejects.toThrow(
        `${path} is not replaced: it is a symbolic link, which may lead anywhere: remove it, or use its target`,
      );
    }
    // One that comes in between is replaced itself.
    const path = join(folder, 'link to secret');
    await writeManagedFile({ ...place, path }, TEXT);
    expect(readFileSync(target, 'utf8')).toBe('secret');
    symlinkSync(target, join(folder, '.app.conf.treeline-new'));
    await writeManagedFile(place, TEXT);
    expect(readFileSync(target, 'utf8')).toBe('secret');
  });

  it('over a folder or a pipe', async () => {
    mkdirSync(place.path);
    await expect(isAsWanted(place, TEXT)).rejects.toThrow(/is not a regular file: remove it, or use another path/);
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    await expect(isAsWanted({ ...place, path: pipe }, TEXT)).rejects.toThrow(/pipe is not a regular file/);
  });

  it('if its folder is missing or a part of the path is a file', async () => {
    const path = join(folder, 'a', 'b.conf');
    expect(await isAsWanted({ ...place, path }, TEXT)).toBe(false);
    await expect(writeManagedFile({ ...place, path }, TEXT)).rejects.toThrow(
      `${path} cannot be written: it is not there`,
    );
    writeFileSync(join(folder, 'a'), '');
    await expect(isAsWanted({ ...place, path }, TEXT)).rejects.toThrow(/a part of its path is a file, not a folder/);
  });

  it('a partial file: a failure leaves the old file, and no temporary file', async () => {
    await writeManagedFile(place, TEXT);
    const impossible = { ...place, owner: [-2, -2] as const };
    await expect(writeManagedFile(impossible, Buffer.from('new'))).rejects.toThrow(/cannot be written/);
    expect(readFileSync(place.path)).toEqual(TEXT);
    expect(existsSync(join(folder, '.app.conf.treeline-new'))).toBe(false);
  });
});
