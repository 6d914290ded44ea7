// The source as its callers see it, on real repositories.
import { execFileSync } from 'node:child_process';
import { chmod, chown, mkdir, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import { createGitPublisher } from '../../src/repository/git-publisher.ts';
import { createGitSource, type GitSource, type GitSourceOptions } from '../../src/repository/git-source.ts';
import { ContentError, SourceError } from '../../src/repository/source.ts';
import { fakeSsh } from '../support/fake-ssh.ts';
import { startGitHttpServer } from '../support/git-http-server.ts';
import { createGitRepository, type GitRepository, runGit } from '../support/git-repository.ts';
import { newCommit, prepareWith } from '../support/published-repository.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

const ALL = () => true;
const NONE = () => false;

interface Setup {
  readonly repository: GitRepository;
  readonly cache: string;
  readonly copy: string;
  open(options?: Partial<GitSourceOptions>): Promise<GitSource>;
}

async function setUp({ name = 'stacks.git', bare = true } = {}): Promise<Setup> {
  const folder = temporaryDirectory();
  const repository = await createGitRepository(join(folder, name), { bare });
  const cache = join(folder, 'cache');
  return {
    repository,
    cache,
    copy: join(cache, 'repository.git'),
    open: (options) => createGitSource({ url: repository.path, branch: 'main', directory: '.', cache, ...options }),
  };
}

async function textsOf(source: GitSource, commit: string): Promise<Record<string, string>> {
  const { files, blobs } = await source.snapshot(commit, ALL);
  return Object.fromEntries([...files].map(([path, { oid }]) => [path, Buffer.from(blobs.get(oid) ?? '').toString()]));
}

async function fsck(copy: string): Promise<string> {
  return await runGit(['-C', copy, 'fsck', '--full', '--strict', '--no-progress']);
}

describe('the last change of a file', () => {
  it('is looked for below the followed directory, within the limits', async () => {
    const { repository, open } = await setUp();
    const first = await repository.commit({ 'ops/stacks/a.yaml': 'a: 1', 'a.yaml': 'a: 1' });
    const second = await repository.commit({ 'ops/stacks/b.yaml': 'b: 1', 'a.yaml': 'a: 2' });
    const source = await open({ directory: 'ops/stacks' });
    await source.fetch(null);
    const paths = ['a.yaml', 'b.yaml', 'c.yaml'];
    const all = await source.lastChanges(second, paths, { commitsMax: 10, timeoutMs: 10_000 });
    expect([...all].map(([path, change]) => [path, change?.oid])).toEqual([
      ['a.yaml', first],
      ['b.yaml', second],
    ]);
    const newest = await source.lastChanges(second, paths, { commitsMax: 1, timeoutMs: 10_000 });
    expect([newest.get('a.yaml'), newest.get('b.yaml')?.oid]).toEqual([null, second]);
    const late = await source.lastChanges(second, paths, { commitsMax: 10, timeoutMs: -1 });
    expect(late.get('b.yaml')).toBeNull();
    await source.close();
  });
});

describe('a snapshot', () => {
  it.each([
    ['a bare repository', { bare: true }],
    ['a work tree', { bare: false, name: 'stacks' }],
    ['a path with spaces and quotes', { name: `my "stacks' repository.git` }],
  ])('holds the files of %s', async (_, options) => {
    const { repository, copy, open } = await setUp(options);
    const commit = await repository.commit({ 'tree.yaml': 'name: all\n', 'stacks/instances/a b.yaml': 'x: 1\n' });
    const source = await open();

    const head = await source.fetch(null);

    expect(head.oid).toBe(commit);
    expect(await textsOf(source, commit)).toEqual({
      'tree.yaml': 'name: all\n',
      'stacks/instances/a b.yaml': 'x: 1\n',
    });
    expect(await fsck(copy)).toBe('');
  });

  it('holds the files of a linked work tree, and of a file:// URL', async () => {
    const { repository, open } = await setUp({ bare: false, name: 'stacks' });
    const commit = await repository.commit({ 'a.yaml': 'a' });
    await repository.git('branch', 'other');
    const linked = `${repository.path}-linked`;
    await repository.git('worktree', 'add', '--quiet', linked, 'other');

    const source = await open({ url: `file://${linked}` });

    expect((await source.fetch(null)).oid).toBe(commit);
    expect(await textsOf(source, commit)).toEqual({ 'a.yaml': 'a' });
  });

  it('follows packed refs and packed objects', async () => {
    const { repository, open } = await setUp();
    await repository.commit(
      Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`types/zone/z${i}.yaml`, `n: ${i}\n`])),
    );
    const commit = await repository.commit({ 'types/zone/z7.yaml': 'n: seven\n' });
    await repository.git('repack', '-adq');
    await repository.git('pack-refs', '--all');

    const source = await open();
    await source.fetch(null);

    const texts = await textsOf(source, commit);
    expect(Object.keys(texts)).toHaveLength(300);
    expect(texts['types/zone/z7.yaml']).toBe('n: seven\n');
    expect(texts['types/zone/z299.yaml']).toBe('n: 299\n');
  });

  it('tells modes apart and reads regular files only', async () => {
    const { repository, open } = await setUp();
    const submodule = '1'.repeat(40);
    const commit = await repository.commit({
      plain: 'p',
      program: { mode: '100755', content: '#!' },
      link: { mode: '120000', content: 'plain' },
      module: { mode: '160000', content: submodule },
    });
    const source = await open();
    await source.fetch(null);
    const asked: string[] = [];

    const { files, blobs } = await source.snapshot(commit, (path) => asked.push(path) > 0);

    expect([...files].map(([path, { mode }]) => `${mode} ${path}`)).toEqual([
      '120000 link',
      '160000 module',
      '100644 plain',
      '100755 program',
    ]);
    expect(files.get('module')?.oid).toBe(submodule);
    expect(asked).toEqual(['plain', 'program']);
    expect(blobs.size).toBe(2);
  });

  it('gives the committer time in UTC', async () => {
    const { repository, open } = await setUp();
    const commit = await repository.commit({ a: 'a' }, { seconds: 1_795_169_636 });
    const source = await open();
    await source.fetch(null);
    expect((await source.snapshot(commit, NONE)).time).toBe('2026-11-20T10:13:56Z');
  });

  it.each([
    ['stacks/live', ['templates/t.yaml']],
    ['./stacks//live/', ['templates/t.yaml']],
    ['stacks', ['README', 'live/templates/t.yaml']],
    ['stacks/README', []],
    ['nowhere', []],
  ])('starts at the directory %j', async (directory, paths) => {
    const { repository, open } = await setUp();
    const commit = await repository.commit({ 'stacks/live/templates/t.yaml': 't', 'stacks/README': 'r', top: 'x' });
    const source = await open({ directory });
    await source.fetch(null);
    expect([...(await source.snapshot(commit, ALL)).files.keys()]).toEqual(paths);
  });

  it('lists a file over the limit without reading it', async () => {
    const { repository, open } = await setUp();
    const commit = await repository.commit({ large: 'x'.repeat(1024 * 1024 + 1), fits: 'y'.repeat(1024 * 1024) });
    const source = await open();
    await source.fetch(null);
    const { files, blobs } = await source.snapshot(commit, ALL);
    expect([...files.keys()]).toEqual(['fits', 'large']);
    expect([...blobs.keys()]).toEqual([files.get('fits')?.oid]);
  });

  it('refuses more files and directories than the limit, and says what to do', async () => {
    const { repository, open } = await setUp();
    const commit = await repository.commit({ 'a/b': '1', 'a/c': '2', d: '3' });
    const source = await open({ limits: { entriesMax: 3 } });
    await source.fetch(null);
    await expect(source.snapshot(commit, ALL)).rejects.toThrow(/more than 3 files and directories: follow a directory/);
    await expect(source.snapshot(commit, ALL)).rejects.toBeInstanceOf(ContentError);
    await expect(source.snapshot('a'.repeat(40), ALL)).rejects.not.toBeInstanceOf(ContentError);
  });

  it('costs what changed: one file among 1,000 is one blob and the trees above it', async () => {
    const { repository, open } = await setUp();
    const instances = Array.from({ length: 1000 }, (_, i) => [`stacks/instances/g${i % 10}/i${i}.yaml`, `ip: ${i}\n`]);
    const first = await repository.commit(Object.fromEntries(instances));
    const source = await open();
    await source.fetch(null);
    const before = await source.snapshot(first, ALL);
    expect(source.counts).toEqual({ treesRead: 13, blobsRead: 1000 });

    const second = await repository.commit({ 'stacks/instances/g3/i13.yaml': 'ip: new\n' });
    await source.fetch(first);
    const after = await source.snapshot(second, (_, oid) => !before.blobs.has(oid));

    expect(source.counts).toEqual({ treesRead: 4, blobsRead: 1 });
    expect(Buffer.concat([...after.blobs.values()]).toString()).toBe('ip: new\n');
    expect(after.files.size).toBe(1000);
  });

  it('reads 10,000 small files well within 5 s', async () => {
    const { repository, open } = await setUp();
    const files = Array.from({ length: 10_000 }, (_, i) => [
      `stacks/instances/g${i % 20}/i${i}.yaml`,
      `ip: 10.0.0.${i}\n`,
    ]);
    const commit = await repository.commit(Object.fromEntries(files));
    const source = await open();
    await source.fetch(null);
    const started = performance.now();
    const { blobs } = await source.snapshot(commit, ALL);
    expect(blobs.size).toBe(10_000);
    expect(performance.now() - started).toBeLessThan(5000);
  });
});

describe('what a commit adds', () => {
  const select = (files: ReadonlyMap<string, { readonly oid: string }>): string[] =>
    [...files.values()].map(({ oid }) => oid);

  it('is found anywhere in the repository, with its content, by its path from the directory', async () => {
    const { repository, open } = await setUp();
    const same = { 'ops/a/kept': '1', 'other/kept': '1', 'ops/gone': 'g', 'ops/folder/x': 'x', 'ops/file': 'f' };
    const from = await repository.commit(same);
    const changes = { 'ops/gone': null, 'ops/a/kept': '2', 'ops/folder/x': null, 'ops/folder': 'now a file' };
    const news = { 'ops/a/new': 'n', 'other/b/new': 'o', root: 'r', 'ops/file': null, 'ops/file/in': 'i' };
    const to = await repository.commit({ ...changes, ...news });
    const source = await open({ directory: 'ops' });
    await source.fetch(null);
    const { files, blobs } = await source.added({ from, to, select });
    const texts = [...files].map(([path, { oid }]) => [path, Buffer.from(blobs.get(oid) ?? '').toString()]);
    expect(Object.fromEntries(texts)).toEqual({
      'a/new': 'n',
      'file/in': 'i',
      folder: 'now a file',
      '../other/b/new': 'o',
      '../root': 'r',
    });
    const elsewhere = await source.added({ from, to, directory: 'other', select: () => [] });
    expect([...elsewhere.files.keys()].sort()).toEqual([
      '../ops/a/new',
      '../ops/file/in',
      '../ops/folder',
      '../root',
      'b/new',
    ]);
    expect(elsewhere.blobs.size).toBe(0);
    expect((await source.added({ from: to, to, select })).files.size).toBe(0);
    expect((await source.added({ from: 'f'.repeat(40), to, select })).files.size).toBe(0);
  });

  it('is cut off beyond the limit', async () => {
    const { repository, open } = await setUp();
    const from = await repository.commit({ a: '1' });
    const to = await repository.commit({ b: '1', c: '1', d: '1', 'e/f': '1' });
    const source = await open({ limits: { entriesMax: 4 } });
    await source.fetch(null);
    expect([...(await source.added({ from, to, select })).files.keys()]).toEqual(['b', 'c', 'd']);
  });
});

describe('fetch', () => {
  it('brings new commits, merges and their messages', async () => {
    const { repository, copy, open } = await setUp();
    const base = await repository.commit({ a: '1' });
    const source = await open();
    expect(await source.fetch(null)).toMatchObject({ oid: base, parents: [], message: 'change' });

    const ours = await repository.commit({ a: '2' });
    const theirs = await repository.commit({ b: '1' }, { branch: 'topic', parents: [base] });
    const merge = await repository.commit({ b: '1' }, { parents: [ours, theirs], message: 'Merge\n\nTrailer: 3\n' });

    const head = await source.fetch(base);
    expect(head).toMatchObject({ oid: merge, parents: [ours, theirs], message: 'Merge\n\nTrailer: 3\n' });
    expect(await source.describe(merge)).toEqual(head);
    expect(await source.describe(theirs)).toMatchObject({ oid: theirs, parents: [base] });
    expect(await fsck(copy)).toBe('');
  });

  it('leaves the copy alone where nothing moved', async () => {
    const { repository, copy, open } = await setUp();
    const commit = await repository.commit({ a: '1' });
    const source = await open();
    await source.fetch(null);
    const packs = await readdir(join(copy, 'objects', 'pack'));
    expect((await source.fetch(commit)).oid).toBe(commit);
    expect(await readdir(join(copy, 'objects', 'pack'))).toEqual(packs);
  });

  it('follows a force push, there and back', async () => {
    const { repository, copy, open } = await setUp();
    const base = await repository.commit({ a: '1' });
    const source = await open();
    const old = await repository.commit({ a: '2' });
    await source.fetch(null);

    const rewritten = await repository.commit({ a: '3' }, { parents: [base] });
    expect((await source.fetch(old)).oid).toBe(rewritten);
    expect(await source.isAncestor(old, rewritten)).toBe(false);
    expect(await source.isRelated(old, rewritten)).toBe(true);
    expect(await textsOf(source, old)).toEqual({ a: '2' });

    await repository.git('update-ref', 'refs/heads/main', old);
    expect((await source.fetch(rewritten)).oid).toBe(old);
    expect(await readFile(join(copy, 'refs/heads/followed'), 'utf8')).toBe(`${old}\n`);
    expect(await fsck(copy)).not.toContain('missing');
  });

  it('takes a history that shares nothing with the one before', async () => {
    const { repository, open } = await setUp();
    const first = await repository.commit({ a: '1' });
    const source = await open();
    await source.fetch(null);
    const other = await repository.commit({ z: '26' }, { parents: [] });
    expect((await source.fetch(first)).oid).toBe(other);
    expect(await textsOf(source, other)).toEqual({ z: '26' });
    expect(await source.isAncestor(first, other)).toBe(false);
    expect([await source.isRelated(first, other), await source.isRelated(other, other)]).toEqual([false, true]);
  });

  it('reads a commit in another directory than the one that is followed', async () => {
    const { repository, open } = await setUp();
    const commit = await repository.commit({ 'tree.yaml': '1', 'infra/tree.yaml': '2', 'infra/a/b.yaml': '3' });
    const source = await open({ directory: './infra/' });
    await source.fetch(null);
    expect(source.place).toEqual({ url: repository.path, branch: 'main', directory: 'infra' });
    const pathsIn = async (directory?: string): Promise<string[]> => [
      ...(await source.snapshot(commit, ALL, directory)).files.keys(),
    ];
    expect(await pathsIn()).toEqual(['a/b.yaml', 'tree.yaml']);
    expect(await pathsIn('.')).toEqual(['infra/a/b.yaml', 'infra/tree.yaml', 'tree.yaml']);
    expect(await pathsIn('infra/a')).toEqual(['b.yaml']);
    expect(await pathsIn('gone')).toEqual([]);
  });

  it('is not led astray by a tag of the same name', async () => {
    const { repository, open } = await setUp();
    const first = await repository.commit({ a: '1' });
    await repository.git('tag', 'main', first);
    const head = await repository.commit({ a: '2' });
    expect((await (await open()).fetch(null)).oid).toBe(head);
  });

  it('goes on where another process left off, and fetches only what is new', async () => {
    const { repository, copy, open } = await setUp();
    const files = Array.from({ length: 50 }, (_, i) => [`f${i}`, `${i}`]);
    const first = await repository.commit({ ...Object.fromEntries(files), a: 'one' });
    await (await open()).fetch(null);
    const second = await repository.commit({ a: 'two' });
    await (await open()).fetch(first);
    // 51 files, a tree and a commit; then one of each.
    expect(await runGit(['-C', copy, 'count-objects', '-v'])).toMatch(/in-pack: 56\npacks: 2\n/);
    expect((await textsOf(await open(), second)).a).toBe('two');
  });

  it('makes the copy anew when packs pile up', async () => {
    const { repository, copy, open } = await setUp();
    const source = await open({ limits: { packsMax: 2 } });
    const counts: number[] = [];
    let commit = '';
    for (const text of ['1', '2', '3', '4']) {
      commit = await repository.commit({ a: text });
      await source.fetch(null);
      counts.push((await readdir(join(copy, 'objects', 'pack'))).filter((name) => name.endsWith('.idx')).length);
    }
    expect(counts).toEqual([1, 2, 1, 2]);
    expect(await textsOf(source, commit)).toEqual({ a: '4' });
    expect(await readdir(join(copy, '..'))).toEqual(['repository.git']);
  });

  it('serves fetches that are asked for at once, one after the other', async () => {
    const { repository, open } = await setUp();
    const commit = await repository.commit({ a: '1' });
    const source = await open();
    const heads = await Promise.all([source.fetch(null), source.fetch(null), source.fetch(null)]);
    expect(heads.map((head) => head.oid)).toEqual([commit, commit, commit]);
  });

  it('writes nothing to the repository that it follows', async () => {
    const { repository, open } = await setUp();
    await repository.commit({ a: '1' });
    const list = () => execFileSync('find', [repository.path, '-printf', '%p %T@ %s\n']).toString().split('\n').sort();
    const before = list();
    await (await open()).fetch(null);
    expect(list()).toEqual(before);
  });

  it('ends at once when the source is closed, and is refused afterwards', async () => {
    const { repository, open } = await setUp();
    const commit = await repository.commit({ a: '1' });
    const source = await open();
    await source.fetch(null);
    const running = source.fetch(null);
    const refused = expect(running).rejects.toThrow('the source is closed');
    await source.close();
    await refused;
    await expect(source.fetch(null)).rejects.toThrow('the source is closed');
    expect(await textsOf(source, commit)).toEqual({ a: '1' });
    await source.close();
  });
});

describe('a failing fetch', () => {
  it('names the branches where the followed one is missing, and the likely one', async () => {
    const { repository, open } = await setUp();
    await repository.commit({ a: '1' }, { branch: 'mian' });
    await repository.commit({ a: '1' }, { branch: 'topic/x' });
    const source = await open();
    await expect(source.fetch(null)).rejects.toThrow(
      `"${repository.path}" has no branch "main"; did you mean "mian"? (its branches: mian, topic/x)`,
    );
  });

  it('keeps what it has when the branch is deleted', async () => {
    const { repository, open } = await setUp();
    const commit = await repository.commit({ a: '1' });
    await repository.git('branch', 'other');
    const source = await open();
    await source.fetch(null);
    await repository.git('update-ref', '-d', 'refs/heads/main');
    await expect(source.fetch(commit)).rejects.toThrow(/has no branch "main" \(its branches: other\)/);
    expect(await textsOf(source, commit)).toEqual({ a: '1' });
  });

  it('tells an empty repository from one without the branch', async () => {
    const { open } = await setUp();
    await expect((await open()).fetch(null)).rejects.toThrow(
      /has no commits yet: push the first one to its branch "main"/,
    );
  });

  it('refuses SHA-256 repositories', async () => {
    const path = join(temporaryDirectory(), 'sha256.git');
    await runGit(['init', '--quiet', '--bare', '--object-format=sha256', '--initial-branch=main', path]);
    const source = await createGitSource({ url: path, branch: 'main', directory: '.', cache: `${path}-cache` });
    await expect(source.fetch(null)).rejects.toThrow(/is a SHA-256 repository, which Treeline cannot read/);
    const commit =
      'commit refs/heads/main\ncommitter T <t@example.org> 1 +0000\ndata 1\nx\nM 100644 inline a\ndata 1\nx\n';
    await runGit(['-C', path, 'fast-import', '--quiet'], Buffer.from(commit));
    await expect(source.fetch(null)).rejects.toThrow(/is a SHA-256 repository, which Treeline cannot read/);
  });

  it.each([
    ['that is not there', 'nowhere', /there is no directory ".*nowhere": check the URL/],
    ['that is no repository', '.', /is not a Git repository: name a bare repository/],
  ])('says what is wrong with a path %s', async (_, name, message) => {
    const source = await createGitSource({
      url: join(temporaryDirectory(), name),
      branch: 'main',
      directory: '.',
      cache: temporaryDirectory(),
    });
    await expect(source.fetch(null)).rejects.toThrow(message);
    await expect(source.fetch(null)).rejects.toBeInstanceOf(SourceError);
  });

  it('passes on what git says of a damaged repository', async () => {
    const { repository, open } = await setUp();
    const commit = await repository.commit({ a: '1' });
    await rm(join(repository.path, 'objects', commit.slice(0, 2), commit.slice(2)));
    await expect((await open()).fetch(null)).rejects.toBeInstanceOf(SourceError);
  });

  it.runIf(process.getuid?.() === 0)('reads a repository that belongs to somebody else', async () => {
    const { repository, open } = await setUp({ bare: false, name: 'theirs' });
    const commit = await repository.commit({ a: '1' });
    for (const path of [repository.path, join(repository.path, '.git')]) await chown(path, 65_534, 65_534);
    expect((await (await open()).fetch(null)).oid).toBe(commit);
  });

  it.runIf(process.getuid?.() !== 0)('says who lacks permission', async () => {
    const { repository, open } = await setUp();
    await repository.commit({ a: '1' });
    await chmod(repository.path, 0);
    await expect((await open()).fetch(null)).rejects.toThrow(/allow the user that runs Treeline to read it/);
    await chmod(repository.path, 0o700);
  });

  it.each([
    [{ url: 'ftp://git.example/x.git' }, /is no repository that can be followed/],
    [{ url: 'https://u:secret@git.example/x.git' }, /write the URL without/],
    [{ branch: '../main' }, /is no name of a branch/],
    [{ branch: '' }, /is no name of a branch/],
    [{ branch: 'a b' }, /is no name of a branch/],
    [{ branch: 'x.lock' }, /is no name of a branch/],
    [{ directory: '../x' }, /is no directory of the repository/],
    [{ directory: '/stacks' }, /is no directory of the repository/],
  ])('is told at once where the options %j can never work', async (options, message) => {
    const { open } = await setUp();
    await expect(open(options)).rejects.toThrow(message);
  });
});

describe('the local copy', () => {
  it('has the commits that were fetched, and forgets with its folder those that are nowhere else', async () => {
    const { repository, cache, open } = await setUp();
    const old = await repository.commit({ a: '1' });
    const source = await open();
    expect(await source.has(old)).toBe(false);
    await source.fetch(null);
    expect([await source.has(old), await source.has('0'.repeat(40)), await source.has('no id')]).toEqual([
      true,
      false,
      false,
    ]);
    const anew = await repository.commit({ a: '2' }, { parents: [] });
    await source.fetch(old);
    expect([await source.has(old), await source.has(anew)]).toEqual([true, true]);
    await rm(cache, { recursive: true });
    const again = await open();
    await again.fetch(old);
    expect([await again.has(old), await again.has(anew)]).toEqual([false, true]);
  });

  it('is for its owner only, whatever the umask, and so is one of before', async () => {
    const { repository, cache, open } = await setUp();
    const before = process.umask(0);
    try {
      for (const text of ['1', '2']) {
        await repository.commit({ a: text });
        await (await open()).fetch(null);
        const entries = await readdir(cache, { recursive: true, withFileTypes: true });
        for (const entry of entries) {
          const { mode } = await stat(join(entry.parentPath, entry.name));
          expect(`${entry.name} ${(mode & 0o777).toString(8)}`).toBe(`${entry.name} ${entry.isFile() ? 600 : 700}`);
        }
        expect((await stat(cache)).mode & 0o777).toBe(0o700);
        await Promise.all([cache, join(cache, 'repository.git')].map((folder) => chmod(folder, 0o755)));
      }
    } finally {
      process.umask(before);
    }
  });
});

describe('a local copy that cannot be written', () => {
  /** Every write of this name fails as on a full disk. */
  const fill = (path: string): Promise<void> => symlink('/dev/full', path);

  it('says so with its path, is not taken for damaged, and goes on with what it has', async () => {
    const { repository, cache, copy, open } = await setUp();
    await repository.commit({ a: '1' });
    const lines: string[] = [];
    const source = await open({ log: createLog('info', { write: (line) => lines.push(line) }) });
    await source.fetch(null);
    const head = await repository.commit({ a: '2' });
    const written = join(copy, 'followed.new');
    await fill(written);
    const full = `the local copy of the repository in ${cache} cannot be written: ENOSPC: no space left on device, write`;
    // The first one brings the objects, the second finds them.
    for (const _ of [1, 2]) await expect(source.fetch(null)).rejects.toThrow(full);
    await rm(written);
    expect((await source.fetch(null)).oid).toBe(head);
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['fetched']);
    expect(await fsck(copy)).toBe('');
  });

  it.each([
    ['stops git', 'fatal: write error: No space left on device', 'No space left on device'],
    ['is read-only', "fatal: cannot create 'pack': Read-only file system", 'Read-only file system'],
  ])('says so where it %s', async (_, words, reason) => {
    const { repository, cache, open } = await setUp();
    await repository.commit({ a: '1' });
    const folder = temporaryDirectory();
    const real = execFileSync('sh', ['-c', 'command -v git']).toString().trim();
    const script = `#!/bin/sh\ncase "$*" in *index-pack*) cat > /dev/null; echo "${words}" >&2; exit 128 ;; esac\nexec ${real} "$@"\n`;
    await writeFile(join(folder, 'git'), script, { mode: 0o755 });
    vi.stubEnv('PATH', `${folder}:${process.env.PATH}`);
    const source = await open();
    await expect(source.fetch(null)).rejects.toThrow(
      `the local copy of the repository in ${cache} cannot be written: ${reason}`,
    );
    await source.close();
  });

  it('says so where its directory cannot be made', async () => {
    const { repository, cache, open } = await setUp();
    await repository.commit({ a: '1' });
    await writeFile(cache, 'a file');
    await expect((await open()).fetch(null)).rejects.toThrow(
      `the local copy of the repository in ${cache} cannot be written: EEXIST`,
    );
  });

  it('tells once a minute of commits that it cannot take', async () => {
    const { repository, copy, open } = await setUp();
    let base = await repository.commit({ a: '0' });
    const lines: string[] = [];
    const source = await open({ log: createLog('warn', { write: (line) => lines.push(line) }) });
    const publisher = createGitPublisher({ url: repository.path, branch: 'main', directory: '.', source });
    await source.fetch(null);
    await fill(join(copy, 'objects', 'pack', 'tmp_own'));
    for (const text of ['1', '2', '3']) {
      const prepared = await prepareWith(publisher, base, [newCommit({ a: text })]);
      source.offer(prepared);
      await publisher.push(prepared);
      base = String(prepared.commits.at(-1));
      expect(await source.adopt(base)).toBe(false);
      expect((await source.fetch(null)).oid).toBe(base);
    }
    expect(lines.map((line) => JSON.parse(line).err.message)).toEqual([
      expect.stringContaining('ENOSPC: no space left on device, write'),
    ]);
    await source.close();
  });
});

describe('a damaged local copy', () => {
  async function packOf(copy: string, ending: string): Promise<string> {
    const folder = join(copy, 'objects', 'pack');
    const [name] = (await readdir(folder)).filter((file) => file.endsWith(ending));
    return join(folder, name ?? '');
  }

  async function flip(path: string, at: number): Promise<void> {
    const bytes = await readFile(path);
    bytes.writeUInt8(bytes.readUInt8(at) ^ 0xff, at);
    await chmod(path, 0o600);
    await writeFile(path, bytes);
  }

  it.each<[string, (copy: string) => Promise<void>]>([
    ['a flipped byte in the pack', async (copy) => flip(await packOf(copy, '.pack'), 40)],
    ['a flipped byte in the index', async (copy) => flip(await packOf(copy, '.idx'), 1100)],
    ['a pack cut off', async (copy) => truncate(await packOf(copy, '.pack'), 50)],
    ['a missing pack', async (copy) => rm(await packOf(copy, '.pack'))],
    ['a missing index', async (copy) => rm(await packOf(copy, '.idx'))],
    ['a missing ref', async (copy) => rm(join(copy, 'refs/heads/followed'))],
    ['an empty ref', async (copy) => writeFile(join(copy, 'refs/heads/followed'), '')],
    ['a missing copy', async (copy) => rm(copy, { recursive: true })],
  ])('is healed at the next start: %s', async (_, damage) => {
    const { repository, copy, open } = await setUp();
    const commit = await repository.commit({ a: 'one', b: 'two' });
    await (await open()).fetch(null);
    await damage(copy);
    const source = await open();
    expect((await source.fetch(commit)).oid).toBe(commit);
    expect(await textsOf(source, commit)).toEqual({ a: 'one', b: 'two' });
    expect(await fsck(copy)).toBe('');
  });

  it('is noticed when an object is read, and healed at the next fetch', async () => {
    const { repository, copy, open } = await setUp();
    const commit = await repository.commit({ a: 'x'.repeat(1000) });
    const source = await open();
    await source.fetch(null);
    await flip(await packOf(copy, '.pack'), 20);
    await expect(textsOf(source, commit)).rejects.toThrow(/local copy of the repository is damaged/);
    await source.fetch(commit);
    expect(await textsOf(source, commit)).toEqual({ a: 'x'.repeat(1000) });
  });

  it('is not touched while the repository cannot be reached', async () => {
    const { repository, copy, open } = await setUp();
    const commit = await repository.commit({ a: '1' });
    await (await open()).fetch(null);
    await flip(await packOf(copy, '.pack'), 40);
    await rm(repository.path, { recursive: true });
    const source = await open();
    await expect(source.fetch(commit)).rejects.toBeInstanceOf(SourceError);
    expect(await readdir(join(copy, 'objects', 'pack'))).toHaveLength(2);
  });

  it('loses what a killed process left half done', async () => {
    const { repository, cache, open } = await setUp();
    await repository.commit({ a: '1' });
    for (const name of ['quarantine-old', 'push-of-a-former-version'])
      await mkdir(join(cache, name, 'objects'), { recursive: true });
    await (await open()).fetch(null);
    expect(await readdir(cache)).toEqual(['repository.git']);
  });
});

describe('isAncestor', () => {
  it('follows all parents and both directions', async () => {
    const { repository, open } = await setUp();
    const base = await repository.commit({ a: '1' });
    const ours = await repository.commit({ a: '2' });
    const theirs = await repository.commit({ b: '1' }, { branch: 'topic', parents: [base] });
    const merge = await repository.commit({ b: '1' }, { parents: [ours, theirs] });
    const source = await open();
    await source.fetch(null);
    const cases = [
      [merge, merge, true],
      [theirs, merge, true],
      [base, merge, true],
      [merge, base, false],
      [ours, theirs, false],
      ['0'.repeat(40), merge, false],
    ] as const;
    for (const [ancestor, descendant, expected] of cases) {
      for (const forReader of [false, true]) {
        const isBefore = await source.isAncestor(ancestor, descendant, forReader);
        expect(isBefore, `${ancestor} before ${descendant}`).toBe(expected);
      }
    }
  });

  it('is false of what is no commit, and leaves the copy alone', async () => {
    const { repository, copy, open } = await setUp();
    const commit = await repository.commit({ a: '1' });
    const source = await open();
    await source.fetch(null);
    const before = (await stat(copy)).ino;
    for (const name of [`${commit}^{tree}`, `${commit}:a`]) {
      const stranger = await repository.git('rev-parse', name);
      expect(await source.isAncestor(stranger, commit)).toBe(false);
      expect(await source.has(stranger)).toBe(false);
      await expect(source.describe(stranger)).rejects.toThrow(/is not here/);
    }
    await source.fetch(null);
    expect((await stat(copy)).ino).toBe(before);
  });

  it.each(['0'.repeat(40), 'main', ''])('refuses a descendant that is not here: %j', async (commit) => {
    const { repository, open } = await setUp();
    const head = await repository.commit({ a: '1' });
    const source = await open();
    await expect(source.isAncestor(head, commit)).rejects.toThrow(/is not here/);
    await expect(source.snapshot(commit, ALL)).rejects.toThrow(/is not here/);
    await expect(source.describe(commit)).rejects.toThrow(/is not here/);
  });
});

describe('a shallow clone', () => {
  const SHALLOW =
    /shallow\.git" is a shallow clone and lacks older commits, which are needed: run "git fetch --unshallow" in it/;

  it.each([
    ['on this machine', async (path: string) => path, SHALLOW],
    ['over HTTP', async (path: string) => (await startGitHttpServer({ repository: path })).url, SHALLOW],
    [
      'over ssh',
      async (path: string) => {
        await fakeSsh();
        return `ssh://git@git.example${path}`;
      },
      SHALLOW,
    ],
  ])('%s is called one, with what to do', async (_name, urlOf, said) => {
    const folder = temporaryDirectory();
    const repository = await createGitRepository(join(folder, 'whole.git'));
    for (const a of ['1', '2', '3']) await repository.commit({ a });
    const path = join(folder, 'shallow.git');
    await runGit(['clone', '--quiet', '--bare', '--depth', '1', `file://${repository.path}`, path]);
    const cache = join(folder, 'cache');
    const source = await createGitSource({ url: await urlOf(path), branch: 'main', directory: '.', cache });
    await expect(source.fetch(null)).rejects.toThrow(said);
    await runGit(['-C', path, 'fetch', '--quiet', '--unshallow']);
    expect((await source.fetch(null)).oid).toBe(await repository.head());
  });
});
