// A git that goes on living, and one that does not: what it prints in pieces, and how it ends.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { CatFile, CatFileFailure } from '../../../src/repository/git/cat-file.ts';
import { AnswerReader, type ObjectAnswer } from '../../../src/repository/git/cat-file-answers.ts';
import { GitError } from '../../../src/repository/git/git-process.ts';
import { createGitRepository } from '../../support/git-repository.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const A = 'a'.repeat(40);
const OBJECTS = ['', 'x', 'two\nlines\n', `${A} blob 3\nabc\n`, '0'.repeat(70_000)];

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

/** Puts a shell script in the place of git, and returns what asks it about a repository. */
async function askedOf(script: string): Promise<CatFile> {
  const folder = temporaryDirectory();
  const { path } = await createGitRepository(join(folder, 'some.git'));
  writeFileSync(join(folder, 'git'), `#!/bin/sh\necho begun >> ${folder}/begun\n${script}\n`, { mode: 0o755 });
  vi.stubEnv('PATH', `${folder}:${process.env.PATH}`);
  return new CatFile({ gitDirectory: path, mode: '--batch', bytesMax: 100 });
}

describe('answers', () => {
  it('may come in pieces of any size', () => {
    const printed = Buffer.from(
      `${OBJECTS.map((text) => `${A} blob ${text.length}\n${text}\n`).join('')}${A} missing\n${A} tree 0\n\n`,
    );
    const cuts = fc.array(fc.nat(printed.length), { maxLength: 30 }).map((all) => [...all, 0].sort((a, b) => a - b));
    fc.assert(
      fc.property(cuts, (at) => {
        const reader = new AnswerReader({ hasContents: true, bytesMax: 60_000 });
        const answers = at.flatMap((start, index) => reader.push(printed.subarray(start, at[index + 1])));
        const read = answers.map((answer) => answer && { ...answer, bytes: answer.bytes?.toString() });
        expect(read).toEqual([
          // What is too large is passed over, and what follows it is read.
          ...OBJECTS.map((text) => ({
            ...{ type: 'blob', size: text.length },
            bytes: text.length > 60_000 ? undefined : text,
          })),
          undefined,
          { type: 'tree', size: 0, bytes: '' },
        ]);
      }),
    );
  });

  it('of sizes have no contents', () => {
    const reader = new AnswerReader({ hasContents: false, bytesMax: 0 });
    const none: ObjectAnswer = { type: 'blob', size: 9, bytes: null };
    expect(reader.push(Buffer.from(`${A} blob 9\n${A} missing\n`))).toEqual([none, undefined]);
  });

  it.each(['fatal: no\n', `${A} blob\n`, `${A} thing 3\nabc\n`, `${A} blob x\n`, 'x'.repeat(300)])(
    'that are none are refused: %j',
    (text) => {
      const reader = new AnswerReader({ hasContents: true, bytesMax: 100 });
      expect(() => reader.push(Buffer.from(text))).toThrow(new GitError('git prints no answer'));
    },
  );
});

describe('a git that', () => {
  it('ends is told with its words, by all who asked, and begun anew for the next', async () => {
    const catFile = await askedOf('read -r oid; echo "fatal: the disk is on fire" >&2; exit 128');
    for (const times of [1, 2]) {
      const endings = await Promise.allSettled([catFile.read(A), catFile.read(A)]);
      for (const ending of endings) {
        expect(ending).toMatchObject({ status: 'rejected', reason: expect.any(CatFileFailure) });
        expect(ending).toMatchObject({ reason: { message: expect.stringMatching(/ended with 128 .*on fire$/) } });
      }
      expect(catFile.startedCount).toBe(times);
    }
  });

  it('is killed tells nothing of the repository', async () => {
    const catFile = await askedOf('read -r oid; kill -9 $$');
    const asked = catFile.read(A);
    await expect(asked).rejects.toThrow(/ended with SIGKILL/);
    await expect(asked).rejects.not.toBeInstanceOf(CatFileFailure);
  });

  it('prints something else is ended', async () => {
    const catFile = await askedOf('echo hello; exec sleep 600');
    await expect(catFile.read(A)).rejects.toThrow('git prints no answer');
  });

  it('says nothing is given up', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const catFile = await askedOf('exec sleep 600');
    const asked = expect(catFile.read(A)).rejects.toThrow(/git did not answer within 60 s/);
    vi.advanceTimersByTime(75_000);
    await asked;
  });

  it('has nothing to do ends, and so does one that is closed once it has answered', async () => {
    const answering = `while read -r oid; do echo "$oid missing"; done; echo over >> $(dirname "$0")/over`;
    const catFile = await askedOf(answering);
    const over = (): string[] => readFileSync(join(process.env.PATH?.split(':')[0] ?? '', 'over'), 'utf8').split('\n');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    expect(await catFile.read(A)).toBeUndefined();
    vi.advanceTimersByTime(15_000);
    vi.useRealTimers();
    await vi.waitFor(() => expect(over()).toEqual(['over', '']), 20_000);
    const last = catFile.read(A);
    catFile.close();
    expect(await last).toBeUndefined();
    await vi.waitFor(() => expect(over()).toEqual(['over', 'over', '']), 20_000);
    expect(catFile.startedCount).toBe(2);
  });

  it('does not end when it is closed is killed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const folder = temporaryDirectory();
    const catFile = await askedOf(`echo $$ > ${folder}/pid; read oid; echo "$oid missing"; exec sleep 60`);
    expect(await catFile.read(A)).toBeUndefined();
    const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
    catFile.close();
    await vi.advanceTimersByTimeAsync(10_000);
    vi.useRealTimers();
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), 20_000);
  });

  it('is not installed is told so', async () => {
    const catFile = await askedOf('');
    vi.stubEnv('PATH', temporaryDirectory());
    await expect(catFile.read(A)).rejects.toThrow(/git is not installed, or not on the PATH/);
  });
});
