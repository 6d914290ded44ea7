// The source as its callers see it, on real repositories.
import { execFileSync } from 'node:child_process';
import { chmod, chown, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createGitSource, type GitSource, type GitSourceOptions } from '../../src/repository/git-source.ts';
import { ContentError } from '../../src/repository/source.ts';
import { startGitHttpServer } from '../support/git-http-server.ts';
import { createGitRepository, type GitRepository, runGit } from '../support/git-repository.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

const ALL = () => true;

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

/** Returns a folder with the programs of git, of which one is replaced by a script. */
async function execPathWith(folder: string, command: string, script: string): Promise<string> {
  const real = execFileSync('git', ['--exec-path']).toString().trim();
  const path = join(folder, 'exec');
  await mkdir(path);
  for (const name of await readdir(real)) await symlink(join(real, name), join(path, name));
  for (const name of ['git', `git-${command}`]) {
    await rm(join(path, name), { force: true });
    await writeFile(join(path, name), script.replace('"$*"', '"$0 $*"'), { mode: 0o755 });
  }
  return path;
}

async function fsck(copy: string): Promise<string> {
  return await runGit(['-C', copy, 'fsck', '--full', '--strict', '--no-progress', '--no-dangling']);
}

describe('the local copy of a running controller', () => {
  it.each(['cache', 'copy'] as const)('creates deleted files again: the %s', async (which) => {
    const setup = await setUp();
    const { repository, open } = setup;
    await repository.commit({ 'tree.yaml': 'name: global\n' });
    const source = await open();
    await source.fetch(null);
    await rm(setup[which], { recursive: true });
    const commit = await repository.commit({ 'tree.yaml': 'name: all\n' });
    expect((await source.fetch(null)).oid).toBe(commit);
    expect(await textsOf(source, commit)).toEqual({ 'tree.yaml': 'name: all\n' });
    expect((await readdir(setup.cache)).sort()).toEqual(['git.config', 'repository.git']);
  });
});

describe('the last change of a file', () => {
  it('is searched below the followed directory, within the time limit', async () => {
    const { repository, open } = await setUp();
    const first = await repository.commit({ 'ops/stacks/a.yaml': 'a: 1', 'a.yaml': 'a: 1' });
    const second = await repository.commit({ 'ops/stacks/b.yaml': 'b: 1', 'a.yaml': 'a: 2' });
    const source = await open({ directory: 'ops/stacks' });
    await source.fetch(null);
    const paths = ['a.yaml', 'b.yaml', 'c.yaml'];
    const all = await source.lastChanges(second, paths, 60_000);
    expect([...all].map(([path, change]) => [path, change?.oid]).toSorted()).toEqual([
      ['a.yaml', first],
      ['b.yaml', second],
    ]);
    const late = await source.lastChanges(second, paths, 0);
    expect(late.get('b.yaml')).toBeNull();
    await source.close();
  });
});

describe('a snapshot', () => {
  it.each([
    ['a bare repository', { bare: true }],
    ['a work tree', { bare: false, name: 'stacks' }],
    ['a path with spaces and quotes', { name: `my "stacks' repository.git` }],
  ])('contains the files of %s', async (_, options) => {
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

  it('distinguishes modes, and reads regular files only', async () => {
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

  it('starts at the followed directory', async () => {
    const { repository, open } = await setUp();
    const commit = await repository.commit({ 'stacks/live/templates/t.yaml': 't', 'stacks/README': 'r', top: 'x' });
    const source = await open({ directory: './stacks//live/' });
    await source.fetch(null);
    expect(source.place).toEqual({ url: repository.path, branch: 'main', directory: 'stacks/live' });
    for (const [directory, paths] of [
      [undefined, ['templates/t.yaml']],
      ['.', ['stacks/README', 'stacks/live/templates/t.yaml', 'top']],
      ['stacks', ['README', 'live/templates/t.yaml']],
      ['stacks/README', []],
      ['nowhere', []],
    ] as const) {
      expect([...(await source.snapshot(commit, ALL, directory)).files.keys()]).toEqual(paths);
    }
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

  it('refuses more files than the limit, and says what to do', async () => {
    const { repository, open } = await setUp();
    const commit = await repository.commit({ 'a/b': '1', 'a/c': '2', d: '3' });
    const source = await open({ limits: { entriesMax: 2 } });
    await source.fetch(null);
    await expect(source.snapshot(commit, ALL)).rejects.toThrow(/more than 2 files: follow a directory/);
    await expect(source.snapshot(commit, ALL)).rejects.toBeInstanceOf(ContentError);
    await expect(source.snapshot('a'.repeat(40), ALL)).rejects.not.toBeInstanceOf(ContentError);
  });
});

describe('fetch', () => {
  it('returns new commits, merges and their messages', async () => {
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

  it('follows a force push, and another one back', async () => {
    const { repository, copy, open } = await setUp();
    const base = await repository.commit({ a: '1' });
    const source = await open();
    const old = await repository.commit({ a: '2' });
    await source.fetch(null);

    const rewritten = await repository.commit({ a: '3' }, { parents: [base] });
    expect((await source.fetch(old)).oid).toBe(rewritten);
    expect(await source.isAncestor(old, rewritten)).toBe(false);
    expect(await textsOf(source, old)).toEqual({ a: '2' });

    await repository.git('update-ref', 'refs/heads/main', old);
    expect((await source.fetch(rewritten)).oid).toBe(old);
    expect(await runGit(['-C', copy, 'rev-parse', 'refs/treeline/head'])).toBe(old);
    expect(await fsck(copy)).not.toContain('missing');
  });

  it('writes nothing to the followed repository', async () => {
    const { repository, open } = await setUp();
    await repository.commit({ a: '1' });
    const list = () => execFileSync('find', [repository.path, '-printf', '%p %T@ %s\n']).toString().split('\n').sort();
    const before = list();
    await (await open()).fetch(null);
    expect(list()).toEqual(before);
  });

  it('ends when the source is closed, and is refused afterwards', async () => {
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
  it('distinguishes an empty repository from one without the branch', async () => {
    const { open } = await setUp();
    await expect((await open()).fetch(null)).rejects.toThrow(
      /has no commits yet: push the first one to its branch "main"/,
    );
  });

  it('follows a SHA-256 repository', async () => {
    const folder = temporaryDirectory();
    const path = join(folder, 'sha256.git');
    await runGit(['init', '--quiet', '--bare', '--object-format=sha256', '--initial-branch=main', path]);
    const commit = (text: string): Buffer =>
      Buffer.from(`commit refs/heads/main\ncommitter T <t@x> 1 +0000\ndata 1\nx\nM 100644 inline a\ndata 1\n${text}\n`);
    await runGit(['-C', path, 'fast-import', '--quiet'], commit('x'));
    const server = await startGitHttpServer({ repository: path });
    for (const [url, text] of [path, server.url].entries()) {
      const cache = join(folder, `cache-${url}`);
      const source = await createGitSource({ url: text, branch: 'main', directory: '.', cache });
      const first = (await source.fetch(null)).oid;
      expect(first).toHaveLength(64);
      expect(Object.keys(await textsOf(source, first))).toEqual(['a']);
      await runGit(
        ['-C', path, 'fast-import', '--quiet', '--force'],
        Buffer.concat([Buffer.from('reset refs/heads/main\nfrom refs/heads/main^0\n\n'), commit(`${url}`)]),
      );
      const { oid, parents } = await source.fetch(first);
      expect(parents).toEqual([first]);
      expect(await source.isAncestor(first, oid)).toBe(true);
      expect((await source.lastChanges(oid, ['a'], 60_000)).get('a')?.oid).toBe(oid);
      await source.close();
    }
  });

  it.runIf(process.getuid?.() === 0)('reads a repository of another user', async () => {
    const { repository, open } = await setUp({ bare: false, name: 'theirs' });
    const commit = await repository.commit({ a: '1' });
    for (const path of [repository.path, join(repository.path, '.git')]) await chown(path, 65_534, 65_534);
    expect((await (await open()).fetch(null)).oid).toBe(commit);
  });

  it.each([
    [{ url: 'https://u:secret@git.example/x.git' }, /write the URL without/],
    [{ branch: '../main' }, /is not a branch name/],
    [{ branch: '' }, /is not a branch name/],
    [{ branch: 'a b' }, /is not a branch name/],
    [{ branch: 'x.lock' }, /is not a branch name/],
    [{ directory: '../x' }, /cannot be a directory of the repository/],
  ])('fails immediately with the unusable options %j', async (options, message) => {
    const { open } = await setUp();
    await expect(open(options)).rejects.toThrow(message);
  });
});

describe('the local copy', () => {
  it('has the fetched commits, and loses them with its folder', async () => {
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

  it('is for its owner only with any umask, also an earlier one', async () => {
    const { repository, cache, open } = await setUp();
    const before = process.umask(0);
    try {
      for (const text of ['1', '2']) {
        await repository.commit({ a: text });
        await (await open()).fetch(null);
        const entries = await readdir(cache, { recursive: true, withFileTypes: true });
        for (const entry of entries) {
          const { mode } = await stat(join(entry.parentPath, entry.name));
          const wanted = entry.isFile() ? 0o600 : 0o700;
          expect(`${entry.name} ${(mode & wanted & 0o777).toString(8)} ${(mode & 0o077).toString(8)}`).toMatch(/ 0$/);
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
  it.each([
    ['fatal: unable to write file objects/pack/tmp_pack: No space left on device'],
    ['fatal: write error: Disk quota exceeded; fatal: fetch-pack: invalid index-pack output'],
  ])('reports it and keeps its head: %s', async (words) => {
    const command = 'index-pack';
    const { repository, cache, copy, open } = await setUp();
    const old = await repository.commit({ a: '1' });
    await (await open()).fetch(null);
    const folder = temporaryDirectory();
    const real = execFileSync('sh', ['-c', 'command -v git']).toString().trim();
    const fails = `cat > /dev/null; touch ${join(copy, 'objects', 'tmp_obj_x')}; echo "${words}" >&2; exit 128`;
    const script = `#!/bin/sh\ncase "$*" in *${command}*) ${fails} ;; esac\nexec ${real} "$@"\n`;
    await writeFile(join(folder, 'git'), script, { mode: 0o755 });
    const head = await repository.commit({ b: '1' });
    vi.stubEnv('PATH', `${folder}:${process.env.PATH}`);
    vi.stubEnv('GIT_EXEC_PATH', await execPathWith(folder, command, script));
    const source = await open();
    await expect(source.fetch(old)).rejects.toThrow(
      `cannot be read, because the disk of ${cache} is full: free space on it; it is tried again (git: ${words}`,
    );
    expect(await runGit(['-C', copy, 'rev-parse', 'refs/treeline/head'])).toBe(old);
    expect(await readdir(join(copy, 'objects'))).not.toContain('tmp_obj_x');
    vi.unstubAllEnvs();
    expect((await (await open()).fetch(old)).oid).toBe(head);
    await source.close();
  });

  it('reports it if its directory cannot be created', async () => {
    const { repository, cache, open } = await setUp();
    await repository.commit({ a: '1' });
    await writeFile(cache, 'a file');
    await expect((await open()).fetch(null)).rejects.toThrow(
      `git's configuration in ${cache} cannot be written: EEXIST`,
    );
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
    ['an empty ref', async (copy) => writeFile(join(copy, 'refs/treeline/head'), '')],
    ['a missing copy', async (copy) => rm(copy, { recursive: true })],
  ])('is repaired at the next start: %s', async (_, damage) => {
    const { repository, copy, open } = await setUp();
    const commit = await repository.commit({ a: 'one', b: 'two' });
    await (await open()).fetch(null);
    await runGit(['-C', copy, 'repack', '-adq']);
    await damage(copy);
    const source = await open();
    expect((await source.fetch(commit)).oid).toBe(commit);
    expect(await textsOf(source, commit)).toEqual({ a: 'one', b: 'two' });
    expect(await fsck(copy)).toBe('');
  });

  it('is fetched again by the next poll if a running controller misses its newest commit', async () => {
    const { repository, copy, open } = await setUp();
    const commit = await repository.commit({ a: 'one' });
    const source = await open();
    await source.fetch(null);
    await rm(join(copy, 'HEAD'));
    await expect(source.describe(commit)).rejects.toThrow(/it lacks the newest commit .*the next poll fetches it/);
    await source.fetch(commit);
    expect(await textsOf(source, commit)).toEqual({ a: 'one' });
  });

  it('is kept if the branch no longer has the followed commit', async () => {
    const { repository, copy, open } = await setUp();
    const followed = await repository.commit({ a: 'x'.repeat(1000) });
    const source = await open();
    await source.fetch(null);
    await runGit(['-C', copy, 'repack', '-adq']);
    await flip(await packOf(copy, '.pack'), 20);
    await expect(textsOf(source, followed)).rejects.toThrow(/local copy of the repository is damaged/);
    await repository.commit({ a: '1' }, { parents: [] });
    await expect(source.fetch(followed)).rejects.toThrow(/no longer has the followed commit .*delete it to go on/);
    expect(await runGit(['-C', copy, 'rev-parse', 'refs/treeline/head'])).toBe(followed);
    await repository.git('update-ref', 'refs/heads/main', followed);
    await source.fetch(followed);
    expect(await textsOf(source, followed)).toEqual({ a: 'x'.repeat(1000) });
  });

  it('keeps the followed commit when git prunes, although the branch was rewritten', async () => {
    const { repository, copy, open } = await setUp();
    const followed = await repository.commit({ a: 'followed' });
    const source = await open();
    await source.fetch(null);
    await repository.commit({ a: 'rewritten' }, { parents: [] });
    await source.fetch(followed);
    await source.close();
    await runGit(['-C', copy, 'gc', '--quiet', '--prune=now']);
    expect(await textsOf(await open(), followed)).toEqual({ a: 'followed' });
  });

  it('loses locks and unfinished files of a killed git', async () => {
    const { repository, cache, copy, open } = await setUp();
    const old = await repository.commit({ a: '1' });
    await (await open()).fetch(null);
    const left = ['refs/treeline/head.lock', 'config.lock', 'objects/pack/tmp_pack_x', 'objects/tmp_obj_y'];
    for (const name of left) await writeFile(join(copy, name), '');
    await mkdir(join(cache, 'fresh.git'), { recursive: true });
    const head = await repository.commit({ a: '2' });
    expect((await (await open()).fetch(old)).oid).toBe(head);
    const names = await readdir(copy, { recursive: true });
    expect(names.filter((name) => left.includes(name))).toEqual([]);
  });
});

describe('isAncestor', () => {
  it('follows all parents in both directions', async () => {
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
      const isBefore = await source.isAncestor(ancestor, descendant);
      expect(isBefore, `${ancestor} before ${descendant}`).toBe(expected);
    }
  });

  it('starts no process for a commit a few commits back', async () => {
    const { repository, open } = await setUp();
    const base = await repository.commit({ a: '1' });
    for (let number = 2; number <= 9; number += 1) await repository.commit({ a: `${number}` });
    const source = await open();
    const head = await source.fetch(null);
    vi.stubEnv('PATH', temporaryDirectory());
    const isBefore = await source.isAncestor(base, head.oid).finally(() => vi.unstubAllEnvs());
    expect(isBefore).toBe(true);
  });

  it('returns false for ids that are not commits', async () => {
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

  it.each(['0'.repeat(40), 'main', ''])('refuses a missing descendant: %j', async (commit) => {
    const { repository, open } = await setUp();
    const head = await repository.commit({ a: '1' });
    const source = await open();
    await expect(source.isAncestor(head, commit)).rejects.toThrow(/is not here/);
    await expect(source.snapshot(commit, ALL)).rejects.toThrow(/is not here/);
    await expect(source.describe(commit)).rejects.toThrow(/is not here/);
  });
});
