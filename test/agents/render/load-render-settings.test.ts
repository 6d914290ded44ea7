// The settings of `treeline render`: defaults, paths, owners, and all mistakes at once with their place.
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadRenderSettings } from '../../../src/agents/render/load-render-settings.ts';
import { settingsFile, settingsProblems } from '../../support/settings-texts.ts';

const IS_ROOT = process.geteuid?.() === 0;
const LEAST = `server: https://treeline.example:8443/
ca: ca.crt
cert: node.crt
key: node.key
node: web-1
files: [{ template: app.liquid, path: /etc/app.conf }]
`;

async function problemsOf(text: string): Promise<readonly string[]> {
  const problems = await settingsProblems(loadRenderSettings(settingsFile(text)));
  return problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

const withFile = (fields: string): string => LEAST.replace('path: /etc/app.conf', `path: /etc/app.conf, ${fields}`);

describe('the settings of treeline render', () => {
  it('have all defaults and absolute paths', async () => {
    const file = settingsFile(withFile('mode: "600", run: [sh, -c, exit]'));
    const base = join(file, '..');
    expect(await loadRenderSettings(file, { PATH: '/bin' })).toEqual({
      server: 'https://treeline.example:8443',
      node: 'web-1',
      base,
      directory: join(base, 'render-state'),
      tls: { cert: join(base, 'node.crt'), key: join(base, 'node.key'), ca: join(base, 'ca.crt') },
      files: [
        {
          template: join(base, 'app.liquid'),
          path: '/etc/app.conf',
          mode: 0o600,
          owner: null,
          run: ['/bin/sh', '-c', 'exit'],
        },
      ],
      checkSeconds: 30,
      timeoutSeconds: 60,
      log: { level: 'info' },
    });
  });

  it.runIf(IS_ROOT).each<[owner: string, numbers: readonly [number, number]]>([
    ['root', [0, 0]],
    ['nobody:root', [65_534, 0]],
    ['"65534:12345"', [65_534, 12_345]],
    ['"12345:0"', [12_345, 0]],
  ])('accept the owner %s', async (owner, numbers) => {
    const { files } = await loadRenderSettings(settingsFile(withFile(`owner: ${owner}`)));
    expect(files[0]?.owner).toEqual(numbers);
  });

  it.each<[text: string, problems: readonly string[]]>([
    [`${LEAST}fiels: []\n`, ['7: fiels']],
    [withFile('command: [x]'), ['6: command']],
    [LEAST.replace('https', 'http'), ['1: has to be an https:// address']],
    [LEAST.replace('web-1', '../web'), ['5: has to be the name of a node']],
    [withFile('mode: 0640'), ['6: has to be three octal digits in quotes', '6: 0640 is read as the number 640']],
    [withFile('mode: "0240"'), ['6: has to be three octal digits in quotes']],
    [withFile('owner: 0'), ['6: has to be a user or user:group in quotes']],
    [withFile('owner: no-such-user-here'), ['6: there is no user "no-such-user-here"']],
    [withFile('owner: "root:no-such-group-here"'), ['6: there is no group "no-such-group-here"']],
    [withFile('owner: "-R"'), ['6: has to be a user or user:group in quotes']],
    [withFile('run: []'), ['6: has to be a list of texts']],
    [withFile('run: [./nothing]'), ['6: ']],
    [
      LEAST.replace(' }]', ' }, { template: b, path: /etc/../etc/app.conf }]'),
      ['6: another template already writes /etc/app.conf'],
    ],
    ['server: https://a\nfiles: [{}]\n', ['1: ca', '1: cert', '1: key', '1: node', '2: path', '2: template']],
  ])('are refused with the place of the mistake: %#', async (text, problems) => {
    const found = await problemsOf(text);
    expect(found.toSorted()).toEqual(
      problems.map((problem) => {
        const [line = '', words = ''] = problem.split(/: (.*)/);
        return expect.stringMatching(new RegExp(`^${line}:.*${words.replaceAll(/[[\]./]/g, '\\$&')}`));
      }),
    );
  });
});
