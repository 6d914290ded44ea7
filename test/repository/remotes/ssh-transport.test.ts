// A repository over ssh. Most of it with a program in the place of ssh that runs the command here, as git's own tests do;
// once with a real server.
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { GitFailure } from '../../../src/repository/git/git-process.ts';
import { createGitSource, type GitSourceOptions } from '../../../src/repository/git-source.ts';
import { askForBranches } from '../../../src/repository/remotes/advertisement.ts';
import { sshFailure } from '../../../src/repository/remotes/ssh-failure.ts';
import { createSshTransport, parseAddress } from '../../../src/repository/remotes/ssh-transport.ts';
import { fakeSsh, OBEY } from '../../support/fake-ssh.ts';
import { type FollowedRepository, followRepository } from '../../support/followed-repository.ts';
import { createGitRepository, runGit } from '../../support/git-repository.ts';
import { HAS_SSH_SERVER, startSshServer } from '../../support/ssh-server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

function followOverSsh(options: Partial<GitSourceOptions> = {}): Promise<FollowedRepository> {
  return followRepository(async ({ path }) => ({ url: `ssh://git@git.example:2222${path}`, ...options }));
}

describe('a repository over ssh', () => {
  it('is fetched, and then only what is new', async () => {
    const ssh = await fakeSsh();
    const { repository, source, expectSuccess, old, head } = await followOverSsh();
    await expectSuccess();
    const copy = join(repository.path, '..', 'cache', 'repository.git');
    // A commit, a tree and two files; then a commit, a tree and five.
    expect(await runGit(['-C', copy, 'count-objects', '-v'])).toMatch(/in-pack: 11\npacks: 2\n/);

    const theirs = await repository.commit({ b: '1' }, { branch: 'topic', parents: [old] });
    const merge = await repository.commit({ b: '1' }, { parents: [head, theirs] });
    expect((await source.fetch(head)).oid).toBe(merge);
    expect(await source.isAncestor(theirs, merge)).toBe(true);
    expect(await runGit(['-C', copy, 'fsck', '--full', '--strict', '--no-progress'])).toBe('');

    const calls = ssh.calls().length;
    await source.fetch(merge);
    expect(ssh.calls()).toHaveLength(calls + 1);
    expect(ssh.calls()[0]).toContain('-o BatchMode=yes -o ConnectTimeout=60 -o ServerAliveInterval=15');
    expect(ssh.calls()[0]).toContain(`-p 2222 git@git.example git-upload-pack '${repository.path}'`);
  });

  it('is written as user@host:path too', async () => {
    const ssh = await fakeSsh();
    const { expectSuccess } = await followRepository(async ({ path }) => ({ url: `git@git.example:${path}` }));
    await expectSuccess();
    expect(ssh.calls()[0]).toMatch(/ git@git\.example git-upload-pack '\/.*stacks.git'$/);
  });

  it('takes over a history that was rewritten, and tells a branch that is gone', async () => {
    await fakeSsh();
    const { repository, source, old, expectFailure } = await followOverSsh();
    await repository.git('update-ref', '-d', 'refs/heads/main');
    await expectFailure(/has no commits yet|has no branch "main"/);
    const rewritten = await repository.commit({ keep: 'new' }, { parents: [] });
    expect((await source.fetch(old)).oid).toBe(rewritten);
    expect(await source.isAncestor(old, rewritten)).toBe(false);
  });

  it("is not led elsewhere by git's own settings", async () => {
    await fakeSsh();
    const settings = join(temporaryDirectory(), 'gitconfig');
    await writeFile(settings, '[url "https://nowhere.invalid/"]\n\tinsteadOf = ssh://git@git.example\n');
    vi.stubEnv('GIT_CONFIG_GLOBAL', settings);
    const { expectSuccess } = await followOverSsh();
    await expectSuccess();
  });
});

describe('an ssh that fails', () => {
  it.each<[string, string, RegExp]>([
    ['at once', 'exit 255', /cannot be read: the connection broke off|could not read/],
    ['to know the host', 'echo "Host key verification failed." >&2; exit 255', /key of the host is not known here/],
    ['with the key', 'echo "git@x: Permission denied (publickey)." >&2; exit 255', /does not accept the key/],
    [
      'in the middle',
      `${OBEY.replace('exec ', '')} | dd bs=1 count=6000 2>/dev/null`,
      /broke off|the answer is cut off/,
    ],
    ['with nonsense', 'echo "Welcome to the machine"; exit 0', /could not read|cannot be read/],
    ['to end its advertisement', 'printf 003f; exit 0', /could not read|cannot be read/],
  ])('%s changes nothing', async (_, script, message) => {
    const ssh = await fakeSsh();
    const { expectFailure, expectSuccess } = await followOverSsh();
    await ssh.become(script);
    await expectFailure(message);
    await ssh.become(OBEY);
    await expectSuccess();
  });

  it('to end is given up, with everything that it started', async () => {
    const ssh = await fakeSsh();
    const { expectFailure, expectSuccess } = await followOverSsh({ limits: { fetchMs: 2_000 } });
    const pid = join(temporaryDirectory(), 'pid');
    await ssh.become(`sleep 60 & echo $! > ${pid}; wait`);
    await expectFailure(/did not answer within 2 s/);
    await expect.poll(() => isAlive(Number(readFileSync(pid, 'utf8')))).toBe(false);
    await ssh.become(OBEY);
    await expectSuccess();
  });

  it('to end is not waited for when the source is closed', async () => {
    const ssh = await fakeSsh();
    const { source, old } = await followOverSsh();
    const pid = join(temporaryDirectory(), 'pid');
    await ssh.become(`sleep 60 & echo $! > ${pid}; wait`);
    const fetching = expect(source.fetch(old)).rejects.toThrow('the source is closed');
    await expect.poll(() => existsSync(pid)).toBe(true);
    await source.close();
    await fetching;
    await expect.poll(() => isAlive(Number(readFileSync(pid, 'utf8')))).toBe(false);
  });

  it('to keep to the limit is refused', async () => {
    await fakeSsh();
    const { expectFailure } = await followOverSsh({ limits: { answerBytesMax: 5_000 } });
    await expectFailure(/sends more than the 5000 bytes that are taken at once/);
  });

  it('to end its list is refused, however long it goes on', async () => {
    const ssh = await fakeSsh();
    const { expectFailure, expectSuccess } = await followOverSsh();
    await ssh.become(`exec awk 'BEGIN { for (;;) printf "03bd%040d refs/heads/%0900d\\n", 1, 0 }'`);
    await expectFailure(/lists more than the 16777216 bytes that are taken at once/);
    await ssh.become(OBEY);
    await expectSuccess();
  });

  it('to be there is told, and so is a missing git', async () => {
    const ssh = await fakeSsh();
    const { PATH = '' } = process.env;
    const repository = await createGitRepository(join(temporaryDirectory(), 'stacks.git'));
    await repository.commit({ a: '1' });
    const { path } = repository;
    const place = { url: `git@git.example:${path}`, branch: 'main', directory: '.', cache: temporaryDirectory() };
    // The host has git.
    await ssh.become(`PATH='${PATH}'\n${OBEY}`);
    vi.stubEnv('PATH', temporaryDirectory());
    await expect((await createGitSource(place)).fetch(null)).rejects.toThrow(
      /git is not installed, or not on the PATH/,
    );
    vi.stubEnv('GIT_SSH_COMMAND', undefined);
    await expect((await createGitSource(place)).fetch(null)).rejects.toThrow(
      /ssh is not installed, or not on the PATH/,
    );
  });
});

/** A process that was killed and not yet fetched by its parent is not alive. */
function isAlive(pid: number): boolean {
  const found = `/proc/${pid}/stat`;
  return existsSync(found) && !/\) Z /.test(readFileSync(found, 'utf8'));
}

it.each([
  ['@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.', /another than before/],
  ['No ED25519 host key is known for x.\nHost key verification failed.', /not known here: compare it/],
  ['git@x: Permission denied (publickey,password).', /does not accept the key/],
  ['ssh: Could not resolve hostname x: Name or service not known', /does not know the host/],
  ['ssh: connect to host x port 22: Connection refused', /nothing listens there/],
  ['ssh: connect to host x port 22: Connection timed out', /the host does not answer/],
  ['ssh: connect to host x port 22: Network is unreachable', /no way to the host/],
  ['kex_exchange_identification: Connection closed by remote host', /the connection broke off/],
  ['ERROR: Repository not found.\nfatal: Could not read from remote repository.', /is not there, or not to be seen/],
  ["fatal: '/x.git' does not appear to be a git repository", /is not there, or not to be seen/],
  ['ssh -o BatchMode=yes: 1: ssh: not found', /ssh is not installed/],
  ['bash: line 1: git-upload-pack: command not found', /git is not installed on that host/],
  ['fatal: something new', /git could not read "git@x:y" \(ended with 128\): fatal: something new/],
])('the words %j become advice', (complaint, advice) => {
  const words = `${complaint}\nPlease make sure you have the correct access rights\nand the repository exists.`;
  const { message } = sshFailure('git@x:y', new GitFailure('git@x:y', 128, words));
  expect(message).toMatch(advice);
  expect(message).toContain('git@x:y');
});

describe.skipIf(!HAS_SSH_SERVER)('a real ssh server (skipped where sshd or its folder /run/sshd is missing)', () => {
  it('lets in who has the key, once its own is known', async () => {
    const { port, key, strangerKey, knownHosts } = await startSshServer();
    const as = (file: string, hosts = knownHosts): string =>
      `ssh -F none -i ${file} -o IdentitiesOnly=yes -o UserKnownHostsFile=${hosts}`;

    vi.stubEnv('GIT_SSH_COMMAND', as(key));
    const url = (path: string): string => `ssh://${userInfo().username}@127.0.0.1:${port}${path}`;
    const { repository, expectSuccess } = await followRepository(async ({ path }) => ({ url: url(path) }));
    await expectSuccess();

    const refusal = async (command: string, path = repository.path): Promise<void> => {
      vi.stubEnv('GIT_SSH_COMMAND', command);
      const transport = createSshTransport({ url: url(path), answerBytesMax: 1, silenceMs: 10_000 });
      await askForBranches(transport, { forPush: false, signal: new AbortController().signal });
    };
    await expect(refusal(as(strangerKey))).rejects.toThrow(/the host does not accept the key/);
    await expect(refusal(as(key, '/dev/null'))).rejects.toThrow(/the key of the host is not known here/);
    await expect(refusal(as(key), '/nowhere.git')).rejects.toThrow(/is not there, or not to be seen with this key/);
    const another = readFileSync(`${strangerKey}.pub`, 'utf8');
    await writeFile(knownHosts, `[127.0.0.1]:${port} ${another}`);
    await expect(refusal(as(key))).rejects.toThrow(/the key of the host is another than before/);
  });
});

it.each([
  ['ssh://git@git.example:2222/infra/stacks.git', 'git@git.example', '2222', '/infra/stacks.git'],
  ['ssh://git.example/~user/a%20b.git', 'git.example', undefined, '~user/a b.git'],
  ['git+ssh://git@[::1]:22/x', 'git@::1', '22', '/x'],
  ['git@git.example:infra/stacks.git', 'git@git.example', undefined, 'infra/stacks.git'],
  ['git.example:/x:y', 'git.example', undefined, '/x:y'],
  ['git@[::1]:x', 'git@::1', undefined, 'x'],
  ['git@[git.example:2222]:x', 'git@git.example', '2222', 'x'],
])('%s is read as git reads it', (url, host, port, path) => {
  expect(parseAddress(url)).toEqual({ host, port, path });
});

it.each(['ssh://-oProxyCommand=x@git.example/x', '-oProxyCommand=x:y', 'git@git.example:-x', 'ssh://-x/y'])(
  '%s is no way to give ssh or git an option',
  (url) => {
    expect(() => parseAddress(url)).toThrow(/neither host nor path begins with "-"/);
  },
);
