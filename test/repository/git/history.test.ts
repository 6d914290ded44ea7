// A long history, asked through git.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { isReachable, newCommits } from '../../../src/repository/git/history.ts';
import { DamagedCopyError } from '../../../src/repository/git/object-reader.ts';
import { createGitRepository, type GitRepository, runGit } from '../../support/git-repository.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const COMMITS = 30_000;
const PARENTS = 12_000;
const NONE = '1'.repeat(40);

afterEach(() => {
  vi.unstubAllEnvs();
});

async function longHistory(): Promise<{ repository: GitRepository; first: string; last: string; unrelated: string }> {
  const repository = await createGitRepository(join(temporaryDirectory(), 'long.git'));
  const first = await repository.commit({ a: '1' });
  const line = Array.from({ length: COMMITS }, (_, n) => {
    const parent = n === 0 ? `from ${first}\n` : '';
    return `commit refs/heads/main\ncommitter T <t@example.org> ${1_800_000_001 + n} +0000\ndata 1\nx\n${parent}\n`;
  });
  await runGit(['-C', repository.path, 'fast-import', '--quiet'], Buffer.from(line.join('')));
  const unrelated = await repository.commit({ b: '1' }, { branch: 'other', parents: [] });
  return { repository, first, last: await repository.head(), unrelated };
}

describe('a history of 30,000 commits', () => {
  it('is gone back through within seconds, whatever the answer', async () => {
    const { repository, first, last, unrelated } = await longHistory();
    const question = { gitDirectory: repository.path, timeoutMs: 15_000 };
    expect(await isReachable(question, { ancestor: first, descendant: last })).toBe(true);
    expect(await isReachable(question, { ancestor: unrelated, descendant: last })).toBe(false);
    const between = await newCommits(question, { from: first, to: last, countMax: 10 });
    expect(between.join('\n')).toBe(await repository.git('rev-list', '--max-count=10', 'main'));
    expect(await newCommits(question, { from: last, to: first, countMax: 10 })).toEqual([]);
  });
});

it('what is new behind thousands of parents is found, newest first', async () => {
  const repository = await createGitRepository(join(temporaryDirectory(), 'wide.git'));
  const from = await repository.commit({ a: '1' });
  const roots = Array.from({ length: PARENTS }, (_, n) => {
    return `reset refs/heads/r\n\ncommit refs/heads/r\nmark :${n + 1}\ncommitter T <t@example.org> ${1_700_000_000 + n} +0000\ndata 1\nx\n\n`;
  });
  const merges = Array.from({ length: PARENTS }, (_, n) => `merge :${n + 1}\n`).join('');
  const merge = `commit refs/heads/main\ncommitter T <t@example.org> 1900000000 +0000\ndata 1\nx\nfrom ${from}\n${merges}\n`;
  await runGit(['-C', repository.path, 'fast-import', '--quiet'], Buffer.from(roots.join('') + merge));
  const to = await repository.head();
  const found = await newCommits({ gitDirectory: repository.path, timeoutMs: 15_000 }, { from, to, countMax: 3 });
  const times = found.map((commit) => repository.git('log', '-1', '--format=%ct', commit));
  expect((await Promise.all(times)).map(Number)).toEqual([
    1_900_000_000,
    1_700_000_000 + PARENTS - 1,
    1_700_000_000 + PARENTS - 2,
  ]);
});

describe('git that looks through a history', () => {
  it('tells damage from an answer', async () => {
    const repository = await createGitRepository(join(temporaryDirectory(), 'small.git'));
    const commit = await repository.commit({ a: '1' });
    const question = { gitDirectory: repository.path, timeoutMs: 15_000 };
    await expect(isReachable(question, { ancestor: NONE, descendant: commit })).rejects.toThrow(DamagedCopyError);
    await expect(newCommits(question, { from: NONE, to: commit, countMax: 1 })).rejects.toThrow(DamagedCopyError);
  });

  it('is ended where it takes too long', async () => {
    const bin = temporaryDirectory();
    writeFileSync(join(bin, 'git'), '#!/bin/sh\nexec sleep 600\n');
    chmodSync(join(bin, 'git'), 0o755);
    vi.stubEnv('PATH', `${bin}:${process.env.PATH}`);
    const question = { gitDirectory: bin, timeoutMs: 100 };
    const asked = isReachable(question, { ancestor: NONE, descendant: NONE });
    await expect(asked).rejects.toThrow('git found no answer within 0.1 s');
  });
});
