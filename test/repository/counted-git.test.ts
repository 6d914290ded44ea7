// Counts the programs that a poll runs. A `git` on the PATH notes its arguments and runs the real one.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { constants, getPriority } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ObjectReader } from '../../src/repository/git/object-reader.ts';
import { createGitPublisher } from '../../src/repository/git-publisher.ts';
import { createGitSource, type GitSource, type GitSourceOptions } from '../../src/repository/git-source.ts';
import type { Publisher } from '../../src/repository/publisher.ts';
import { createGitRepository, type GitRepository } from '../support/git-repository.ts';
import { newCommit, prepareWith } from '../support/published-repository.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const ALL = (): boolean => true;

let repository: GitRepository;
let place: GitSourceOptions;
let source: GitSource;
let publisher: Publisher;
let noted: string;
/** Each verification of a pack with its priority, once it has ended. */
let ended: string;

beforeEach(async () => {
  const folder = temporaryDirectory();
  const real = execFileSync('sh', ['-c', 'command -v git']).toString().trim();
  noted = join(folder, 'noted');
  ended = join(folder, 'ended');
  writeFileSync(noted, '');
  repository = await createGitRepository(join(folder, 'stacks.git'));
  await repository.commit({ 'a.yaml': 'a: 1\n', 'b.yaml': 'b: 1\n' });
  place = { url: repository.path, branch: 'main', directory: '.', cache: join(folder, 'cache') };
  source = await createGitSource(place);
  publisher = createGitPublisher({ ...place, source });
  writeFileSync(
    join(folder, 'git'),
    `#!/bin/sh\necho "$*" >> ${noted}\ncase "$*" in *index-pack*) ;; *) exec ${real} "$@" ;; esac\n${real} "$@"\ncode=$?\necho "$(nice) $*" >> ${ended}\nexit $code\n`,
    { mode: 0o755 },
  );
  vi.stubEnv('PATH', `${folder}:${process.env.PATH}`);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await source.close();
});

/** Returns what git was asked meanwhile, without its settings. */
async function gitOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  writeFileSync(noted, '');
  await work();
  const commands =
    /((upload|receive)-pack --stateless-rpc( --advertise-refs)?|index-pack|cat-file --batch(-check)?|merge-base|rev-list)(?= |$)/;
  return readFileSync(noted, 'utf8')
    .trim()
    .split('\n')
    .map((line) => commands.exec(line)?.[0] ?? line);
}

/** As the follower does it. */
async function follow(from: string): Promise<void> {
  const { oid } = await source.fetch(from);
  expect(await source.isAncestor(from, oid)).toBe(true);
  await source.commitsBetween(from, oid, 1000);
  await source.snapshot(oid, ALL);
  expect(await source.isAncestor(oid, oid)).toBe(true);
}

describe('what readers ask', () => {
  it('is answered by processes that the follower does not use, and a commit that is not here costs one look', async () => {
    const first = (await source.fetch(null)).oid;
    await source.snapshot(first, ALL);
    const unknown = '0'.repeat(40);
    expect(await gitOf(() => source.isAncestor(unknown, first, true))).toEqual(['cat-file --batch-check']);
    for (let count = 0; count < 3; count += 1) {
      expect(await gitOf(() => source.isAncestor(unknown, first, true))).toEqual(['']);
    }
    const limits = { commitsMax: 10, timeoutMs: 10_000 };
    expect(await gitOf(() => source.lastChanges(first, ['a.yaml'], limits))).toEqual(['cat-file --batch']);
    expect(await gitOf(() => source.describe(first))).toEqual(['']);
  });

  it('is answered of the newest commit as soon as that is fetched', async () => {
    const first = (await source.fetch(null)).oid;
    expect(await source.isAncestor(first, first, true)).toBe(true);
    const second = await repository.commit({ 'a.yaml': 'a: 2\n' });
    expect(await source.isAncestor(second, first, true)).toBe(false);
    await source.fetch(first);
    expect(await source.isAncestor(first, second, true)).toBe(true);
    expect(await source.isAncestor(second, second, true)).toBe(true);
  });
});

describe('a poll', () => {
  it('that finds nothing new reads where the branch is, and begins no process', async () => {
    const { oid } = await source.fetch(null);
    expect(await gitOf(() => source.fetch(oid))).toEqual(['']);
  });

  it('of a branch that is packed asks git where it is, and opens no pack', async () => {
    const { oid } = await source.fetch(null);
    await repository.git('pack-refs', '--all');
    expect(await gitOf(() => source.fetch(oid))).toEqual(['upload-pack --stateless-rpc --advertise-refs']);
  });

  it('that finds a commit fetches once, opens the packs once, and looks through no history', async () => {
    const { oid } = await source.fetch(null);
    await repository.commit({ 'a.yaml': 'a: 2\n' });
    // Two of them run at once, so that their order says nothing.
    const asked = await gitOf(() => follow(oid));
    expect(asked.toSorted()).toEqual([
      // For the commit that the next ones build on, and later for new objects.
      'cat-file --batch',
      'cat-file --batch-check',
      'index-pack',
      'upload-pack --stateless-rpc',
    ]);
  });

  it('that finds several commits in a line begins no process for each of them', async () => {
    const { oid } = await source.fetch(null);
    for (const text of ['2', '3', '4']) await repository.commit({ 'a.yaml': `a: ${text}\n` });
    const asked = await gitOf(() => follow(oid));
    expect(asked.filter((line) => line === 'merge-base' || line === 'rev-list')).toEqual([]);
    expect(asked.filter((line) => line.startsWith('cat-file'))).toHaveLength(2);
  });

  it('that finds a merge looks through the history once for each question', async () => {
    const { oid } = await source.fetch(null);
    const theirs = await repository.commit({ 'b.yaml': 'b: 2\n' }, { branch: 'topic', parents: [oid] });
    const ours = await repository.commit({ 'a.yaml': 'a: 2\n' });
    await repository.commit({ 'b.yaml': 'b: 2\n' }, { parents: [ours, theirs] });
    const asked = await gitOf(() => follow(oid));
    expect(asked.filter((line) => line === 'merge-base' || line === 'rev-list')).toEqual(['merge-base', 'rev-list']);
  });
});

describe('git that is prepared', () => {
  async function again(): Promise<GitSource> {
    await source.close();
    return await createGitSource(place);
  }

  it('reads the first commit, and is begun once', async () => {
    const { oid } = await source.fetch(null);
    source = await again();
    const asked = await gitOf(async () => {
      source.prepare();
      expect((await source.snapshot(oid, ALL)).blobs.size).toBe(2);
    });
    expect(asked.toSorted()).toEqual(['cat-file --batch', 'cat-file --batch-check']);
  });

  it('is not begun where there is no copy yet', async () => {
    expect(await gitOf(async () => source.prepare())).toEqual(['']);
    expect((await source.fetch(null)).oid).toBe(await repository.head());
  });
});

describe('the verification of a pack', () => {
  /** Returns by how much its priority is lower than this process's. */
  function givenWay(): readonly number[] {
    const lines = readFileSync(ended, 'utf8').split('\n');
    const runs = lines.filter((line) => line.includes(' index-pack '));
    return runs.map((line) => Number.parseInt(line, 10) - getPriority());
  }

  it('gives way to this process, except where there is nothing yet that it could serve', async () => {
    const { oid } = await source.fetch(null);
    expect(givenWay()).toEqual([0]);
    await repository.commit({ 'a.yaml': 'a: 2\n' });
    await source.fetch(oid);
    expect(givenWay().slice(1)).toEqual([constants.priority.PRIORITY_BELOW_NORMAL]);
  });
});

describe('commits that are pushed and followed', () => {
  /** As writing does it, and then the follower. Returns the new head. */
  async function publish(base: string, names: readonly string[]): Promise<string> {
    const commits = names.map((name) => newCommit({ [`${name}.yaml`]: `of: ${base}\n` }));
    const prepared = await prepareWith(publisher, base, commits);
    source.offer(prepared);
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
    const head = prepared.commits.at(-1) ?? base;
    expect(await source.adopt(head)).toBe(true);
    await source.commitsBetween(base, head, 1000);
    await source.snapshot(head, ALL);
    return head;
  }

  it.each([1, 20])('%s at once: one push, and nothing is asked for or fetched back', async (count) => {
    const { oid } = await source.fetch(null);
    let head = await publish(oid, ['first']);
    const names = Array.from({ length: count }, (_, index) => `file-${index}`);
    const asked = await gitOf(async () => {
      head = await publish(head, names);
    });
    expect(asked).toEqual(['receive-pack --stateless-rpc']);
    expect(await gitOf(() => source.fetch(head))).toEqual(['']);
  });

  it('are read once each, although the follower asks for them twice', async () => {
    const { oid } = await source.fetch(null);
    const head = await publish(
      oid,
      Array.from({ length: 20 }, (_, index) => `file-${index}`),
    );
    const next = await publish(
      head,
      Array.from({ length: 20 }, (_, index) => `next-${index}`),
    );
    const reads = vi.spyOn(ObjectReader.prototype, 'readCommit');
    for (const [from, to] of [
      [oid, head],
      [head, next],
    ] as const) {
      reads.mockClear();
      expect(await source.isAncestor(from, to)).toBe(true);
      expect(await source.commitsBetween(from, to, 1000)).toHaveLength(20);
      // All but the last one, which both ask for by name.
      expect(reads).toHaveBeenCalledTimes(19);
    }
    reads.mockRestore();
  });

  it('the first time, the remote is asked for its abilities', async () => {
    const { oid } = await source.fetch(null);
    const asked = await gitOf(() => publish(oid, ['first']));
    expect(asked.filter((line) => line.startsWith('receive-pack'))).toEqual([
      'receive-pack --stateless-rpc --advertise-refs',
      'receive-pack --stateless-rpc',
    ]);
  });
});
