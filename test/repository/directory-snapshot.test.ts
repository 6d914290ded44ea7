// A working directory read without git has to look as the commit of it would.
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readDirectory } from '../../src/repository/directory-snapshot.ts';
import { openLocalRepository } from '../../src/repository/local-repository.ts';
import { SourceError } from '../../src/repository/source.ts';
import { createGitRepository, runGit } from '../support/git-repository.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

async function write(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
}

describe('readDirectory', () => {
  it('returns paths, modes and ids like git', async () => {
    const directory = temporaryDirectory();
    await createGitRepository(directory, { bare: false });
    await write(directory, {
      'tree.yaml': 'name: all\n',
      'stacks/instances/eu.yaml': 'x\n',
      'bin/run': '#!',
      empty: '',
    });
    await chmod(join(directory, 'bin/run'), 0o755);
    await symlink('tree.yaml', join(directory, 'link'));
    await symlink('/nowhere/at/all', join(directory, 'dangling'));
    await runGit(['-C', directory, 'add', '--all']);
    const staged = await runGit(['-C', directory, 'ls-files', '--stage']);
    const expected = staged.split('\n').map((line) => line.replace(/ 0\t/, ' '));

    await write(directory, { large: 'x'.repeat(1024 * 1024 + 1) });

    const { commit, files, blobs } = await readDirectory(directory);

    expected.push(`100644 ${'0'.repeat(40)} large`);
    expect([...files].map(([path, { mode, oid }]) => `${mode} ${oid} ${path}`).sort()).toEqual(expected.sort());
    expect(commit).toBe('');
    expect(blobs.has(files.get('large')?.oid ?? '')).toBe(false);
    expect(Buffer.from(blobs.get(files.get('tree.yaml')?.oid ?? '') ?? '').toString()).toBe('name: all\n');
    expect(blobs.size).toBe(4);
  });

  it('returns paths that are not UTF-8 like a commit of them', async () => {
    const directory = temporaryDirectory();
    await createGitRepository(directory, { bare: false });
    const folder = Buffer.from(`${directory}/stacks/caf\xe9/`, 'latin1');
    await mkdir(folder, { recursive: true });
    for (const name of ['b\xff.yaml', 'b\xfe.yaml', '\xc3\xa9.yaml']) {
      await writeFile(Buffer.concat([folder, Buffer.from(name, 'latin1')]), name);
    }
    await symlink('tree.yaml', Buffer.from(`${directory}/link\xe9`, 'latin1'));
    await writeFile(Buffer.from(`${directory}/file\xe9`, 'latin1'), 'x');
    await runGit(['-C', directory, 'add', '--all']);
    await runGit(['-C', directory, 'commit', '--quiet', '--message', 'x']);
    const repository = await openLocalRepository(directory);
    const committed = await repository.snapshot(await repository.resolve('HEAD'), () => true);
    repository[Symbol.dispose]();

    const { files, blobs } = await readDirectory(directory);

    expect(new Map([...files].sort())).toEqual(new Map([...committed.files].sort()));
    expect([...files.keys()]).toContain('stacks/caf\xe9/b\xff.yaml');
    expect(blobs.size).toBe(4);
  });

  it('skips .git, other repositories, and node_modules without objects', async () => {
    const directory = temporaryDirectory();
    await write(directory, {
      '.git/HEAD': 'x',
      'node_modules/a/b.yaml': 'x',
      'stacks/node_modules/c.yaml': 'x',
      'types/role/node_modules/d.yaml': 'x',
      'vendor/.git/HEAD': 'x',
      'vendor/inside.yaml': 'x',
      '.gitignore': 'x',
      'a.yaml': 'x',
    });
    const { files } = await readDirectory(directory);
    expect([...files].map(([path, { mode }]) => `${mode} ${path}`)).toEqual([
      '100644 .gitignore',
      '100644 a.yaml',
      '100644 types/role/node_modules/d.yaml',
      '160000 vendor',
    ]);
  });

  it('reads only the requested files, and returns the given time', async () => {
    const directory = temporaryDirectory();
    await write(directory, { 'a.yaml': 'a', 'b.txt': 'b' });
    const snapshot = await readDirectory(directory, {
      time: '2026-11-20T10:13:56Z',
      wants: (path) => path.endsWith('.yaml'),
    });
    expect([...snapshot.blobs.values()].map((bytes) => Buffer.from(bytes).toString())).toEqual(['a']);
    expect(snapshot.files.size).toBe(2);
    expect(snapshot.time).toBe('2026-11-20T10:13:56Z');
    expect((await readDirectory(directory)).time).toBe('1970-01-01T00:00:00Z');
  });

  it('refuses too many files and too deep folders', async () => {
    const directory = temporaryDirectory();
    await write(directory, { 'd/a': '1', 'd/b': '2' });
    await expect(readDirectory(directory, { limits: { entriesMax: 2, blobBytesMax: 1 } })).rejects.toThrow(
      /holds more than 2 files and directories/,
    );
    expect((await readDirectory(directory, { limits: { entriesMax: 3, blobBytesMax: 1 } })).files.size).toBe(2);
    await write(directory, { [`${'d/'.repeat(260)}a`]: 'deep' });
    await expect(readDirectory(directory)).rejects.toThrow(/nested deeper than 256/);
  });

  it.each(['nowhere', 'file'])('refuses %j, which is not a directory', async (name) => {
    const directory = temporaryDirectory();
    await write(directory, { file: 'x' });
    await expect(readDirectory(join(directory, name))).rejects.toThrow(SourceError);
    await expect(readDirectory(join(directory, name))).rejects.toThrow(/cannot be read/);
  });
});
