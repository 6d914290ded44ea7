// `treeline serve --check`: all mistakes of the operator's settings, each with its line, and nothing started.
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { treeline } from '../support/command-here.ts';
import type { ProcessResult } from '../support/command-line.ts';
import { createGitRepository } from '../support/git-repository.ts';
import { prepareOnce } from '../support/prepared-folder.ts';
import { makeSshKey } from '../support/signed-commits.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const ARGS = ['serve', '--check', '--config', 'treeline.yaml'];
/** A warning for root alone. */
const AS_ROOT = /^treeline: warning: root may use every file: .*\n/;

const RIGHT = `api:
  tls: { key: pki/server.key, cert: pki/server.crt, clientCa: pki/ca.crt }
repository:
  url: https://git.example/stacks.git
  passwordFile: password
`;

const copyCertificates = prepareOnce((cwd) => treeline(['pki', 'init'], { cwd }));

/** A folder with certificates, a password and these settings. */
async function folderWith(settings: string): Promise<string> {
  const cwd = temporaryDirectory();
  await copyCertificates(cwd);
  writeFileSync(join(cwd, 'password'), 'secret\n', { mode: 0o600 });
  writeFileSync(join(cwd, 'treeline.yaml'), settings);
  return cwd;
}

async function check(settings: string, change: (cwd: string) => void = () => undefined): Promise<ProcessResult> {
  const cwd = await folderWith(settings);
  change(cwd);
  const ended = await treeline(ARGS, { cwd });
  expect(existsSync(join(cwd, 'state'))).toBe(false);
  const [stdout, stderr] = [ended.stdout, ended.stderr].map((text) => text.replaceAll(`${cwd}/`, ''));
  return { ...ended, stdout: stdout ?? '', stderr: (stderr ?? '').replace(AS_ROOT, '') };
}

describe('treeline serve --check', () => {
  it('ends with 0 for right settings', async () => {
    expect(await check(RIGHT)).toEqual({ code: 0, stdout: '0 errors, 0 warnings\n', stderr: '' });
  });

  it('ends with 1 and tells every mistake with its line', async () => {
    const { code, stdout } = await check(`${RIGHT}  pollSecond: 3\nshutdownSeconds: soon\n`);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^treeline\.yaml:6:3: error: .*pollSecond/m);
    expect(stdout).toMatch(/^treeline\.yaml:7:18: error: .*soon/m);
    expect(stdout).toMatch(/\n2 errors, 0 warnings\n$/);
  });

  it('tells of a file that is not there, at the line that names it', async () => {
    const { code, stdout } = await check(RIGHT.replace('pki/ca.crt', 'pki/none.crt'));
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^treeline\.yaml:2:\d+: error: pki\/none\.crt cannot be used: it is not there \[wrong_file\]\n/,
    );
  });

  it('tells of a file without a usable URL of a database, and does not show what is in it', async () => {
    const settings = `${RIGHT}store: { kind: postgres, urlFile: url }\n`;
    const write = (text: string) => (cwd: string) => writeFileSync(join(cwd, 'url'), text, { mode: 0o600 });
    expect(await check(settings, write('postgres://me:hunter2@db.example/x\n'))).toMatchObject({ code: 0 });
    const { code, stdout } = await check(settings, write('postgres://me:hunter2@/x\n'));
    expect(code).toBe(1);
    expect(stdout).toMatch(/^treeline\.yaml:6:\d+: error: The URL of the database .* \[wrong_file\]\n/);
    expect(stdout).not.toContain('hunter2');
    expect((await check(settings)).stdout).toMatch(
      /^treeline\.yaml:6:\d+: error: url cannot be used: it is not there \[wrong_file\]\n/m,
    );
  });

  it('tells of certificates that do not fit together', async () => {
    const { code, stdout } = await check(RIGHT.replace('pki/server.key', 'pki/ca.key'));
    expect(code).toBe(1);
    expect(stdout).toMatch(/^treeline\.yaml:2:\d+: error: pki\/server\.crt: .* \[wrong_file\]\n/);
  });

  it('tells of a directory that others may enter, and of a repository that is not there', async () => {
    const settings = `${RIGHT.replace('https://git.example/stacks.git', 'stakcs.git')}store: { directory: kept }\n`;
    const { code, stdout } = await check(settings.replace('  passwordFile: password\n', ''), (cwd) => {
      mkdirSync(join(cwd, 'kept'));
      chmodSync(join(cwd, 'kept'), 0o755);
    });
    expect(code).toBe(1);
    expect(stdout.split('\n')).toEqual([
      'treeline.yaml:4:8: warning: there is no directory "stakcs.git": check the URL of the repository [wrong_file]',
      expect.stringMatching(/^treeline\.yaml:5:21: error: The directory kept has the mode 0755: .* \[wrong_file\]$/),
      '1 error, 1 warning',
      '',
    ]);
  });

  it('looks at a repository behind a file:// URL, and tells of a branch that a local one does not have', async () => {
    const local = RIGHT.replace('  passwordFile: password\n', '');
    const cwd = await folderWith(local);
    const repository = await createGitRepository(join(cwd, 'stacks'));
    await repository.commit({ 'tree.yaml': 'name: global\ntype: common\n' });
    const checked = async (url: string): Promise<string> => {
      writeFileSync(join(cwd, 'treeline.yaml'), local.replace('https://git.example/stacks.git', url));
      const { code, stdout } = await treeline(ARGS, { cwd });
      expect(code).toBe(0);
      return stdout.replaceAll(`${cwd}/`, '');
    };
    expect(await checked(repository.path)).toBe('0 errors, 0 warnings\n');
    expect(await checked(`file://${cwd}/stakcs`)).toContain(
      'treeline.yaml:4:8: warning: there is no directory "stakcs": check the URL of the repository [wrong_file]\n',
    );
    expect(await checked(`file://${repository.path}\n  branch: mian`)).toMatch(
      /^treeline\.yaml:4:8: warning: ".*" has no branch "mian"; did you mean "main"\? \(its branches: main\) \[wrong_file\]\n/,
    );
    expect(await checked(`${repository.path}\n  branch: other`)).toContain(
      'has no branch "other" (its branches: main)',
    );
  });

  it('tries the key that signs commits', async () => {
    const signing = `${RIGHT}  sign: { sshKeyFile: key }\n`;
    const withKey = (passphrase: string) => check(signing, (cwd) => void makeSshKey(cwd, 'key', { passphrase }));
    expect(await withKey('')).toMatchObject({ code: 0, stdout: '0 errors, 0 warnings\n' });
    const { code, stdout } = await withKey('secret');
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^treeline\.yaml:6:\d+: error: repository\.sign\.sshKeyFile cannot be used: .* without a passphrase .* \[wrong_file\]\n/,
    );
  });

  it('warns of secrets that every user may read, as a start does', async () => {
    const { code, stdout, stderr } = await check(RIGHT, (cwd) => chmodSync(join(cwd, 'password'), 0o644));
    expect({ code, stdout }).toEqual({ code: 0, stdout: '0 errors, 0 warnings\n' });
    expect(JSON.parse(stderr)).toMatchObject({ setting: 'repository.passwordFile', path: 'password', mode: '0644' });
  });

  it('tells of an authority that is none', async () => {
    const { code, stdout } = await check(RIGHT.replace('pki/ca.crt', 'pki/server.crt'));
    expect(code).toBe(1);
    expect(stdout).toMatch(/^treeline\.yaml:2:\d+: error: pki\/server\.crt: CN=.* is no authority .* \[wrong_file\]\n/);
  });

  it.each([
    ['management: { host: 0.0.0.0, port: 8443 }', 5, '8443 of "management" is that of "api"'],
    ['webhook: { port: 9080, secretFile: password }', 5, '9080 of "webhook" is that of "management"'],
  ])('tells of two listeners on one port: %s', async (line, row, message) => {
    const { code, stdout } = await check(`${RIGHT.replace('  passwordFile: password\n', '')}${line}\n`);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      new RegExp(`^treeline\\.yaml:${row}:\\d+: error: the port ${message} too, .*\\[wrong_value\\]`),
    );
  });

  it('lets listeners have one port of different addresses, or any free one', async () => {
    const listeners = 'management: { host: ::1, port: 8443 }\nwebhook: { port: 0, secretFile: password }\n';
    expect((await check(`${RIGHT}${listeners}`)).stdout).toBe('0 errors, 0 warnings\n');
  });

  it('reports a store, and warns of an audit log, in a folder that cannot be used', async () => {
    const { code, stdout } = await check(
      `${RIGHT}store: { directory: password/kept }\naudit: { file: password/log }\n`,
    );
    expect(stdout).toMatch(/^treeline\.yaml:6:21: error: password cannot be used: permission denied/m);
    expect(stdout).toMatch(/^treeline\.yaml:7:16: warning: password cannot be used: permission denied/m);
    expect(code).toBe(1);
  });

  it('ends with 3 if the settings file is missing', async () => {
    const ended = await treeline(ARGS, { cwd: temporaryDirectory() });
    expect(ended).toMatchObject({ code: 3, stdout: '' });
    expect(ended.stderr).toMatch(/The settings file .*treeline\.yaml cannot be read: /);
  });
});
