// Tests git that another process has started: the same streams, ends and failures as of one that was started here.
import { buffer } from 'node:stream/consumers';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { HelperClient } from '../../src/programs/helper-client.ts';
import { type ProgramStart, type RunningProgram, spawnProgram } from '../../src/programs/spawn-program.ts';
import { createGitRepository } from '../support/git-repository.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const { PATH = '' } = process.env;
/** Larger than what the streams and the pipes between two processes hold. */
const LARGE = Buffer.alloc(3 * 1024 * 1024, 'one line of text\n');

let helper: HelperClient | undefined;

afterEach(async () => {
  const { pid } = helper ?? {};
  helper = undefined;
  if (pid !== undefined) process.kill(pid, 'SIGKILL');
});

function gitWith(...args: readonly string[]): ProgramStart {
  return { command: ['git', ...args], environment: { PATH } };
}

function started(what: ProgramStart): RunningProgram {
  helper ??= new HelperClient();
  return helper.start(what);
}

type End = readonly [code: number | null, signal: string | null];

function endOf(git: RunningProgram): Promise<End> {
  return new Promise((resolve, reject) => {
    git.on('error', reject);
    git.on('close', (code, signal) => resolve([code, signal]));
  });
}

async function allOf(git: RunningProgram, input: Uint8Array = new Uint8Array()) {
  const end = endOf(git);
  git.stdin.on('error', () => git.stdin.destroy());
  git.stdin.end(input);
  const [output, complaint] = await Promise.all([buffer(git.stdout), buffer(git.stderr)]);
  return { output: output.toString(), complaint: complaint.toString(), end: await end };
}

async function repositoryWith(content: string): Promise<string> {
  const repository = await createGitRepository(temporaryDirectory());
  await repository.commit({ 'a.txt': content });
  return repository.path;
}

describe('git that was started elsewhere', () => {
  it.each([
    ['arguments that are too long', 'x'.repeat(3 * 1024 * 1024), 'E2BIG'],
    ['an argument that holds a NUL', 'a\0b', 'ERR_INVALID_ARG_VALUE'],
  ])('fails alone where it is not started: with %s', async (_, argument, code) => {
    const other = started(gitWith('hash-object', '--stdin'));
    await expect(endOf(started(gitWith('--version', argument)))).rejects.toMatchObject({ code });
    expect(await allOf(other, LARGE)).toMatchObject({ complaint: '', end: [0, null] });
  });

  it('reads its input and prints as here, however much that is', async () => {
    const here = spawnProgram(gitWith('hash-object', '--stdin'));
    here.stdin.end(LARGE);
    const hash = (await buffer(here.stdout)).toString();
    expect(await allOf(started(gitWith('hash-object', '--stdin')), LARGE)).toEqual({
      ...{ output: hash, complaint: '', end: [0, null] },
    });
    const path = await repositoryWith(LARGE.toString());
    const { output, end } = await allOf(started(gitWith('-C', path, 'cat-file', 'blob', 'main:a.txt')));
    expect([output === LARGE.toString(), end]).toEqual([true, [0, null]]);
  });

  it('answers in turn, several at a time', async () => {
    const path = await repositoryWith('x\n');
    const runs = Array.from({ length: 5 }, () => started(gitWith('-C', path, 'cat-file', '--batch-check')));
    const ends = runs.map(endOf);
    const outputs = runs.map(({ stdout }) => stdout[Symbol.asyncIterator]());
    for (let round = 0; round < 3; round += 1) {
      for (const [index, git] of runs.entries()) {
        git.stdin.write('main:a.txt\n');
        expect(String((await outputs[index]?.next())?.value)).toMatch(/^[0-9a-f]{40} blob 2\n$/);
      }
    }
    for (const [index, git] of runs.entries()) {
      git.stdin.end();
      git.stderr.resume();
      expect(await outputs[index]?.next()).toMatchObject({ done: true });
    }
    expect(await Promise.all(ends)).toEqual(runs.map(() => [0, null]));
  });

  it('gets what is written at once in few messages', async () => {
    const path = await repositoryWith('x\n');
    const git = started(gitWith('-C', path, 'cat-file', '--batch-check'));
    // Each call of one of these is a message, for whose answer the next one waits.
    const one = vi.spyOn(git.stdin, '_write');
    const several = vi.spyOn(git.stdin, '_writev');
    const end = endOf(git);
    for (let question = 0; question < 1000; question += 1) git.stdin.write('main:a.txt\n');
    git.stdin.end();
    git.stderr.resume();
    expect((await buffer(git.stdout)).toString().split('\n')).toHaveLength(1001);
    expect(await end).toEqual([0, null]);
    expect(one.mock.calls.length + several.mock.calls.length).toBeLessThanOrEqual(2);
  });

  it('tells its exit code and what it complains about', async () => {
    const { complaint, end } = await allOf(started(gitWith('-C', '/nowhere/at/all', 'status')));
    expect(end).toEqual([128, null]);
    expect(complaint).toContain('/nowhere/at/all');
  });

  it('may take no input', async () => {
    expect((await allOf(started(gitWith('--version')), LARGE)).end).toEqual([0, null]);
  });

  it('is ended with all that it has started, also where nobody reads what it prints', async () => {
    const path = await repositoryWith(LARGE.toString());
    const waiting = started(gitWith('-C', path, 'cat-file', '--batch'));
    const printing = started(gitWith('-C', path, 'cat-file', 'blob', 'main:a.txt'));
    await new Promise((resolve) => printing.stdout.once('readable', resolve));
    const ends = [waiting, printing].map(endOf);
    for (const git of [waiting, printing]) {
      git.end('SIGKILL');
      git.stdout.destroy();
      git.stderr.destroy();
    }
    expect(await Promise.all(ends)).toEqual([
      [null, 'SIGKILL'],
      [null, 'SIGKILL'],
    ]);
  });

  it('fails as here where there is no git', async () => {
    const git = started({ ...gitWith('--version'), environment: { PATH: temporaryDirectory() } });
    await expect(endOf(git)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('counts as killed where the helper process ends', async () => {
    const path = await repositoryWith('x\n');
    const git = started(gitWith('-C', path, 'cat-file', '--batch'));
    git.stdin.write('main:a.txt\n');
    await new Promise((resolve) => git.stdout.once('data', resolve));
    const end = endOf(git);
    git.stderr.resume();
    process.kill(helper?.pid ?? 0, 'SIGKILL');
    expect(await end).toEqual([null, 'SIGKILL']);
    expect(helper?.isConnected).toBe(false);
    helper = undefined;
  });
});
