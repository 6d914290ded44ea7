// The settings of a proxy: defaults, paths, all mistakes at once, and files that other users of its machine may read or enter.
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import proxySchema from '../../schemas/proxy-settings.schema.json' with { type: 'json' };
import renderSchema from '../../schemas/render-settings.schema.json' with { type: 'json' };
import { loadProxySettings } from '../../src/agents/load-proxy-settings.ts';
import { createAuthority, issueClientCertificate } from '../../src/base/development-pki.ts';
import { treeline } from '../support/command-here.ts';
import { settingsFile, settingsProblems } from '../support/settings-texts.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const LEAST = `server: https://treeline.example:8443/
tls: { cert: proxy.crt, key: proxy.key, ca: ca.crt }
providers: [{ name: lab, command: [sh, -c, exit] }]
`;

async function problemsOf(text: string): Promise<readonly string[]> {
  const problems = await settingsProblems(loadProxySettings(settingsFile(text)));
  return problems.map(({ line, column, code }) => `${line}:${column} ${code}`);
}

describe('the settings of a proxy', () => {
  it('get defaults and absolute paths', async () => {
    const file = settingsFile(LEAST);
    const directory = join(file, '..');
    expect(await loadProxySettings(file, { PATH: '/bin' })).toEqual({
      server: 'https://treeline.example:8443',
      tls: { cert: join(directory, 'proxy.crt'), key: join(directory, 'proxy.key'), ca: join(directory, 'ca.crt') },
      directory: join(directory, 'proxy-state'),
      concurrency: 10,
      shutdownSeconds: 25,
      log: { level: 'info' },
      providers: [
        expect.objectContaining({
          name: 'lab',
          implementation: 'exec',
          command: ['/bin/sh', '-c', 'exit'],
          environment: {},
          directory,
          match: { kind: null, properties: {} },
          timeoutSeconds: 600,
          concurrency: 10,
        }),
      ],
    });
  });

  it.each<[text: string, problems: readonly string[]]>([
    [`${LEAST}provider: exec\n`, ['4:1 unknown_field']],
    [LEAST.replace('https', 'http'), ['1:9 wrong_value']],
    [LEAST.replace('sh, -c', './nothing, -c'), ['3:36 no_program']],
    [LEAST.replace('name: lab', 'name: lab, provider: exec'), ['3:26 unknown_field']],
    ['server: https://a\n', ['1:1 missing_field', '1:1 missing_field']],
  ])('are refused with their place: %#', async (text, problems) => {
    expect(await problemsOf(text)).toEqual(problems);
  });

  it('are checked by a command that names the file as given', async () => {
    const wrong = settingsFile(LEAST.replace('https', 'http'), 'proxy.yaml');
    expect(await treeline(['proxy', '--check', '--config', wrong])).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/proxy\.yaml:1:9: error: /),
    });
    const missing = await treeline(['proxy', '--check', '--config', settingsFile(LEAST)]);
    expect(missing).toMatchObject({ code: 3, stderr: expect.stringMatching(/proxy\.(crt|key) cannot be read/) });
  });
});

it('the schemas of proxies and of render have a description for every property', () => {
  const undescribed = (value: object, path: string): string[] =>
    Object.entries(value).flatMap(([key, each]): string[] => {
      if (typeof each !== 'object' || each === null) return [];
      const isProperty = path.endsWith('/properties') && !('description' in each);
      return [...(isProperty ? [`${path}/${key}`] : []), ...undescribed(each, `${path}/${key}`)];
    });
  expect(undescribed({ proxySchema, renderSchema }, '')).toEqual([]);
});

it('a proxy warns about an open key, and refuses a directory that others may enter', async () => {
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
