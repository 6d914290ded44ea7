// Files with a secret that everybody may read are told, and programs that everybody may change; nothing else is.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import type { JsonMap } from '../../src/model/json.ts';
import type { Settings } from '../../src/model/settings.ts';
import { loadSettings } from '../../src/settings/load-settings.ts';
import { filesOfSecrets, variablesOfSecrets, warnOfOpenFiles } from '../../src/settings/secret-files.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const TEXT = `api: { tls: { key: server.key, cert: server.crt, clientCa: ca.crt } }
webhook: { secretFile: hook }
repository: { url: "https://git.example/x.git", usernameFile: name, passwordFile: word, sign: { sshKeyFile: sign } }
statuses: { kind: gitea, project: a/b, tokenFile: token }
`;

/** Returns what is logged of the files of settings. */
async function warningsOf(settings: Settings): Promise<readonly JsonMap[]> {
  const lines: JsonMap[] = [];
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) });
  await warnOfOpenFiles(log, { secrets: filesOfSecrets(settings), providers: settings.execution.providers });
  return lines;
}

async function openSecrets(settings: Settings): Promise<readonly object[]> {
  const warnings = await warningsOf(settings);
  expect(warnings.every(({ msg }) => msg === 'every user of this machine may read a secret: chmod o-r')).toBe(true);
  return warnings.map(({ setting = '', path = '', mode = '' }) => ({ setting, path, mode }));
}

it('names each with its setting and mode', async () => {
  const folder = temporaryDirectory();
  const config = join(folder, 'treeline.yaml');
  const modes = {
    'server.key': 0o644,
    'server.crt': 0o644,
    hook: 0o604,
    name: 0o644,
    word: 0o666,
    sign: 0o644,
    token: 0o644,
  };
  for (const [name, mode] of Object.entries(modes)) {
    writeFileSync(join(folder, name), 'x');
    chmodSync(join(folder, name), mode);
  }
  writeFileSync(config, TEXT);
  const settings = await loadSettings(config, {});
  expect(await openSecrets(settings)).toEqual([
    { setting: 'api.tls.key', path: join(folder, 'server.key'), mode: '0644' },
    { setting: 'webhook.secretFile', path: join(folder, 'hook'), mode: '0604' },
    { setting: 'repository.passwordFile', path: join(folder, 'word'), mode: '0666' },
    { setting: 'repository.sign.sshKeyFile', path: join(folder, 'sign'), mode: '0644' },
    { setting: 'statuses.tokenFile', path: join(folder, 'token'), mode: '0644' },
  ]);
  for (const name of Object.keys(modes)) chmodSync(join(folder, name), 0o640);
  expect(await openSecrets(settings)).toEqual([]);

  writeFileSync(config, TEXT.replace(', passwordFile: word', ''));
  chmodSync(join(folder, 'name'), 0o644);
  const withToken = await loadSettings(config, {});
  expect((await openSecrets(withToken)).map((file) => 'setting' in file && file.setting)).toEqual([
    'repository.usernameFile',
  ]);
  expect(await openSecrets(await loadSettings(config, { TREELINE_GIT_USERNAME: 'x' }))).toEqual([]);
});

it.each([
  [{ TREELINE_GIT_USERNAME: 'me', TREELINE_GIT_PASSWORD: 'hunter2' }, TEXT, 'TREELINE_GIT_PASSWORD', 'passwordFile'],
  [
    { TREELINE_GIT_USERNAME: 'hunter2' },
    TEXT.replace(', passwordFile: word', ''),
    'TREELINE_GIT_USERNAME',
    'usernameFile',
  ],
])('names the variable that holds a secret, and the key for a file: %j', async (environment, text, variable, key) => {
  const config = join(temporaryDirectory(), 'treeline.yaml');
  writeFileSync(config, text);
  const settings = await loadSettings(config, environment);
  const lines: JsonMap[] = [];
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) });
  await warnOfOpenFiles(log, { secrets: [], variables: variablesOfSecrets(settings), providers: [] });
  expect(lines).toMatchObject(
    [{ level: 40, variable, setting: `repository.${key}`, msg: /in the environment/ }].map(({ msg, ...rest }) => ({
      ...rest,
      msg: expect.stringMatching(msg),
    })),
  );
  expect(JSON.stringify(lines)).not.toContain('hunter2');
  expect(variablesOfSecrets(await loadSettings(config, {}))).toEqual([]);
});

it('names each program that everybody may change, and so use to run what they like', async () => {
  const folder = temporaryDirectory();
  for (const [name, mode] of Object.entries({ open: 0o757, closed: 0o775 })) {
    writeFileSync(join(folder, name), '#!/bin/sh\n');
    chmodSync(join(folder, name), mode);
  }
  const entries =
    '[{ name: a, provider: exec, command: [./open, ./closed] }, { name: b, provider: exec, command: [./closed] }]';
  writeFileSync(join(folder, 'treeline.yaml'), `${TEXT}execution: { providers: ${entries} }\n`);
  expect(await warningsOf(await loadSettings(join(folder, 'treeline.yaml'), {}))).toMatchObject([
    {
      ...{ level: 40, msg: 'every user of this machine may change a program: chmod o-w' },
      ...{ setting: 'command of the provider a', path: join(folder, 'open'), mode: '0757' },
    },
  ]);
});

it('names the file of the URL of a database, its variable, and the settings themselves where its password is in them', async () => {
  const config = join(temporaryDirectory(), 'treeline.yaml');
  const secretsOf = async (store: string, environment = {}) => {
    writeFileSync(config, `${TEXT}store: { kind: postgres, ${store} }\n`);
    const settings = await loadSettings(config, environment);
    const files = filesOfSecrets(settings).filter(({ setting }) => setting.startsWith('store.'));
    return [...files, ...variablesOfSecrets(settings)];
  };
  const path = join(config, '..', 'url');
  expect(await secretsOf('urlFile: url')).toEqual([{ setting: 'store.urlFile', path }]);
  expect(await secretsOf('url: postgres://me:hunter2@db')).toEqual([{ setting: 'store.url', path: config }]);
  expect(await secretsOf('url: postgres://me@db')).toEqual([]);
  expect(await secretsOf('urlFile: url', { TREELINE_STORE_URL: 'postgres://me@db' })).toEqual([
    { variable: 'TREELINE_STORE_URL', setting: 'store.urlFile' },
  ]);
});
