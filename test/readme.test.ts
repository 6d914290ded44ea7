// README.md as a newcomer follows it: every block of its quick start, in order, on few servers and
// with a quick start of all but the demo itself.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, treeline } from './support/command-line.ts';
import { blocksIn } from './support/document-blocks.ts';
import { leaveFewServers } from './support/few-servers.ts';
import { temporaryDirectory } from './support/temporary-directory.ts';
import { cloneFor, newcomer, provideQuickNpm, Terminal } from './support/terminal.ts';

const WIDTH = 80;
/** The demo takes another port where this one is taken, and prints which. */
const ADDRESS = 'https://localhost:8443';

const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const BLOCKS = blocksIn(README).filter(({ headings }) => headings.includes('Quick start'));

it('is short', () => {
  expect(README.split('\n').length).toBeLessThanOrEqual(121);
});

it('begins with valid files', async () => {
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'tree.yaml'), 'name: global\ntype: common\n');
  const [, yaml = ''] = /^```yaml\n(.*?)^```$/ms.exec(README) ?? [];
  for (const part of yaml.split(/^# (?=\S+\.yaml)/m).slice(1)) {
    const path = join(folder, /^\S+\.yaml/.exec(part)?.[0] ?? '');
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `# ${part}`);
  }
  expect(await treeline(['validate', folder])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('4 files, 0 errors'),
  });
  const { stdout } = await treeline(['explain', 'shop-3', 'log_level', '--dir', folder]);
  expect(stdout).toMatch(/^log_level = "info"$/m);
});

it('has blocks that fit a terminal', () => {
  const long = BLOCKS.flatMap(({ text }) => text.split('\n').filter((line) => line.length > WIDTH));
  expect(long).toEqual([]);
});

it('works as written, with the Node of the machine', { timeout: 180_000 }, async () => {
  const home = newcomer();
  const clone = cloneFor(home);
  leaveFewServers(join(clone, 'sample-repo'), ['worker', 'balancer']);
  const [first, second] = [new Terminal(home, clone), new Terminal(home, clone)];
  expect((await second.paste('command -v node npm')).output).not.toContain('node_modules');
  expect(clone).toContain(' ');
  const [start, test, ...others] = BLOCKS;
  expect([start?.text, test?.text]).toEqual(['npm ci && npm start', 'npm ci && npm test']);
  // The packages are linked by the test instead of installed, and these are the tests.
  const printed = await first.leaveRunning('npm start', /To start over/);
  const address = /https:\/\/localhost:\d+/.exec(printed)?.[0] ?? ADDRESS;
  expect(printed).toContain('Treeline is running.\n');
  provideQuickNpm(home);
  expect(others.length).toBeGreaterThanOrEqual(2);
  for (const block of others) {
    await second.pasteBlock({ ...block, text: block.text.replaceAll(ADDRESS, address) });
  }
});
