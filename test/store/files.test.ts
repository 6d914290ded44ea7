import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { diskFiles, type Files, makeDirectory } from '../../src/store/files.ts';
import { MemoryFiles } from '../support/memory-files.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const LIMIT = 1000;

describe.each<[string, () => Files]>([
  ['on the disk', () => diskFiles],
  ['in memory', () => new MemoryFiles()],
])('files %s', (_name, makeFiles) => {
  async function textOf(files: Files, path: string): Promise<string | undefined> {
    const file = await files.openToRead(path, LIMIT);
    if (file === undefined) return undefined;
    const bytes = Buffer.alloc(file.size);
    expect(await file.read(bytes, 0)).toBe(file.size);
    await file.close();
    return bytes.toString();
  }

  async function write(files: Files, path: string, text: string): Promise<void> {
    const file = await files.create(path);
    await file.append(Buffer.from(text));
    await file.sync();
    await file.close();
  }

  it('hold what was appended, in a new file and in one that is opened again', async () => {
    const files = makeFiles();
    const path = join(temporaryDirectory(), 'a');
    await write(files, path, 'one ');
    const file = await files.open(path);
    await file.append(Buffer.from('two '));
    await file.append(Buffer.from('three'));
    await file.close();
    expect(await textOf(files, path)).toBe('one two three');
  });

  it('go on at the new end after they were cut', async () => {
    const files = makeFiles();
    const path = join(temporaryDirectory(), 'a');
    const file = await files.create(path);
    await file.append(Buffer.from('one two'));
    await file.truncate(3);
    await file.append(Buffer.from('!'));
    await file.close();
    expect(await textOf(files, path)).toBe('one!');
  });

  it('begin empty when they are created in place of another', async () => {
    const files = makeFiles();
    const path = join(temporaryDirectory(), 'a');
    await write(files, path, 'old');
    await write(files, path, '');
    expect(await textOf(files, path)).toBe('');
  });

  it('take the place of another by a rename', async () => {
    const files = makeFiles();
    const directory = temporaryDirectory();
    await write(files, join(directory, 'a'), 'old');
    await write(files, join(directory, 'b'), 'new');
    await files.rename(join(directory, 'b'), join(directory, 'a'));
    await files.syncDirectory(directory);
    expect(await textOf(files, join(directory, 'a'))).toBe('new');
    expect(await textOf(files, join(directory, 'b'))).toBeUndefined();
  });

  it('are undefined to a reader, and an error to others, where they are missing', async () => {
    const files = makeFiles();
    const path = join(temporaryDirectory(), 'missing');
    expect(await files.openToRead(path, LIMIT)).toBeUndefined();
    await expect(files.open(path)).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(files.rename(path, `${path}2`)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('are not read above the limit', async () => {
    const files = makeFiles();
    const path = join(temporaryDirectory(), 'a');
    await write(files, path, 'x'.repeat(LIMIT + 1));
    await expect(files.openToRead(path, LIMIT)).rejects.toThrow(`the limit is ${LIMIT}`);
  });

  it('are read from any place, as long as they were when they were opened, also after another took their name', async () => {
    const files = makeFiles();
    const directory = temporaryDirectory();
    const path = join(directory, 'a');
    await write(files, path, '0123456789');
    const file = await files.openToRead(path, LIMIT);
    await write(files, join(directory, 'b'), 'another');
    await files.rename(join(directory, 'b'), path);
    expect(file?.size).toBe(10);
    const bytes = Buffer.alloc(4);
    expect(await file?.read(bytes, 3)).toBe(4);
    expect(bytes.toString()).toBe('3456');
    expect(await file?.read(bytes, 8)).toBe(2);
    expect(bytes.toString('utf8', 0, 2)).toBe('89');
    await file?.close();
  });
});

describe('makeDirectory', () => {
  it('makes every directory on the way for its owner only', async () => {
    const top = join(temporaryDirectory(), 'a');
    await makeDirectory(join(top, 'b', 'c'));
    for (const made of [top, join(top, 'b'), join(top, 'b', 'c')]) expect(statSync(made).mode & 0o777).toBe(0o700);
    await makeDirectory(join(top, 'b', 'c'));
  });
});
