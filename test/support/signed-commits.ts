// Keys of the real ssh-keygen and gpg, and commits that the real git signs with them.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type GitRepository, runGit } from './git-repository.ts';

/** A key that git signs with, by arguments for git. */
export interface SigningKey {
  readonly config: readonly string[];
  /** As git names it. */
  readonly id: string;
}

export interface SshKey extends SigningKey {
  readonly file: string;
  readonly publicKey: string;
}

export interface GpgKey extends SigningKey {
  readonly home: string;
  readonly fingerprint: string;
  /** The exported public key, armored. */
  readonly keyring: string;
}

/** Makes an ssh key. */
export function makeSshKey(folder: string, name: string, { passphrase = '' } = {}): SshKey {
  const file = join(folder, name);
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', passphrase, '-C', name, '-f', file]);
  const [, id = ''] = execFileSync('ssh-keygen', ['-l', '-f', file], { encoding: 'utf8' }).split(' ');
  const publicKey = readFileSync(`${file}.pub`, 'utf8').trim();
  return { config: ['-c', 'gpg.format=ssh', '-c', `user.signingKey=${file}`], id, file, publicKey };
}

/** Makes a GPG key in a home of its own, whose agent ends with the test. */
export function makeGpgKey(folder: string, name: string, { created = '', expires = 'never' } = {}): GpgKey {
  const home = join(folder, `gpg-${name}`);
  mkdirSync(home, { mode: 0o700 });
  onTestFinished(() => void execFileSync('gpgconf', ['--homedir', home, '--kill', 'all']));
  const time = created === '' ? [] : ['--faked-system-time', created];
  const gpg = (...args: readonly string[]): string => {
    const options = ['--homedir', home, '--batch', '--quiet', ...time, '--passphrase', ''];
    return execFileSync('gpg', [...options, ...args], { encoding: 'utf8', stdio: 'pipe' });
  };
  gpg('--quick-gen-key', `${name} <${name}@example.org>`, 'ed25519', 'sign', expires);
  const [, fingerprint = ''] = /^fpr:+([0-9A-F]+):/m.exec(gpg('--with-colons', '--list-keys', name)) ?? [];
  const keyring = join(folder, `${name}.asc`);
  writeFileSync(keyring, gpg('--armor', '--export', name));
  // Git has no option for the arguments of gpg.
  const program = join(home, 'sign');
  writeFileSync(program, `#!/bin/sh\nexec gpg --homedir ${home} ${time.join(' ')} "$@"\n`, { mode: 0o755 });
  const config = ['-c', `gpg.program=${program}`, '-c', `user.signingKey=${fingerprint}`];
  return { config, id: fingerprint.slice(-16), home, fingerprint, keyring };
}

/** Adds a commit to `main`, which a key signs if there is one, and returns it. */
export async function signedCommit(
  repository: GitRepository,
  key: SigningKey | undefined,
  { seconds, path = 'signed', text = 'signed' }: { seconds?: number; path?: string; text?: string } = {},
): Promise<string> {
  const parent = await repository.head();
  const unsigned = await repository.commit({ [path]: text }, seconds === undefined ? {} : { seconds });
  if (key === undefined) return unsigned;
  const time = await repository.git('log', '-1', '--format=%ct', unsigned);
  // Git takes the time of the new commit from the environment, or from this.
  const git = ['-C', repository.path, ...key.config];
  const amended = await runGit(
    [...git, 'commit-tree', '-S', `${unsigned}^{tree}`, '-p', parent, '-m', 'signed'],
    undefined,
    {
      GIT_AUTHOR_DATE: `${time} +0000`,
      GIT_COMMITTER_DATE: `${time} +0000`,
    },
  );
  await repository.git('update-ref', 'refs/heads/main', amended);
  return amended;
}
