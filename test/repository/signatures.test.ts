// Signatures by the real ssh-keygen and gpg, checked by the real git.
import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { VerifySettings } from '../../src/model/settings.ts';
import { ObjectReader } from '../../src/repository/object-reader.ts';
import { Git } from '../../src/repository/run-git.ts';
import { createSigner, SignatureCheck } from '../../src/repository/signatures.ts';
import { writeCommits } from '../../src/repository/write-commits.ts';
import { createGitRepository, type GitRepository, runGit } from '../support/git-repository.ts';
import { NOW, newCommit } from '../support/new-commit.ts';
import { makeGpgKey, makeSshKey, type SigningKey, signedCommit } from '../support/signed-commits.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

interface Scene {
  readonly repository: GitRepository;
  readonly folder: string;
  /** Adds a commit to the branch, signed by a key or not. */
  commit(key?: SigningKey, options?: { readonly seconds?: number }): Promise<string>;
  /** Checks commits by the settings. */
  check(verify: Partial<VerifySettings>, ...commits: readonly string[]): Promise<string | undefined>;
}

async function scene(): Promise<Scene> {
  const folder = temporaryDirectory();
  const repository = await createGitRepository(join(folder, 'copy.git'));
  await repository.commit({ a: '1' });
  return {
    repository,
    folder,
    commit: (key, options) => signedCommit(repository, key, options),
    async check(verify, ...commits) {
      const all = { allowedSigners: null, keyring: null, ...verify };
      return (await new SignatureCheck(all, repository.path).firstBad(commits))?.reason;
    },
  };
}

/** Returns the file of allowed signers with these lines. */
function allow(folder: string, ...lines: readonly string[]): string {
  const file = join(folder, 'allowed');
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

describe('a commit signed with ssh', () => {
  it('is valid with a listed key, and otherwise named in the error', async () => {
    const { commit, check, folder, repository } = await scene();
    const [jane, joe] = [makeSshKey(folder, 'jane'), makeSshKey(folder, 'joe')];
    const allowedSigners = allow(folder, `jane@example.org ${jane.publicKey}`);
    const [good, other, none] = [await commit(jane), await commit(joe), await commit()];
    expect(await check({ allowedSigners }, good)).toBeUndefined();
    const short = (oid: string) => oid.slice(0, 10);
    expect(await check({ allowedSigners }, good, none, other)).toBe(
      `commit ${short(none)} by Test is not signed with an ssh key`,
    );
    // Git checks a hundred at a time.
    for (const count of [99, 100]) {
      const before = Array<string>(count).fill(good);
      expect(await check({ allowedSigners }, ...before, none, good)).toContain(short(none));
    }
    expect(await check({ allowedSigners }, good, other)).toBe(
      `commit ${short(other)} by Test is signed with the key ${joe.id}, which repository.verify.allowedSigners does not list, or not for its time`,
    );
    const raw = await repository.git('cat-file', 'commit', good);
    const forged = Buffer.from(`${raw.replace('signed', 'forged')}\n`);
    const wrong = await runGit(['-C', repository.path, 'hash-object', '-t', 'commit', '-w', '--stdin'], forged);
    expect(await check({ allowedSigners }, wrong)).toMatch(/by Test has a wrong signature: it was changed/);
  });

  it('is checked with the validity of the key and the newest file', async () => {
    const { commit, check, folder } = await scene();
    const jane = makeSshKey(folder, 'jane');
    const options = 'valid-after="20260101",valid-before="20270101"';
    const allowedSigners = allow(folder, `jane@example.org ${options} ${jane.publicKey}`);
    const at = (date: string) => commit(jane, { seconds: Date.parse(date) / 1000 });
    expect(await check({ allowedSigners }, await at('2026-06-01'))).toBeUndefined();
    expect(await check({ allowedSigners }, await at('2027-06-01'))).toMatch(/does not list, or not for its time/);
    allow(folder, '# nobody');
    expect(await check({ allowedSigners }, await at('2026-06-01'))).toMatch(/does not list/);
  });

  it('is not valid if GPG is required, and the other way round', async () => {
    const { commit, check, folder } = await scene();
    const [jane, alice] = [makeSshKey(folder, 'jane'), makeGpgKey(folder, 'alice')];
    const allowedSigners = allow(folder, `jane@example.org ${jane.publicKey}`);
    const keyring = alice.keyring;
    const [ssh, gpg] = [await commit(jane), await commit(alice)];
    // The keyring of the user of this process is none of repository.verify.
    vi.stubEnv('GNUPGHOME', alice.home);
    expect(await check({ allowedSigners }, gpg)).toMatch(/is not signed with an ssh key$/);
    expect(await check({ keyring }, ssh)).toMatch(/is not signed with a GPG key$/);
    expect(await check({ allowedSigners, keyring }, ssh, gpg)).toBeUndefined();
    expect(await check({ allowedSigners, keyring }, await commit())).toMatch(/by Test is not signed$/);
    vi.unstubAllEnvs();
  });
});

describe('a commit signed with GPG', () => {
  it('is valid with a key of the keyring, armored or not', async () => {
    const { commit, check, folder } = await scene();
    const [alice, bob] = [makeGpgKey(folder, 'alice'), makeGpgKey(folder, 'bob')];
    const binary = join(folder, 'binary');
    writeFileSync(binary, execFileSync('gpg', ['--homedir', alice.home, '--export', 'alice']));
    const [good, other] = [await commit(alice), await commit(bob)];
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('treeline-gpg-'));
    expect(await check({ keyring: alice.keyring }, good)).toBeUndefined();
    expect(await check({ keyring: binary }, good)).toBeUndefined();
    expect(await check({ keyring: alice.keyring }, other)).toBe(
      `commit ${other.slice(0, 10)} by Test is signed with the key ${bob.id}, which repository.verify.keyring does not list, or not for its time`,
    );
    const after = readdirSync(tmpdir()).filter((name) => name.startsWith('treeline-gpg-'));
    expect(after.filter((name) => !before.includes(name))).toEqual([]);
  });

  it('is not valid with a revoked key', async () => {
    const { commit, check, folder } = await scene();
    const alice = makeGpgKey(folder, 'alice');
    const good = await commit(alice);
    expect(await check({ keyring: alice.keyring }, good)).toBeUndefined();
    const gpg = (...args: readonly string[]) => execFileSync('gpg', ['--homedir', alice.home, '--quiet', ...args]);
    const certificate = join(alice.home, 'openpgp-revocs.d', `${alice.fingerprint}.rev`);
    // gpg writes a colon before it, so that nobody imports it by accident.
    writeFileSync(certificate, readFileSync(certificate, 'utf8').replace(':-----BEGIN', '-----BEGIN'));
    gpg('--import', certificate);
    writeFileSync(alice.keyring, gpg('--armor', '--export', 'alice'));
    expect(await check({ keyring: alice.keyring }, good)).toMatch(
      new RegExp(`is signed with the key ${alice.id} of alice <alice@example.org>, which was revoked$`),
    );
  });

  it('is not valid with an expired key', async () => {
    const { commit, check, folder } = await scene();
    const old = makeGpgKey(folder, 'old', { created: '20200101T000000', expires: '1d' });
    const signed = await commit(old);
    expect(await check({ keyring: old.keyring }, signed)).toMatch(
      new RegExp(`is signed with the key ${old.id} of old <old@example.org>, which has expired$`),
    );
  });
});

describe('a signature that cannot be checked', () => {
  it.each([
    ['allowedSigners', 'missing', /^repository\.verify\.allowedSigners cannot be read: .*missing/],
    ['keyring', 'missing', /^repository\.verify\.keyring cannot be read: .*missing/],
    [
      'keyring',
      'copy.git/config',
      /^repository\.verify\.keyring cannot be used: .*make it with "gpg --export" \(gpg: /,
    ],
  ])('is an error of the setup if %s is %s, unless the commit is unsigned', async (key, file, message) => {
    const { commit, check, folder } = await scene();
    await expect(check({ [key]: join(folder, file) }, await commit())).rejects.toThrow(message);
    await expect(check({ [key]: join(folder, file) })).resolves.toBeUndefined();
  });

  it('is reported for a missing commit', async () => {
    const { check, folder } = await scene();
    await expect(check({ allowedSigners: allow(folder, '') }, '1'.repeat(40))).rejects.toThrow(/"git log" ended with/);
  });
});

describe('a commit of a repository of SHA-256', () => {
  it('is checked as well', async () => {
    const folder = temporaryDirectory();
    const jane = makeSshKey(folder, 'jane');
    const path = join(folder, 'sha256.git');
    await runGit(['init', '--quiet', '--bare', '--object-format=sha256', '-b', 'main', path]);
    const git = (...args: readonly string[]) => runGit(['-C', path, ...args]);
    const tree = await runGit(['-C', path, 'mktree'], Buffer.of());
    const signed = await git(...jane.config, 'commit-tree', '-S', tree, '-m', 'signed');
    const none = await git('commit-tree', tree, '-m', 'none');
    const allowedSigners = allow(folder, `jane@example.org ${jane.publicKey}`);
    const check = new SignatureCheck({ allowedSigners, keyring: null }, path);
    expect(await check.firstBad([signed])).toBeUndefined();
    expect(await check.firstBad([signed, none])).toMatchObject({ commit: none });
    expect([await check.signerOf(signed), await check.signerOf(none)]).toEqual(['jane@example.org', null]);
  });
});

describe('the commits of Treeline', () => {
  async function write({ repository }: Scene, keyFile: string) {
    const base = await repository.head();
    const committer = { name: 'Treeline', email: 'treeline@localhost' };
    const objects = new ObjectReader(new Git({ directory: repository.path }), (error) => error);
    const place = { objects, base, directory: [], committer };
    const commits = [newCommit({ a: '1' }, 'Größe\n\nWhy.\n'), newCommit({ a: '2' })];
    const order = { ...place, commits, seconds: Date.parse(NOW) / 1000, sign: createSigner(keyFile) };
    return await writeCommits(order).finally(() => objects.close());
  }

  it('have a valid signature', async () => {
    const here = await scene();
    const key = makeSshKey(here.folder, 'treeline');
    const written = await write(here, key.file);
    if (written.is !== 'prepared') throw new Error(written.reason);
    const allowedSigners = allow(here.folder, `treeline@localhost namespaces="git" ${key.publicKey}`);
    expect(await here.check({ allowedSigners }, ...written.commits)).toBeUndefined();
    expect(await here.repository.git('fsck', '--strict', '--no-dangling', ...written.commits)).toBe('');
    const [first] = written.commits;
    expect(await here.repository.git('log', '-1', '--format=%B', String(first))).toBe('Größe\n\nWhy.');
  });

  it('are not written if the key cannot be used', async () => {
    const here = await scene();
    const { folder } = here;
    const [open, secret] = [makeSshKey(folder, 'open'), makeSshKey(folder, 'secret', { passphrase: 'secret' })];
    chmodSync(open.file, 0o644);
    for (const file of [open.file, secret.file, join(folder, 'missing')]) {
      const reason = expect.stringMatching(
        /^repository\.sign\.sshKeyFile cannot be used: .* without a passphrase .*\(.+\)$/,
      );
      expect(await write(here, file)).toEqual({ is: 'not sent', reason });
    }
  });
});
