// Commits that isomorphic-git creates, checked by the real git.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NAME_LENGTH_MAX } from '../../src/model/names.ts';
import { ObjectReader } from '../../src/repository/object-reader.ts';
import type { NewCommit } from '../../src/repository/publisher.ts';
import { Git } from '../../src/repository/run-git.ts';
import { type CommitOrder, writeCommits } from '../../src/repository/write-commits.ts';
import { countRuns } from '../support/count-runs.ts';
import { createGitRepository, type FileChanges, type GitRepository, runGit } from '../support/git-repository.ts';
import { NOW, newCommit } from '../support/new-commit.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const OLD_FILES: FileChanges = { 'tree.yaml': 'name: all\n', 'stacks/instances/shop.yaml': 'template: web\n' };

interface Written {
  readonly repository: GitRepository;
  readonly base: string;
  prepare(commits: readonly NewCommit[], order?: Partial<CommitOrder>): ReturnType<typeof writeCommits>;
  /** Writes commits and returns the ids, which have to be intact. */
  write(commits: readonly NewCommit[], order?: Partial<CommitOrder>): Promise<readonly string[]>;
  /** Moves `main` to the commits, and returns the last one's files, a line each as `git ls-tree` writes them, without their ids. */
  publish(...commits: readonly NewCommit[]): Promise<readonly string[]>;
  contentOf(path: string): Promise<string>;
}

async function written(files: FileChanges = OLD_FILES, directory: readonly string[] = []): Promise<Written> {
  const repository = await createGitRepository(join(temporaryDirectory(), 'copy.git'));
  const base = await repository.commit(files);
  const { path, git } = repository;
  const prepare: Written['prepare'] = async (commits, order = {}) => {
    const committer = { name: 'Treeline', email: 'treeline@localhost' };
    const seconds = Date.parse(NOW) / 1000;
    const objects = new ObjectReader(new Git({ directory: path }), (error) => error);
    const place = { objects, base, directory };
    return await writeCommits({ ...place, commits, committer, seconds, ...order }).finally(() => objects.close());
  };
  const write: Written['write'] = async (commits, order) => {
    const prepared = await prepare(commits, order);
    if (prepared.is !== 'prepared') throw new Error(prepared.reason);
    expect(prepared.commits).toHaveLength(commits.length);
    expect(await git('fsck', '--full', '--strict', '--no-progress', '--no-dangling', ...prepared.commits)).toBe('');
    return prepared.commits;
  };
  return {
    repository,
    base,
    prepare,
    write,
    async publish(...commits) {
      await git('update-ref', 'refs/heads/main', String((await write(commits)).at(-1)), base);
      const listed = await git('ls-tree', '-r', '-z', 'main');
      return listed.split('\0').flatMap((line) => (line === '' ? [] : [line.replace(/ \w+ \w+\t/, ' ')]));
    },
    contentOf: (file) => git('show', `main:${file}`),
  };
}

/** Returns a tree with entries whose names are any bytes, and whose modes are any. */
function oddTree(
  repository: GitRepository,
  entries: readonly (readonly [string, Uint8Array, string])[],
): Promise<string> {
  const bytes = entries.flatMap(([mode, name, oid]) => [
    Buffer.from(`${mode} `),
    ...[name, Buffer.of(0), Buffer.from(oid, 'hex')],
  ]);
  return runGit(
    ['-C', repository.path, 'hash-object', '-t', 'tree', '--literally', '-w', '--stdin'],
    Buffer.concat(bytes),
  );
}

describe('the files of a written commit', () => {
  it('are changed, added and removed, and all others stay', async () => {
    const { publish, contentOf } = await written({ a: '1', 'b/x': '2', 'b/y': '3', 'c/d/e': '4' });
    const files = await publish(newCommit({ a: 'one\n', 'b/x': null, 'c/d/f': 'ü', 'n/e/w': '' }));
    expect(files).toEqual(['100644 a', '100644 b/y', '100644 c/d/e', '100644 c/d/f', '100644 n/e/w']);
    expect(await contentOf('a')).toBe('one');
    expect(await contentOf('c/d/f')).toBe('ü');
  });

  it('keep the executable bit', async () => {
    const { publish, contentOf } = await written({ run: { mode: '100755', content: 'old' } });
    expect(await publish(newCommit({ run: 'new', walk: 'new' }))).toEqual(['100755 run', '100644 walk']);
    expect(await contentOf('run')).toBe('new');
  });

  it('may replace a directory, and be replaced by one', async () => {
    const { publish } = await written({ a: '1', 'b/c': '2' });
    const files = await publish(newCommit({ a: null, 'a/x': '1', 'b/c': null }), newCommit({ b: '2' }));
    expect(files).toEqual(['100644 a/x', '100644 b']);
  });

  it('are below the directory of the layout, even if that is new', async () => {
    const inside = await written({ top: '1', 'infra/stacks/tree.yaml': '1' }, ['infra', 'stacks']);
    expect(await inside.publish(newCommit({ 'tree.yaml': '2', 'a/b': '3' }))).toEqual([
      '100644 infra/stacks/a/b',
      '100644 infra/stacks/tree.yaml',
      '100644 top',
    ]);
    const absent = await written({ top: '1' }, ['infra']);
    expect(await absent.publish(newCommit({ a: '2' }))).toEqual(['100644 infra/a', '100644 top']);
  });

  it('may be next to symbolic links and submodules', async () => {
    const link = { mode: '120000', content: 'a' } as const;
    const module = { mode: '160000', content: '1'.repeat(40) } as const;
    const { publish } = await written({ link, module, 'd/a': '1', run: { mode: '100755', content: '' } });
    const files = await publish(newCommit({ 'd/b': '' }));
    expect(files).toEqual(['100644 d/a', '100644 d/b', '120000 link', '160000 module', '100755 run']);
  });

  it('are equal to those of a commit by git', async () => {
    const step = fc.constantFrom('a', 'b', 'a.b', 'a-b', 'ab', 'A', 'ö');
    const path = fc.array(step, { minLength: 1, maxLength: 3 }).map((steps) => steps.join('/'));
    const edits = fc.dictionary(path, fc.option(fc.constantFrom('1', '2', '3'), { freq: 2 }), {
      minKeys: 1,
      maxKeys: 4,
    });
    const files = { keep: '', 'a/b/c': '0' };
    const { repository, prepare, write } = await written(files);
    await fc.assert(
      fc.asyncProperty(fc.array(edits, { minLength: 6, maxLength: 6 }), async (rounds) => {
        let commits: readonly NewCommit[] = [newCommit({})];
        let wanted: Readonly<Record<string, string | null>> = files;
        for (const round of rounds) {
          const more = [...commits, newCommit(round)];
          // A file where a directory is, and the other way round, is refused.
          if ((await prepare(more)).is === 'refused') continue;
          commits = more;
          wanted = { ...wanted, ...round };
        }
        const left = Object.fromEntries(Object.entries(wanted).filter(([, text]) => text !== null));
        const twin = await repository.commit(left, { branch: 'twin', parents: [] });
        const last = (await write(commits)).at(-1);
        expect(await repository.git('rev-parse', `${last}^{tree}`)).toBe(
          await repository.git('rev-parse', `${twin}^{tree}`),
        );
      }),
      { numRuns: countRuns(5) },
    );
  });
});

describe('a path that cannot be a file', () => {
  it.each([
    ['a directory', { d: '1' }, /has a directory at "d", where a file would have to be/],
    ['a directory that is removed', { d: null }, /has a directory at "d"/],
    ['below a file', { 'f/x': '1' }, /has a file at "f", where a directory/],
    ['a symbolic link', { link: '1' }, /has a symbolic link at "link"/],
    ['below a symbolic link', { 'link/x': '1' }, /has a symbolic link at "link", where a directory/],
    ['a submodule', { module: '1' }, /has a submodule at "module"/],
  ])('is refused: %s', async (_, edits, message) => {
    const { prepare } = await written({
      'd/e': '1',
      f: '1',
      link: { mode: '120000', content: 'f' },
      module: { mode: '160000', content: '1'.repeat(40) },
    });
    const refused = { is: 'refused', byHand: false, reason: expect.stringMatching(message) };
    expect(await prepare([newCommit(edits)])).toEqual(refused);
  });

  it('may be removed if it is a link or a submodule', async () => {
    const { publish } = await written({ a: '', link: { mode: '120000', content: 'a' } });
    expect(await publish(newCommit({ link: null }))).toEqual(['100644 a']);
  });
});

describe('names that a Git tree cannot have', () => {
  it('do not include the longest object names', async () => {
    const { publish } = await written({});
    const longest = `${'x'.repeat(NAME_LENGTH_MAX)}.yaml`;
    expect(await publish(newCommit({ [longest]: '1' }))).toEqual([`100644 ${longest}`]);
  });

  it.each([
    ...['', '/a', 'a/', 'a//b', '.', '../a', 'a/../b', 'a\\b', 'a\nb', 'a\0b', 'a\x7fb', '\ud800', 'x'.repeat(256)],
    ...['.git', 'a/.git/config', '.GIT'],
  ])('are refused: %j', async (path) => {
    const { prepare } = await written();
    await expect(prepare([newCommit({ [path]: '1' })])).rejects.toThrow(/invariant broken/);
  });
});

describe('the log of written commits', () => {
  it('has author, committer, time and message as given', async () => {
    const { publish, repository } = await written();
    const time = String(Date.parse(NOW) / 1000);
    const message = 'Größe: 2\n\nWhy, in two\nlines.\n\nTreeline-Client: 0A1B\n\n\n';
    await publish({ author: { name: 'Ünal, "x" Öz.', email: 'a b' }, message, edits: [] });
    expect(await repository.git('log', '-1', '--format=%an|%ae|%at|%cn|%ce|%ct')).toBe(
      `Ünal, "x" Öz.|a b|${time}|Treeline|treeline@localhost|${time}`,
    );
    expect(await repository.git('log', '-1', '--format=%(trailers:only)')).toBe('Treeline-Client: 0A1B');
    const raw = await repository.git('cat-file', 'commit', 'main');
    expect(raw.endsWith('\n\nGröße: 2\n\nWhy, in two\nlines.\n\nTreeline-Client: 0A1B')).toBe(true);
    expect(await repository.git('cat-file', '-s', 'main')).toBe(String(Buffer.byteLength(raw) + 1));
  });

  it('has several commits in their order', async () => {
    const { publish, repository, base } = await written();
    const commits = Array.from({ length: 12 }, (_, n) => newCommit({ [`f/${n % 7}`]: String(n) }, `Write ${n}`));
    const files = await publish(...commits);
    expect(files.filter((line) => line.includes('f/'))).toHaveLength(7);
    const subjects = await repository.git('log', '--reverse', '--format=%s', `${base}..main`);
    expect(subjects.split('\n')).toEqual(commits.map(({ message }) => message));
  });

  it.each([
    ['author', { name: 'a\ncommitter x <y> 1 +0000', email: 'e' }],
    ['author', { name: 'a <b', email: 'e' }],
    ['author', { name: 'a', email: 'e> 1 +0000' }],
    ['author', { name: 'a\0', email: 'e' }],
    ['author', { name: 'a\r', email: 'e' }],
    ['author', { name: ' ', email: 'e' }],
    ['author', { name: 'a', email: '' }],
    ['author', { name: '\udfff', email: 'e' }],
    ['committer', { name: 'a\n', email: 'e' }],
    ['message', 'a\0b'],
    ['message', '\n'],
    ['message', '\ud800'],
  ])('cannot be forged by the %s %j', async (field, value) => {
    const { prepare } = await written();
    const commit = { ...newCommit({ a: '1' }), [field]: value };
    await expect(prepare([commit], { [field]: value })).rejects.toThrow(/invariant broken/);
  });
});

describe('a directory with entries that cannot be written unchanged', () => {
  const ODD = [
    ['a name that is not UTF-8', '100644', Buffer.of(0x78, 0xff)],
    ['a file with an unusual mode', '100777', Buffer.from('x')],
  ] as const;

  it.each(ODD)('is written by git: %s', async (_, mode, name) => {
    const { repository, base, prepare } = await written({ a: '1' });
    const blob = await repository.git('rev-parse', `${base}:a`);
    const entry = [mode, name, blob] as const;
    const odd = await oddTree(repository, [entry]);
    const commitOf = (root: string) => repository.git('commit-tree', root, '-p', base, '-m', 'odd');
    const reason = (where: string) =>
      expect.stringMatching(new RegExp(`^${where} has a name that is not UTF-8, or a file mode`));
    const atRoot = await commitOf(odd);
    expect(await prepare([newCommit({ b: '1' })], { base: atRoot })).toEqual({
      is: 'refused',
      byHand: true,
      reason: reason('the root of the repository'),
    });
    const below = await commitOf(await oddTree(repository, [['40000', Buffer.from('d'), odd]]));
    expect(await prepare([newCommit({ 'd/b': '1' })], { base: below })).toMatchObject({
      reason: reason('the directory "d"'),
    });
    // What is not changed is not written.
    const prepared = await prepare([newCommit({ b: '1' })], { base: below });
    expect(prepared.is).toBe('prepared');
  });
});

describe('writeCommits', () => {
  const fileOf = (repository: GitRepository, oid: string): string =>
    join(repository.path, 'objects', oid.slice(0, 2), oid.slice(2));

  it('moves no ref, and returns the same id for the same commit', async () => {
    const { write, base, repository } = await written();
    const commits = [newCommit({ new: 'text\n' })];
    expect(await write(commits)).toEqual(await write(commits));
    expect(await repository.git('for-each-ref', '--format=%(objectname)')).toBe(base);
  });

  it('refuses a missing base, an invalid id, and an empty text', async () => {
    const { prepare } = await written();
    expect(await prepare([newCommit({ 'a tree 5/b': '1' })], { base: '1'.repeat(40) })).toEqual({
      is: 'not sent',
      reason: expect.stringMatching(/commit "1{40}" is not here/),
    });
    await expect(prepare([])).rejects.toThrow(/invariant broken/);
    await expect(prepare([newCommit({ a: '\ud800' })])).rejects.toThrow(/invariant broken/);
  });

  it('replaces files that a crash emptied, and leaves no temporary file', async () => {
    const { write, repository } = await written();
    const oid = await runGit(['-C', repository.path, 'hash-object', '--stdin'], Buffer.from('new\n'));
    mkdirSync(dirname(fileOf(repository, oid)), { recursive: true });
    writeFileSync(fileOf(repository, oid), '');
    const [commit] = await write([newCommit({ a: 'new\n' })]);
    expect(await repository.git('show', `${commit}:a`)).toBe('new');
    const before = readFileSync(fileOf(repository, oid));
    await write([newCommit({ a: 'new\n', b: '2' })]);
    expect(readFileSync(fileOf(repository, oid))).toEqual(before);
    const names = readdirSync(join(repository.path, 'objects'), { recursive: true, encoding: 'utf8' });
    expect(names.filter((name) => name.includes('tmp_obj'))).toEqual([]);
  });

  it('reports a missing tree in the copy', async () => {
    const { prepare, repository, base } = await written({ 'a/b': '1', c: '2' });
    const missing = await oddTree(repository, [['40000', Buffer.from('a'), '1'.repeat(40)]]);
    const damaged = await repository.git('commit-tree', missing, '-p', base, '-m', 'damaged');
    expect(await prepare([newCommit({ 'a/b': '2' })], { base: damaged })).toEqual({
      is: 'not sent',
      reason: expect.stringMatching(/the tree 1{40} at "a\/" is missing/),
    });
  });
});
