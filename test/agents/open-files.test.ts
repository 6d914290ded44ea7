// Tests the warnings and refusals of a proxy for files that other users of its machine may read or enter.
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createAuthority, issueClientCertificate } from '../../src/base/development-pki.ts';
import { treeline } from '../support/command-here.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

it('warns of an open key, and does not use a directory that others may enter', async () => {
  const folder = temporaryDirectory();
  const now = Date.now();
  const authority = await createAuthority({ commonName: 'authority', now });
  const { key, cert } = await issueClientCertificate(authority, { commonName: 'lab', now });
  const files = { 'proxy.key': key, 'proxy.crt': cert, 'ca.crt': authority.cert, program: '#!/bin/sh\n' };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  chmodSync(join(folder, 'proxy.key'), 0o644);
  chmodSync(join(folder, 'program'), 0o755);
  mkdirSync(join(folder, 'state'));
  chmodSync(join(folder, 'state'), 0o777);
  const config = join(folder, 'proxy.yaml');
  writeFileSync(
    config,
    `server: https://127.0.0.1:1
tls: { cert: proxy.crt, key: proxy.key, ca: ca.crt }
directory: state
providers: [{ name: lab, command: [./program] }]
`,
  );
  const { code, stdout, stderr } = await treeline(['proxy', '--config', config]);
  expect({ code, stderr }).toEqual({
    code: 3,
    stderr: expect.stringContaining(`${join(folder, 'state')} has the mode 0777: others may read`),
  });
  expect(existsSync(join(folder, 'state/running'))).toBe(false);
  const warnings = stdout.trim().split('\n');
  expect(warnings.map((line) => JSON.parse(line))).toMatchObject([
    { level: 40, msg: 'every user of this machine may read a secret: chmod o-r', setting: 'tls.key', mode: '0644' },
  ]);
});
