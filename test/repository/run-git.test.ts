// One run of git: its limits, its environment, and that nothing of its process group is left.
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ContentError, checkGitVersion, Git, GitError, GitFailure } from '../../src/repository/run-git.ts';
import { createGitRepository } from '../support/git-repository.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

/** Puts a script in the place of git. */
async function fakeGit(script: string): Promise<string> {
  const folder = temporaryDirectory();
  await writeFile(join(folder, 'git'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  vi.stubEnv('PATH', `${folder}:${process.env.PATH}`);
  return folder;
}

/** A killed process that its parent has not read yet is not alive. */
function isAlive(pid: number): boolean {
  const found = `/proc/${pid}/stat`;
  return existsSync(found) && !/\) Z /.test(readFileSync(found, 'utf8'));
}

describe('Git.run', () => {
  it('returns the output, and passes the input', async () => {
    const repository = await createGitRepository(join(temporaryDirectory(), 'a.git'));
    const head = await repository.commit({ a: '1' });
    const git = new Git({ directory: repository.path });
    expect(await git.text(['rev-parse', 'main'])).toBe(head);
    expect(await git.text(['cat-file', '--batch-check=%(objecttype)'], { input: `${head}\n` })).toBe('commit');
  });

  it('throws what git printed, without secrets, and its exit code', async () => {
    await fakeGit('echo "line of geheim"; echo "fatal: geheim is on fire" >&2; exit 3');
    const redact = (text: string): string => text.replaceAll('geheim', '***');
    const error = await new Git({}).run(['-c', 'a.b=c', 'fetch'], { redact }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(GitFailure);
    expect(error).toMatchObject({ code: 3, complaint: 'fatal: *** is on fire' });
    expect((error as GitFailure).output.toString()).toBe('line of ***\n');
    expect((error as GitFailure).message).toBe('"git fetch" ended with 3: fatal: *** is on fire');
  });

  it('throws if git is missing, prints too much, or reads no input', async () => {
    await fakeGit('exec <&-; exit 4');
    await expect(new Git({}).run(['x'], { input: Buffer.alloc(1_000_000) })).rejects.toMatchObject({ code: 4 });
    await fakeGit('yes');
    await expect(new Git({}).run(['x'], { outputBytesMax: 1000 })).rejects.toBeInstanceOf(ContentError);
    vi.stubEnv('PATH', temporaryDirectory());
    await expect(new Git({}).run(['x'])).rejects.toThrow(/git cannot be started: install git/);
  });

  it.each(['timeout', 'signal'] as const)('kills the process group at a %s', async (ending) => {
    const folder = temporaryDirectory();
    const pid = join(folder, 'pid');
    await fakeGit(`trap '' TERM; sleep 60 & echo $! > ${pid}.new; mv ${pid}.new ${pid}; wait`);
    const ended = new AbortController();
    const options = ending === 'timeout' ? { timeoutMs: 1_500 } : { signal: ended.signal };
    const run = expect(new Git({}).run(['fetch'], options)).rejects.toThrow(/did not end within 1.5 s|enough/);
    await expect.poll(() => existsSync(pid), { timeout: 20_000 }).toBe(true);
    ended.abort(new GitError('enough'));
    await run;
    expect(isAlive(Number(readFileSync(pid, 'utf8')))).toBe(false);
  });

  it.runIf(process.platform === 'linux')('ends a git that writes a file beyond the limit', async () => {
    const folder = await fakeGit('head -c 20000 /dev/zero > "$(dirname "$0")/large"');
    await expect(new Git({}).run(['x'], { fileBytesMax: 10_240 })).rejects.toBeInstanceOf(GitFailure);
    expect(readFileSync(join(folder, 'large')).length).toBe(10_240);
  });

  it('gives git no variable and no configuration of the user', async () => {
    const settings = join(temporaryDirectory(), 'config');
    await writeFile(settings, '[core]\n\tbare = nonsense\n');
    vi.stubEnv('GIT_CONFIG_GLOBAL', settings);
    vi.stubEnv('GIT_DIR', '/nowhere');
    vi.stubEnv('TREELINE_GIT_PASSWORD', 'geheim');
    await fakeGit('env');
    const names = (await new Git({ environment: { OWN: '1' } }).text(['x']))
      .split('\n')
      .map((line) => line.split('=')[0]);
    expect(names).toEqual(expect.arrayContaining(['PATH', 'OWN', 'GIT_CONFIG_NOSYSTEM', 'GIT_CONFIG_GLOBAL']));
    for (const name of ['GIT_DIR', 'TREELINE_GIT_PASSWORD']) expect(names).not.toContain(name);
  });
});

describe('checkGitVersion', () => {
  it.each([
    ['git version 2.34.0', undefined],
    ['git version 2.39.5 (Apple Git-154)', undefined],
    ['git version 3.0.1', undefined],
    ['git version 2.33.8', /git version 2.33.8 is too old: install git 2.34 or newer/],
    ['git version 1.99', /is too old/],
  ])('%s', async (printed, message) => {
    await fakeGit(`echo "${printed}"`);
    const check = checkGitVersion('2.34');
    await (message === undefined ? expect(check).resolves.toBeUndefined() : expect(check).rejects.toThrow(message));
  });
});
