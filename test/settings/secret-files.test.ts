// Files with a secret that every user may read are logged, and nothing else is.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import type { JsonMap } from '../../src/model/json.ts';
import type { Settings } from '../../src/model/settings.ts';
import { loadSettings } from '../../src/settings/load-settings.ts';
import { warnOfOpenFiles } from '../../src/settings/secret-files.ts';
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
  await warnOfOpenFiles(log, settings.files);
  return lines;
}

async function openSecrets(settings: Settings): Promise<readonly object[]> {
  const warnings = await warningsOf(settings);
  expect(warnings.every(({ msg }) => msg === 'every user of this machine may read a secret: chmod o-r')).toBe(true);
  return warnings.map(({ setting = '', path = '', mode = '' }) => ({ setting, path, mode }));
}

it('openSecrets names each readable file with its setting and mode', async () => {
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

it('openSecrets names the file of a database URL, and the settings if a password is in them', async () => {
  const config = join(temporaryDirectory(), 'treeline.yaml');
  const secretsOf = async (store: string) => {
    writeFileSync(config, `${TEXT}store: { kind: postgres, ${store} }\n`);
    const settings = await loadSettings(config, {});
    return settings.files
      .filter(({ setting }) => setting.startsWith('store.'))
      .map(({ setting, path }) => ({ setting, path }));
  };
  const path = join(config, '..', 'url');
  expect(await secretsOf('urlFile: url')).toEqual([{ setting: 'store.urlFile', path }]);
  expect(await secretsOf('url: postgres://me:hunter2@db')).toEqual([{ setting: 'store.url', path: config }]);
  expect(await secretsOf('url: postgres://me@db')).toEqual([]);
});
