// Git's own command as a smart remote, and what happens where it fails.
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLocalTransport } from '../../../src/repository/remotes/local-transport.ts';
import type { TransportAnswer } from '../../../src/repository/remotes/transport.ts';
import { SourceError } from '../../../src/repository/source.ts';
import { createGitRepository } from '../../support/git-repository.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** A signal that never comes. */
const NEVER = new AbortController().signal;

let path: string;
let head: string;

beforeEach(async () => {
  path = join(temporaryDirectory(), 'stacks.git');
  head = await (await createGitRepository(path)).commit({ a: '1' });
});
afterEach(() => {
  vi.unstubAllEnvs();
});

async function advertised(options: { answerBytesMax?: number; signal?: AbortSignal } = {}): Promise<TransportAnswer> {
  const { answerBytesMax = 1_000_000, signal = NEVER } = options;
  const transport = createLocalTransport({ path, answerBytesMax });
  const url = `${transport.url}/info/refs?service=git-upload-pack`;
  return await transport.request({ url, method: 'GET', headers: {}, body: new Uint8Array(), signal });
}

/** Puts a program of our own in the place of git. */
async function fakeGit(script: string): Promise<void> {
  const folder = temporaryDirectory();
  await writeFile(join(folder, 'git'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  vi.stubEnv('PATH', `${folder}:${process.env.PATH}`);
}

/** A process that was killed and not yet fetched by its parent is not alive. */
function isAlive(pid: number): boolean {
  const found = `/proc/${pid}/stat`;
  return existsSync(found) && !/\) Z /.test(readFileSync(found, 'utf8'));
}

describe('the local transport', () => {
  it('advertises as a smart HTTP server does', async () => {
    const { statusCode, headers, body } = await advertised();
    const text = Buffer.concat(body).toString();
    expect(statusCode).toBe(200);
    expect(headers['content-type']).toBe('application/x-git-upload-pack-advertisement');
    expect(text.startsWith('001e# service=git-upload-pack\n0000')).toBe(true);
    expect(text).toContain(`${head} refs/heads/main\n`);
  });

  it('is not led to another repository, or another protocol, by the environment', async () => {
    const other = join(temporaryDirectory(), 'other.git');
    await createGitRepository(other);
    vi.stubEnv('GIT_DIR', other);
    vi.stubEnv('GIT_PROTOCOL', 'version=2');
    expect(Buffer.concat((await advertised()).body).toString()).toContain(head);
  });

  it('passes on what git says when it fails', async () => {
    await fakeGit('echo "fatal: the disk is on fire" >&2; exit 128');
    await expect(advertised()).rejects.toThrow(/could not read ".*" \(ended with 128\): fatal: the disk is on fire/);
  });

  it('does not take an early end for an empty repository', async () => {
    await fakeGit('exit 1');
    await expect(advertised()).rejects.toThrow(/ended with 1/);
  });

  it('survives a git that reads no input', async () => {
    await fakeGit('exec <&-; echo no >&2; exit 3');
    const transport = createLocalTransport({ path, answerBytesMax: 1_000_000 });
    const url = `${transport.url}/git-upload-pack`;
    const request = { url, method: 'POST', headers: {}, body: new Uint8Array(1_000_000), signal: NEVER };
    await expect(transport.request(request)).rejects.toThrow(/ended with 3/);
  });

  it('says so where git is not installed', async () => {
    vi.stubEnv('PATH', temporaryDirectory());
    await expect(advertised()).rejects.toThrow(/git is not installed, or not on the PATH/);
  });

  it('ends an answer that is too large', async () => {
    await expect(advertised({ answerBytesMax: 10 })).rejects.toThrow(/sends more than the 10 bytes/);
  });

  it('ends at once when it is told to, and git with it', async () => {
    const pidFile = join(temporaryDirectory(), 'pid');
    await fakeGit(`sleep 60 & echo $! > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; wait`);
    const ended = new AbortController();
    const answer = advertised({ signal: ended.signal });
    await expect.poll(() => existsSync(pidFile)).toBe(true);
    ended.abort(new SourceError('enough'));
    await expect(answer).rejects.toThrow('enough');
    const pid = Number(readFileSync(pidFile, 'utf8'));
    await expect.poll(() => isAlive(pid)).toBe(false);
    await expect(advertised({ signal: ended.signal })).rejects.toThrow('enough');
  });

  it('answers nothing but fetches and pushes', async () => {
    const transport = createLocalTransport({ path, answerBytesMax: 1 });
    const url = `${transport.url}/info/refs?service=git-upload-archive`;
    const request = { url, method: 'GET', headers: {}, body: new Uint8Array(), signal: NEVER };
    await expect(transport.request(request)).rejects.toThrow(/has no answer to/);
  });

  it('says so where .git leads nowhere', async () => {
    path = temporaryDirectory();
    await writeFile(join(path, '.git'), 'nonsense');
    await expect(advertised()).rejects.toThrow(/does not say where its repository is/);
    await writeFile(join(path, '.git'), `gitdir: ${join(path, 'gone')}`);
    await expect(advertised()).rejects.toThrow(/is not a Git repository/);
    await mkdir(join(path, 'gone'));
    await expect(advertised()).rejects.toThrow(/is not a Git repository/);
  });
});
