// README.md as a newcomer follows it: every block of its quick start, in order, on few servers and
// with a quick start of all but the demo itself.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { treeline } from './support/command-line.ts';
import { DEMO_BLOCKS, followDemo, README, README_BLOCKS } from './support/followed-demo.ts';
import { temporaryDirectory } from './support/temporary-directory.ts';

const WIDTH = 80;

it('is short', () => {
  expect(README.split('\n').length).toBeLessThanOrEqual(121);
});

it('begins with files that are right', async () => {
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
  const long = [...README_BLOCKS, ...DEMO_BLOCKS].flatMap(({ text }) =>
    text.split('\n').filter((line) => line.length > WIDTH),
  );
  expect(long).toEqual([]);
});

it('works as it is written, for an ordinary user with the Node of the machine', { timeout: 180_000 }, async () => {
  await followDemo(README_BLOCKS, 'quick');
  expect.hasAssertions();
});
