// `treeline settings check`: all that is wrong with the operator's file, each with its line, and nothing started.
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ProcessResult, treeline } from '../support/command-line.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const RIGHT = `api:
  tls: { key: pki/server.key, cert: pki/server.crt, clientCa: pki/ca.crt }
repository:
  url: https://git.example/stacks.git
  passwordFile: password
`;

/** A folder with certificates, a password and these settings. */
async function folderWith(settings: string): Promise<string> {
  const cwd = temporaryDirectory();
  await treeline(['pki', 'init'], { cwd });
  writeFileSync(join(cwd, 'password'), 'secret\n', { mode: 0o600 });
  writeFileSync(join(cwd, 'treeline.yaml'), settings);
  return cwd;
}

async function check(settings: string, change: (cwd: string) => void = () => undefined): Promise<ProcessResult> {
  const cwd = await folderWith(settings);
  change(cwd);
  const ended = await treeline(['settings', 'check', 'treeline.yaml'], { cwd });
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
