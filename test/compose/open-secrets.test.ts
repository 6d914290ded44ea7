// Files with a secret that everybody may read are told, and nothing else is.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openSecrets } from '../../src/compose/open-secrets.ts';
import { loadSettings } from '../../src/load-settings.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const TEXT = `api: { tls: { key: server.key, cert: server.crt, clientCa: ca.crt } }
webhook: { secretFile: hook }
repository: { url: "https://git.example/x.git", usernameFile: name, passwordFile: word }
`;

it('names each with its setting and mode', async () => {
  const folder = temporaryDirectory();
  const config = join(folder, 'treeline.yaml');
  const modes = { 'server.key': 0o644, 'server.crt': 0o644, hook: 0o604, name: 0o644, word: 0o666 };
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
  ]);
  for (const name of Object.keys(modes)) chmodSync(join(folder, name), 0o640);
  expect(await openSecrets(settings)).toEqual([]);

  writeFileSync(config, TEXT.replace(', passwordFile: word', ''));
  chmodSync(join(folder, 'name'), 0o644);
  const withToken = await loadSettings(config, {});
  expect((await openSecrets(withToken)).map(({ setting }) => setting)).toEqual(['repository.usernameFile']);
  expect(await openSecrets(await loadSettings(config, { TREELINE_GIT_USERNAME: 'x' }))).toEqual([]);
});
