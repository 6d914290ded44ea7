// `treeline serve --check`: all mistakes of the operator's settings, each with its line, and nothing started.
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { treeline } from '../support/command-here.ts';
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
const LOCAL = RIGHT.replace('  passwordFile: password\n', '');
const LISTENERS = 'management: { host: ::1, port: 8443 }\nwebhook: { port: 0, secretFile: password }\n';
const DATABASE = `${RIGHT}store: { kind: postgres, urlFile: url }\n`;
const SIGNING = `${RIGHT}  sign: { sshKeyFile: key }\n`;
const KEPT = `${LOCAL.replace('https://git.example/stacks.git', 'stakcs.git')}store: { directory: kept }\n`;

const copyCertificates = prepareOnce((cwd) => treeline(['pki', 'init'], { cwd }));

/** Checks settings in a folder with certificates and a password. */
async function check(settings: string, change: (cwd: string) => unknown = () => undefined) {
  const cwd = temporaryDirectory();
  await copyCertificates(cwd);
  writeFileSync(join(cwd, 'password'), 'secret\n', { mode: 0o600 });
  writeFileSync(join(cwd, 'treeline.yaml'), settings);
  await change(cwd);
  const { code, ...ended } = await treeline(ARGS, { cwd });
  expect(existsSync(join(cwd, 'state'))).toBe(false);
  const [stdout = '', stderr = ''] = [ended.stdout, ended.stderr].map((text) => text.replaceAll(`${cwd}/`, ''));
  return { code, lines: stdout.trimEnd().split('\n'), stderr: stderr.replace(AS_ROOT, '') };
}

const withUrl = (text: string) => (cwd: string) => writeFileSync(join(cwd, 'url'), text, { mode: 0o600 });
const withKey = (passphrase: string) => (cwd: string) => void makeSshKey(cwd, 'key', { passphrase });

it.each<[what: string, settings: string, change?: (cwd: string) => unknown]>([
  ['all settings are valid', RIGHT],
  ['listeners have one port of different addresses, or any free one', `${RIGHT}${LISTENERS}`],
  ['the file of a database has a URL', DATABASE, withUrl('postgres://me:hunter2@db.example/x\n')],
  ['the key that signs commits can be used', SIGNING, withKey('')],
])('serve --check ends with 0 if %s', async (_, settings, change) => {
  expect(await check(settings, change)).toEqual({ code: 0, lines: ['0 errors, 0 warnings'], stderr: '' });
});

it.each<[what: string, settings: string, lines: readonly RegExp[], change?: (cwd: string) => unknown]>([
  [
    'every mistake',
    `${RIGHT}  pollSecond: 3\nshutdownSeconds: soon\n`,
    [
      /^treeline\.yaml:6:3: error: .*pollSecond/,
      /hint/,
      /^treeline\.yaml:7:18: error: .*soon/,
      /^2 errors, 0 warnings$/,
    ],
  ],
  [
    'a missing file',
    RIGHT.replace('pki/ca.crt', 'pki/none.crt'),
    [/^treeline\.yaml:2:\d+: error: pki\/none\.crt cannot be used: it is not there \[wrong_file\]$/],
  ],
  [
    'a file without a usable database URL, without its content',
    DATABASE,
    [/^treeline\.yaml:6:\d+: error: The URL of the database (?!.*hunter2).* \[wrong_file\]$/],
    withUrl('postgres://me:hunter2@/x\n'),
  ],
  ['a missing file of a database', DATABASE, [/^treeline\.yaml:6:\d+: error: url cannot be used: it is not there \[/]],
  [
    'certificates that do not match',
    RIGHT.replace('pki/server.key', 'pki/ca.key'),
    [/^treeline\.yaml:2:\d+: error: pki\/server\.crt: .* \[wrong_file\]$/],
  ],
  [
    'an invalid authority',
    RIGHT.replace('pki/ca.crt', 'pki/server.crt'),
    [/^treeline\.yaml:2:\d+: error: pki\/server\.crt: CN=.* is not an authority .* \[wrong_file\]$/],
  ],
  [
    'a directory that others may enter, and a missing repository',
    KEPT,
    [
      /^treeline\.yaml:4:8: warning: there is no directory "stakcs\.git": check the URL of the repository \[wrong_file\]$/,
      /^treeline\.yaml:5:21: error: The directory kept has the mode 0755: .* \[wrong_file\]$/,
      /^1 error, 1 warning$/,
    ],
    (cwd) => {
      mkdirSync(join(cwd, 'kept'));
      chmodSync(join(cwd, 'kept'), 0o755);
    },
  ],
  [
    'a key with a passphrase',
    SIGNING,
    [
      /^treeline\.yaml:6:\d+: error: repository\.sign\.sshKeyFile cannot be used: .* without a passphrase .* \[wrong_file\]$/,
    ],
    withKey('secret'),
  ],
  [
    'two listeners on one port',
    `${LOCAL}management: { host: 0.0.0.0, port: 8443 }\n`,
    [/^treeline\.yaml:5:\d+: error: the port 8443 of "management" is also used by "api" \[wrong_value\]$/],
  ],
  [
    'the port of the webhook',
    `${LOCAL}webhook: { port: 9080, secretFile: password }\n`,
    [/^treeline\.yaml:5:\d+: error: the port 9080 of "webhook" is also used by "management" \[wrong_value\]$/],
  ],
  [
    'a store and an audit log in a folder that cannot be used',
    `${RIGHT}store: { directory: password/kept }\naudit: { file: password/log }\n`,
    [
      /^treeline\.yaml:6:21: error: password cannot be used: permission denied/,
      /^treeline\.yaml:7:16: warning: password cannot be used: permission denied/,
    ],
  ],
])('serve --check ends with 1 and prints %s', async (_, settings, lines, change) => {
  const { code, lines: printed } = await check(settings, change);
  expect(code).toBe(1);
  expect(printed.slice(0, lines.length)).toEqual(lines.map((line) => expect.stringMatching(line)));
});

it('serve --check warns about a missing branch of a local repository', async () => {
  const path = join(temporaryDirectory(), 'stacks');
  const repository = await createGitRepository(path);
  await repository.commit({ 'tree.yaml': 'name: global\ntype: common\n' });
  for (const [url, words] of [
    [path, /^0 errors, 0 warnings$/],
    [`file://${path}s`, /^treeline\.yaml:4:8: warning: there is no directory ".*stackss": check the URL/],
    [
      `file://${path}\n  branch: mian`,
      /^treeline\.yaml:4:8: warning: ".*" has no branch "mian"; did you mean "main"\? \(its branches: main\) \[wrong_file\]$/,
    ],
    [`${path}\n  branch: other`, /has no branch "other" \(its branches: main\)/],
  ] as const) {
    const { code, lines } = await check(LOCAL.replace('https://git.example/stacks.git', url));
    expect([code, lines[0]]).toEqual([0, expect.stringMatching(words)]);
  }
});

it('serve --check warns about secrets that every user may read', async () => {
  const { code, stderr } = await check(RIGHT, (cwd) => chmodSync(join(cwd, 'password'), 0o644));
  expect(code).toBe(0);
  expect(JSON.parse(stderr)).toMatchObject({ setting: 'repository.passwordFile', path: 'password', mode: '0644' });
});

it('serve --check ends with 3 if the settings file is missing', async () => {
  const ended = await treeline(ARGS, { cwd: temporaryDirectory() });
  expect(ended).toMatchObject({ code: 3, stdout: '' });
  expect(ended.stderr).toMatch(/The settings file .*treeline\.yaml cannot be read: /);
});
