// Commits made in memory, looked at by the real git once they are pushed to a local repository.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createGitPublisher } from '../../src/repository/git-publisher.ts';
import type { NewCommit } from '../../src/repository/publisher.ts';
import { countRuns } from '../support/count-runs.ts';
import { type FileChanges, runGit } from '../support/git-repository.ts';
import { NOW, newCommit, type PublishedRepository, prepareWith, publishTo } from '../support/published-repository.ts';

interface Published extends PublishedRepository {
  /** Pushes commits and returns the last one's files, a line each as `git ls-tree` writes them, without their ids. */
  publish(...commits: readonly NewCommit[]): Promise<readonly string[]>;
  contentOf(path: string): Promise<string>;
}

async function published(files?: FileChanges, directory = '.'): Promise<Published> {
  const repository = await publishTo(({ path }) => ({ url: path, directory }), files === undefined ? {} : { files });
  const { publisher, base, expectIntact } = repository;
  const git = repository.repository.git;
  return {
    ...repository,
    async publish(...commits) {
      expect(await publisher.push(await prepareWith(publisher, base, commits))).toEqual({ is: 'pushed' });
      await expectIntact();
      const listed = await git('ls-tree', '-r', '-z', 'main');
      return listed.split('\0').flatMap((line) => (line === '' ? [] : [line.replace(/ \w+ \w+\t/, ' ')]));
    },
    contentOf: (path) => git('show', `main:${path}`),
  };
}

describe('the files of a commit', () => {
  it('are changed, added and removed, and the others stay', async () => {
    const { publish, contentOf } = await published({ a: '1', 'b/x': '2', 'b/y': '3', 'c/d/e': '4' });
    const files = await publish(newCommit({ a: 'one\n', 'b/x': null, 'c/d/f': 'ü', 'n/e/w': '' }));
    expect(files).toEqual(['100644 a', '100644 b/y', '100644 c/d/e', '100644 c/d/f', '100644 n/e/w']);
    expect(await contentOf('a')).toBe('one');
    expect(await contentOf('c/d/f')).toBe('ü');
  });

  it('keep the executable bit', async () => {
    const { publish, contentOf } = await published({ run: { mode: '100755', content: 'old' } });
    expect(await publish(newCommit({ run: 'new', walk: 'new' }))).toEqual(['100755 run', '100644 walk']);
    expect(await contentOf('run')).toBe('new');
  });

  it('take their directories with them when the last one goes', async () => {
    const { publish, repository } = await published({ keep: '', 'a/b/c/d': '1', 'a/b/e': '2', 'f/g': '3' });
    const files = await publish(newCommit({ 'a/b/c/d': null }), newCommit({ 'a/b/e': null, 'f/g': null }));
    expect(files).toEqual(['100644 keep']);
    expect(await repository.git('ls-tree', 'main~1', 'a/b/')).not.toContain('a/b/c');
  });

  it('may all go', async () => {
    const { publish } = await published({ 'a/b': '1' });
    expect(await publish(newCommit({ 'a/b': null }))).toEqual([]);
  });

  it('may become a directory, and a directory a file', async () => {
    const { publish } = await published({ a: '1', 'b/c': '2' });
    const files = await publish(newCommit({ a: null, 'a/x': '1', 'b/c': null }), newCommit({ b: '2' }));
    expect(files).toEqual(['100644 a/x', '100644 b']);
  });

  it('stand in Git’s order, in which a directory counts with a slash', async () => {
    const { publish } = await published({ 'a/z': '1', 'a.b': '2' });
    const files = await publish(newCommit({ 'a-b': '1', a0: '1', ä: '1', 'a/y': '1', 'a.b': '3' }));
    expect(files).toEqual(['100644 a-b', '100644 a.b', '100644 a/y', '100644 a/z', '100644 a0', '100644 ä']);
  });

  it('are below the directory of the layout, also where it is not there yet', async () => {
    const inside = await published({ top: '1', 'infra/stacks/tree.yaml': '1' }, 'infra/stacks');
    expect(await inside.publish(newCommit({ 'tree.yaml': '2', 'a/b': '3' }))).toEqual([
      '100644 infra/stacks/a/b',
      '100644 infra/stacks/tree.yaml',
      '100644 top',
    ]);
    const absent = await published({ top: '1' }, './infra/');
    expect(await absent.publish(newCommit({ a: '2' }))).toEqual(['100644 infra/a', '100644 top']);
  });

  it('that are removed and were not there change nothing', async () => {
    const { publish, repository } = await published({ a: '1' });
    await publish(newCommit({ b: null, 'c/d': null, a: '1' }));
    expect(await repository.git('rev-parse', 'main^{tree}')).toBe(await repository.git('rev-parse', 'main~1^{tree}'));
  });

  it('may have names that are no UTF-8, symbolic links and submodules beside them', async () => {
    const { repository, source, publisher, expectIntact } = await published();
    const link = { mode: '120000', content: 'a' } as const;
    const module = { mode: '160000', content: '1'.repeat(40) } as const;
    await repository.commit({ link, module, 'd/a': '1' });
    const git = ['-C', repository.path];
    const blob = await repository.git('rev-parse', 'main:d/a');
    const entries = Buffer.concat([Buffer.from(`100644 blob ${blob}\tx`), Buffer.of(0xff, 0xfe, 0)]);
    const tree = await runGit([...git, 'mktree', '-z'], entries);
    const listed = await repository.git('ls-tree', 'main');
    const root = await runGit([...git, 'mktree'], Buffer.from(`${listed}\n040000 tree ${tree}\tz\n`));
    const odd = await repository.git('commit-tree', root, '-p', 'main', '-m', 'odd');
    await repository.git('update-ref', 'refs/heads/main', odd);
    await source.fetch(null);
    expect(await publisher.push(await prepareWith(publisher, odd, [newCommit({ 'z/n': '', 'd/b': '' })]))).toEqual({
      is: 'pushed',
    });
    await expectIntact();
    const changed = await repository.git('diff-tree', '-r', '--name-status', odd, 'main');
    expect(changed).toBe('A\td/b\nA\tz/n');
  });

  it('are what git itself makes of the same files', async () => {
    const step = fc.constantFrom('a', 'b', 'a.b', 'a-b', 'ab', 'A', 'ö');
    const path = fc.array(step, { minLength: 1, maxLength: 3 }).map((steps) => steps.join('/'));
    const edits = fc.dictionary(path, fc.option(fc.constantFrom('1', '2', '3'), { freq: 2 }), {
      minKeys: 1,
      maxKeys: 4,
    });
    const files = { keep: '', 'a/b/c': '0' };
    const { repository, publisher, base, expectIntact } = await published(files);
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(edits, { minLength: 8, maxLength: 8 }), async (rounds) => {
        const branch = `run-${runs++}`;
        let commits: readonly NewCommit[] = [newCommit({})];
        let wanted: Readonly<Record<string, string | null>> = files;
        for (const round of rounds) {
          const more = [...commits, newCommit(round)];
          // A file where a directory is, and the other way round, is refused.
          const fits = await prepareWith(publisher, base, more).then(
            () => true,
            () => false,
          );
          if (!fits) continue;
          commits = more;
          wanted = { ...wanted, ...round };
        }
        const left = Object.fromEntries(Object.entries(wanted).filter(([, text]) => text !== null));
        await repository.commit(left, { branch: `${branch}-twin`, parents: [] });
        await publisher.push(await prepareWith(publisher, base, commits), branch);
        expect(await repository.git('rev-parse', `${branch}^{tree}`)).toBe(
          await repository.git('rev-parse', `${branch}-twin^{tree}`),
        );
      }),
      { numRuns: countRuns(8) },
    );
    await expectIntact();
  });
});

describe('what cannot be a file there', () => {
  it.each([
    ['a directory', { d: '1' }, /has a directory at "d", where a file would have to be/],
    ['a directory that is to go', { d: null }, /has a directory at "d"/],
    ['below a file', { 'f/x': '1' }, /has a file at "f", where a directory/],
    ['a symbolic link', { link: '1' }, /has a symbolic link at "link"/],
    ['below a symbolic link', { 'link/x': '1' }, /has a symbolic link at "link", where a directory/],
    ['a submodule', { module: '1' }, /has a submodule at "module"/],
  ])('is refused: %s', async (_, edits, message) => {
    const { publisher, base } = await published({
      ...{ 'd/e': '1', f: '1', link: { mode: '120000', content: 'f' } },
      module: { mode: '160000', content: '1'.repeat(40) },
    });
    const refused = { is: 'refused', reason: expect.stringMatching(message) };
    expect(await publisher.prepare(base, [newCommit(edits)])).toEqual(refused);
  });

  it('may be removed, if it is a link or a submodule', async () => {
    const { publish } = await published({ a: '', link: { mode: '120000', content: 'a' } });
    expect(await publish(newCommit({ link: null }))).toEqual(['100644 a']);
  });
});

describe('names that no tree may hold', () => {
  it.each([
    ...['', '/a', 'a/', 'a//b', '.', '../a', 'a/../b', 'a\\b', 'a\nb', 'a\0b', 'a\x7fb', '\ud800', 'x'.repeat(256)],
    ...['.git', 'a/.git/config', '.GIT', 'git~1', 'GIT~2/x', '.git ', '.git.', '.git::$INDEX_ALLOCATION', '.g\u200cit'],
    'a/'.repeat(64).concat('b'),
  ])('are refused: %j', async (path) => {
    const { publisher, base } = await published();
    await expect(prepareWith(publisher, base, [newCommit({ [path]: '1' })])).rejects.toThrow(/invariant broken/);
  });

  it('are not those that only look like it', async () => {
    const { publish } = await published({});
    const names = ['.gitignore', 'a..b', 'git~', 'github', '...'];
    const edits = Object.fromEntries(names.map((name) => [name, '1']));
    expect((await publish(newCommit(edits))).map((line) => line.slice(7))).toEqual([...names].sort());
  });
});

describe('the log', () => {
  it('tells author, committer, time and message as given', async () => {
    const { publish, repository } = await published();
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

  it('names another committer where one is set', async () => {
    const committer = { name: 'Stacks', email: 'stacks@example.org' };
    const { publisher, repository, prepare } = await publishTo(({ path }) => ({ url: path, committer }));
    await publisher.push(await prepare());
    expect(await repository.git('log', '-1', '--format=%cn <%ce>')).toBe('Stacks <stacks@example.org>');
  });

  it('tells many commits in their order, each on the one before', async () => {
    const { publish, repository, base } = await published();
    const commits = Array.from({ length: 50 }, (_, n) => newCommit({ [`f/${n % 7}`]: String(n) }, `Write ${n}`));
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
    ['message', 'a\0b'],
    ['message', '\n'],
    ['message', '\ud800'],
  ])('cannot be forged by the %s %j', async (field, value) => {
    const { publisher, base } = await published();
    const commit = { ...newCommit({ a: '1' }), [field]: value };
    await expect(prepareWith(publisher, base, [commit])).rejects.toThrow(/invariant broken/);
  });

  it('cannot be forged by the committer', async () => {
    const { source, repository, cache } = await published();
    const options = { url: repository.path, branch: 'main', directory: '.', cache, source };
    const committer = { name: 'a\n', email: 'e' };
    expect(() => createGitPublisher({ ...options, committer })).toThrow(/invariant broken/);
  });
});

describe('preparing', () => {
  it('touches nothing, and the same is the same', async () => {
    const { prepare, base, headOf, repository } = await published();
    const [one, two] = [await prepare(), await prepare()];
    expect(one).toEqual(two);
    expect(await headOf()).toBe(base);
    await expect(repository.git('cat-file', '-e', String(one.commits[0]))).rejects.toThrow();
  });

  it('needs the base, a commit, and a text', async () => {
    const { publisher, base } = await published();
    expect(await publisher.prepare('1'.repeat(40), [newCommit({ a: '1' })])).toEqual({
      is: 'not sent',
      reason: expect.stringMatching(/commit "1{40}" is not here/),
    });
    await expect(prepareWith(publisher, base, [])).rejects.toThrow(/invariant broken/);
    await expect(prepareWith(publisher, base, [newCommit({ a: '\ud800' })])).rejects.toThrow(/invariant broken/);
  });

  it('makes a pack of what is new alone', async () => {
    const { publisher, base, cache } = await published({ 'a/b/c': '1', 'd/e': '2', f: 'x'.repeat(10_000) });
    const { pack, commits } = await prepareWith(publisher, base, [
      newCommit({ 'a/b/c': '3' }),
      newCommit({ 'a/b/c': '4' }),
    ]);
    expect(Buffer.from(pack).readUInt32BE(8)).toBe(2 * (1 + 3 + 1));
    expect(pack.length).toBeLessThan(2_000);
    const indexed = await runGit(['--git-dir', `${cache}/repository.git`, 'index-pack', '--stdin', '--strict'], pack);
    expect(indexed).toMatch(/^pack\t/);
    expect(await runGit(['--git-dir', `${cache}/repository.git`, 'cat-file', '-t', String(commits[1])])).toBe('commit');
  });

  it('writes large files', async () => {
    const { publish, contentOf } = await published();
    const text = Array.from({ length: 100_000 }, (_, n) => `line ${n}`).join('\n');
    await publish(newCommit({ large: text }));
    expect(await contentOf('large')).toBe(text);
  });
});
