// `treeline settings check`: all that is wrong with the operator's file, each with its line, and nothing started.
import { chmodSync, chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ProcessResult, treeline } from '../support/command-line.ts';
import { createGitRepository } from '../support/git-repository.ts';
import { prepareOnce } from '../support/prepared-folder.ts';
import { makeSshKey } from '../support/signed-commits.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** The user nobody of most systems. */
const OUTSIDER = 65_534;

/** Root is told that it can read everything, unless the controller is said to run as root. */
const AS_MYSELF = ['--user', userInfo().username];

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
  const ended = await treeline(['settings', 'check', 'treeline.yaml', ...AS_MYSELF], { cwd });
  expect(existsSync(join(cwd, 'state'))).toBe(false);
  return { ...ended, stdout: ended.stdout.replaceAll(`${cwd}/`, '') };
}

describe('treeline settings check', () => {
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
    expect(stdout).toMatch(/^treeline\.yaml:2:\d+: error: pki\/none\.crt is not there \[no_file\]\n/);
  });

  it('tells of a file without a usable URL of a database, and does not show what is in it', async () => {
    const settings = `${RIGHT}store: { kind: postgres, urlFile: url }\n`;
    const write = (text: string) => (cwd: string) => writeFileSync(join(cwd, 'url'), text, { mode: 0o600 });
    expect(await check(settings, write('postgres://me:hunter2@db.example/x\n'))).toMatchObject({ code: 0 });
    const { code, stdout } = await check(settings, write('postgres://me:hunter2@/x\n'));
    expect(code).toBe(1);
    expect(stdout).toMatch(/^treeline\.yaml:6:\d+: error: The URL of the database .* \[wrong_value\]\n/);
    expect(stdout).not.toContain('hunter2');
    expect((await check(settings)).stdout).toMatch(/^treeline\.yaml:6:\d+: error: url is not there \[no_file\]\n/m);
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
    expect(stdout).toBe(
      [
        'treeline.yaml:4:8: warning: there is no directory "stakcs.git": check the URL of the repository [no_repository]',
        'treeline.yaml:5:21: error: kept has the mode 0755, so that others may enter it [exposed_directory]',
        '    hint: see who could, then: chmod 0700 kept',
        '1 error, 1 warning',
        '',
      ].join('\n'),
    );
  });

  it('looks at a repository behind a file:// URL, and tells of a branch that a local one does not have', async () => {
    const local = RIGHT.replace('  passwordFile: password\n', '');
    const cwd = await folderWith(local);
    const repository = await createGitRepository(join(cwd, 'stacks'));
    await repository.commit({ 'tree.yaml': 'name: global\ntype: common\n' });
    const checked = async (url: string): Promise<string> => {
      writeFileSync(join(cwd, 'treeline.yaml'), local.replace('https://git.example/stacks.git', url));
      const { code, stdout } = await treeline(['settings', 'check', 'treeline.yaml'], { cwd });
      expect(code).toBe(0);
      return stdout.replaceAll(`${cwd}/`, '');
    };
    expect(await checked(repository.path)).toBe('0 errors, 0 warnings\n');
    expect(await checked(`file://${cwd}/stakcs`)).toContain(
      'treeline.yaml:4:8: warning: there is no directory "stakcs": check the URL of the repository [no_repository]\n',
    );
    expect(await checked(`file://${repository.path}\n  branch: mian`)).toMatch(
      /^treeline\.yaml:5:11: warning: ".*" has no branch "mian"; did you mean "main"\? \(its branches: main\) \[no_repository\]\n/,
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

  it('warns of secrets that everybody may read, and ends with 0', async () => {
    const { code, stdout } = await check(RIGHT, (cwd) => chmodSync(join(cwd, 'password'), 0o644));
    expect(code).toBe(0);
    expect(stdout).toBe(
      [
        'treeline.yaml:5:17: warning: password is a secret, and every user of this machine may read it [exposed_secret]',
        '    hint: chmod o-rwx password',
        '0 errors, 1 warning',
        '',
      ].join('\n'),
    );
  });

  it('warns of a password in the environment', async () => {
    const cwd = await folderWith(RIGHT);
    const env = { TREELINE_GIT_PASSWORD: 'hunter2' };
    expect(await treeline(['settings', 'check', 'treeline.yaml', ...AS_MYSELF], { cwd, env })).toEqual({
      code: 0,
      stdout: [
        'treeline.yaml:3:1: warning: TREELINE_GIT_PASSWORD in the environment is a secret, and every program of the same user may read it in /proc [exposed_secret]',
        '    hint: write it into a file, and name that as repository.passwordFile',
        '0 errors, 1 warning',
        '',
      ].join('\n'),
      stderr: '',
    });
  });

  it('looks at the files of the forge that gets commit statuses', async () => {
    const statuses = 'statuses: { kind: gitlab, project: infra/stacks, tokenFile: token, caFile: none.crt }\n';
    const { code, stdout } = await check(`${RIGHT}${statuses}`, (cwd) => {
      writeFileSync(join(cwd, 'token'), 'secret\n');
      chmodSync(join(cwd, 'token'), 0o644);
    });
    expect(code).toBe(1);
    expect(stdout).toBe(
      [
        'treeline.yaml:6:61: warning: token is a secret, and every user of this machine may read it [exposed_secret]',
        '    hint: chmod o-rwx token',
        'treeline.yaml:6:76: error: none.crt is not there [no_file]',
        '    hint: make it, or correct the path',
        '1 error, 1 warning',
        '',
      ].join('\n'),
    );
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

  describe.runIf(process.getuid?.() === 0)('run by root', () => {
    it.each([
      ['there is no store', undefined],
      ['the store is that of root', 'kept'],
    ])('warns that it looks with the rights of root, where nobody is named and %s', async (_, made) => {
      const cwd = await folderWith(`${RIGHT}store: { directory: kept }\n`);
      if (made !== undefined) mkdirSync(join(cwd, made), { mode: 0o700 });
      expect(await treeline(['settings', 'check', 'treeline.yaml'], { cwd })).toEqual({
        code: 0,
        stdout: '0 errors, 0 warnings\n',
        stderr: expect.stringMatching(
          /^treeline: warning: this looks with the rights of root, .*: name the user that runs the controller with --user NAME\n$/,
        ),
      });
      const named = await treeline(['settings', 'check', 'treeline.yaml', '--user', 'root'], { cwd });
      expect(named).toEqual({ code: 0, stdout: '0 errors, 0 warnings\n', stderr: '' });
    });

    it('looks with the rights of the user to whom the store belongs', async () => {
      const cwd = await folderWith(`${RIGHT}store: { directory: kept }\n`);
      mkdirSync(join(cwd, 'kept'), { mode: 0o700 });
      chownSync(join(cwd, 'kept'), OUTSIDER, OUTSIDER);
      for (const folder of [cwd, join(cwd, 'pki')]) chmodSync(folder, 0o755);
      chownSync(join(cwd, 'password'), OUTSIDER, OUTSIDER);
      const { code, stdout } = await treeline(['settings', 'check', 'treeline.yaml'], { cwd });
      expect(code).toBe(1);
      expect(stdout.replaceAll(`${cwd}/`, '')).toBe(
        [
          'treeline.yaml:2:15: error: pki/server.key may not be read by the user nobody [unreadable_file]',
          '    hint: give it the right to read it: "Users and permissions" of docs/operations.md',
          '1 error, 0 warnings',
          '',
        ].join('\n'),
      );
    });

    it.each([
      ['is that of another', 'kept', 'kept', 0o700],
      ['is in one that the user may not enter', 'closed/kept', 'closed', 0o700],
      ['is not there, and cannot be made', 'open/new/kept', 'open', 0o755],
    ])('tells of a store that %s', async (_, store, made, mode) => {
      const cwd = await folderWith(`${RIGHT}store: { directory: ${store} }\n`);
      mkdirSync(join(cwd, made));
      chmodSync(join(cwd, made), mode);
      for (const folder of [cwd, join(cwd, 'pki')]) chmodSync(folder, 0o755);
      for (const secret of ['password', 'pki/server.key']) chownSync(join(cwd, secret), OUTSIDER, OUTSIDER);
      const { code, stdout } = await treeline(['settings', 'check', 'treeline.yaml', '--user', 'nobody'], { cwd });
      expect(stdout.replaceAll(`${cwd}/`, '').split('\n')).toEqual([
        `treeline.yaml:6:21: error: ${store} may not be written, or made, by the user nobody: permission denied [unwritable_directory]`,
        '    hint: make it, and give it to that user: "Users and permissions" of docs/operations.md',
        '1 error, 0 warnings',
        '',
      ]);
      expect(code).toBe(1);
    });

    it('warns of an audit log in a folder that is not there', async () => {
      const cwd = await folderWith(`${RIGHT}audit: { file: logs/audit.log }\n`);
      const { code, stdout } = await treeline(['settings', 'check', 'treeline.yaml'], { cwd });
      expect(stdout).toContain('logs may not be written, or made');
      expect(stdout).toContain('it is not there [unwritable_directory]');
      expect(code).toBe(0);
    });

    it('looks with the rights of the user that is named, who needs the settings too', async () => {
      const cwd = await folderWith(RIGHT);
      const args = ['settings', 'check', 'treeline.yaml', '--user', 'nobody'];
      chmodSync(cwd, 0o755);
      chmodSync(join(cwd, 'treeline.yaml'), 0o600);
      expect(await treeline(args, { cwd })).toMatchObject({
        code: 3,
        stderr: expect.stringMatching(/^treeline: The settings file .* cannot be read: .*permission denied/),
      });
      expect(await treeline([...args.slice(0, -1), 'no such user'], { cwd })).toMatchObject({
        code: 3,
        stderr: 'treeline: there is no user "no such user" on this machine\n',
      });
    });
  });

  it('prints JSON for programs', async () => {
    const cwd = await folderWith('api: {}\n');
    const { code, stdout } = await treeline(['settings', 'check', '--format', 'json', 'treeline.yaml'], { cwd });
    expect(code).toBe(1);
    expect(JSON.parse(stdout).problems[0]).toMatchObject({ file: 'treeline.yaml', line: 1, severity: 'error' });
  });

  it('ends with 3 where there is no such file', async () => {
    const ended = await treeline(['settings', 'check', 'none.yaml'], { cwd: temporaryDirectory() });
    expect(ended).toMatchObject({ code: 3, stdout: '' });
    expect(ended.stderr).toMatch(/^treeline: The settings file .*none\.yaml cannot be read: /);
  });
});
