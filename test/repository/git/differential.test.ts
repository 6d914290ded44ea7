// Random repositories, read and written here and by the real git: modes, renames, merges, deltas, several packs. Git says what
// is right.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { FileMode } from '../../../src/model/snapshot.ts';
import { createGitPublisher } from '../../../src/repository/git-publisher.ts';
import { createGitSource, type GitSource } from '../../../src/repository/git-source.ts';
import { countRuns } from '../../support/count-runs.ts';
import { createGitRepository, type FileChange, type GitRepository, runGit } from '../../support/git-repository.ts';
import { newCommit } from '../../support/published-repository.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const ALL = (): boolean => true;
const NOBODY = '0'.repeat(40);
const LONG = Array.from({ length: 60 }, (_, n) => `line ${n}\n`);

const path = fc
  .array(fc.constantFrom('a', 'b', 'a.b', 'a-b', 'ab', 'A', 'ö', 'x y'), { minLength: 1, maxLength: 3 })
  .map((steps) => steps.join('/'));
/** Some that make good deltas of one another, and some that do not. */
const content = fc.oneof(
  fc.nat(59).map((at) => LONG.with(at, 'changed\n').join('')),
  fc.string({ unit: 'grapheme', maxLength: 50 }),
  fc.constant(''),
);
const mode = fc.constantFrom<FileMode>('100644', '100755', '120000');
const change = fc.oneof(
  fc.record({ path, change: fc.record({ mode, content }) }),
  fc.record({ path, change: fc.constant({ mode: '160000' as const, content: '1'.repeat(40) }) }),
  fc.record({ path, change: fc.constant(null) }),
  fc.record({ path, from: path }),
);
type Change = { readonly path: string; readonly change?: FileChange; readonly from?: string };

const history = fc.array(
  fc.record({
    changes: fc.array(change as fc.Arbitrary<Change>, { minLength: 1, maxLength: 4 }),
    // Where it differs from the commit before, this is a second parent.
    other: fc.nat(20),
    isFetched: fc.boolean(),
    packing: fc.constantFrom([], ['repack', '-dq'], ['repack', '-adfq', '--depth=50', '--window=50']),
  }),
  { minLength: 4, maxLength: 8 },
);

type Listed = ReadonlyMap<string, { readonly mode: string; readonly oid: string }>;

async function filesByGit(repository: GitRepository, commit: string): Promise<Listed> {
  const printed = await repository.git('ls-tree', '-r', '-z', '--full-tree', commit);
  const lines = printed.split('\0').filter((line) => line !== '');
  return new Map(
    lines.map((line) => {
      const [, fileMode = '', oid = '', name = ''] = /^(\d+) \w+ (\w+)\t(.*)$/su.exec(line) ?? [];
      return [name, { mode: fileMode, oid }];
    }),
  );
}

/** Makes the commits, packs them as they come, and fetches now and then. */
async function build(
  repository: GitRepository,
  source: GitSource,
  steps: readonly {
    readonly changes: readonly Change[];
    other: number;
    isFetched: boolean;
    packing: readonly string[];
  }[],
): Promise<readonly string[]> {
  const commits: string[] = [];
  for (const { changes, other, isFetched, packing } of steps) {
    const head = commits.at(-1);
    const files = head === undefined ? new Map() : await filesByGit(repository, head);
    const made: Record<string, FileChange> = {};
    for (const { path: name, change: to, from } of changes) {
      const moved = from === undefined ? undefined : files.get(from);
      if (to !== undefined) made[name] = to;
      else if (from !== undefined && moved !== undefined && moved.mode !== '160000') {
        made[from] = null;
        made[name] = {
          mode: moved.mode,
          content: await runGit(['-C', repository.path, 'cat-file', 'blob', moved.oid]),
        };
      }
    }
    const second = commits[other];
    const parents = [head, second === head ? undefined : second].filter((parent) => parent !== undefined);
    commits.push(await repository.commit(made, { parents, message: `step ${commits.length}\n\nwords\n` }));
    if (packing.length > 0) await repository.git(...packing);
    if (isFetched) await source.fetch(null);
  }
  await source.fetch(null);
  return commits;
}

async function expectRead(repository: GitRepository, source: GitSource, commits: readonly string[]): Promise<void> {
  for (const commit of commits) {
    const { files, blobs } = await source.snapshot(commit, ALL);
    expect(new Map(files)).toEqual(await filesByGit(repository, commit));
    for (const [oid, bytes] of blobs) {
      // What hashes to the id that git lists is what git holds.
      const hash = createHash('sha1').update(`blob ${bytes.length}\0`);
      expect(hash.update(bytes).digest('hex')).toBe(oid);
    }
    const regular = [...files.values()].filter((file) => file.mode.startsWith('100'));
    expect(new Set(blobs.keys())).toEqual(new Set(regular.map(({ oid }) => oid)));
    const { parents, time, message } = await source.describe(commit);
    const described = [parents.join(' '), Date.parse(time) / 1000, message].join('\n');
    expect(described.trim()).toBe(await repository.git('log', '-1', '--format=%P%n%ct%n%B', commit));
  }
}

async function expectHistory(repository: GitRepository, source: GitSource, commits: readonly string[]): Promise<void> {
  for (const [index, to] of commits.entries()) {
    const from = commits[(index * 5 + 2) % commits.length] ?? to;
    const base = await repository.git('merge-base', from, to).catch(() => '');
    expect(await source.isAncestor(from, to)).toBe(base === from);
    const between = (await source.commitsBetween(from, to, 100)).map(({ oid }) => oid);
    expect(between.join('\n')).toBe(await repository.git('rev-list', `${from}..${to}`));
  }
}

/** The same edits through git's index; null where they do not fit. */
async function treeByGit(repository: GitRepository, head: string, edits: Readonly<Record<string, string | null>>) {
  const files = new Map(await filesByGit(repository, head));
  const wanted = Object.keys(edits);
  const fits = wanted.every((name) => {
    const found = files.get(name)?.mode;
    const isFree = found === undefined || found.startsWith('100') || edits[name] === null;
    const above = name.split('/').map((_, at, steps) => steps.slice(0, at).join('/'));
    const isClear = [...files.keys()].every((one) => !one.startsWith(`${name}/`) && !above.includes(one));
    return isFree && isClear;
  });
  if (!fits) return null;
  await repository.git('read-tree', head);
  for (const [name, text] of Object.entries(edits)) {
    const oid =
      text === null ? NOBODY : await runGit(['-C', repository.path, 'hash-object', '-w', '--stdin'], Buffer.from(text));
    const line = text === null ? `0 ${oid}\t${name}` : `${files.get(name)?.mode ?? '100644'} ${oid}\t${name}`;
    await runGit(['-C', repository.path, 'update-index', '-z', '--index-info'], Buffer.from(`${line}\0`));
  }
  return await repository.git('write-tree');
}

it('random repositories are read and written as the real git does', async () => {
  const edits = fc
    .dictionary(path, fc.option(content, { freq: 3 }), { minKeys: 1, maxKeys: 4 })
    .filter((all) => Object.keys(all).every((one) => !Object.keys(all).some((other) => other.startsWith(`${one}/`))));
  await fc.assert(
    fc.asyncProperty(history, fc.array(edits, { minLength: 6, maxLength: 6 }), async (steps, rounds) => {
      const folder = temporaryDirectory();
      const repository = await createGitRepository(join(folder, 'stacks.git'));
      const place = { url: repository.path, branch: 'main', directory: '.', cache: join(folder, 'cache') };
      const source = await createGitSource(place);
      const commits = await build(repository, source, steps);
      await expectRead(repository, source, commits);
      await expectHistory(repository, source, commits);
      const publisher = createGitPublisher({ ...place, source });
      const head = commits.at(-1) ?? '';
      for (const [index, round] of rounds.entries()) {
        const tree = await treeByGit(repository, head, round);
        const prepared = await publisher.prepare(head, [newCommit(round)]);
        expect(prepared.is).toBe(tree === null ? 'refused' : 'prepared');
        if (prepared.is !== 'prepared') continue;
        expect(await publisher.push(prepared, `round-${index}`)).toEqual({ is: 'pushed' });
        expect(await repository.git('rev-parse', `round-${index}^{tree}`)).toBe(tree);
      }
      await repository.git('fsck', '--full', '--strict', '--no-dangling', '--connectivity-only');
      await source.close();
    }),
    { numRuns: countRuns(5) },
  );
}, 180_000);
