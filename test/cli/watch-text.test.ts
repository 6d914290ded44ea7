// `treeline status --watch`: in place on a terminal, line by line elsewhere, until it is interrupted.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { changesIn } from '../../src/cli/watch-text.ts';
import { type Scene, upAndDone } from '../scenario/scene.ts';
import { BUNDLED, treeline } from '../support/command-line.ts';
import { PATIENCE } from '../support/running-controller.ts';
import { commandLineOptions } from '../support/server-options.ts';

const SCRIPT = '/usr/bin/script';
const [HOME, CLEAR_LINE] = ['\u001b[H', '\u001b[K'];

it('tells the lines that are new, and those that are over', () => {
  const before = [
    'shop: Done',
    'office: In progress: office-db is creating',
    'the audit log loses lines, since 5: full',
  ];
  const after = ['shop: Done', 'office: Done', 'new: In progress'];
  expect(changesIn([], before)).toEqual(before);
  expect(changesIn(before, after)).toEqual([
    'office: Done',
    'new: In progress',
    'no more: the audit log loses lines, since 5: full',
  ]);
  expect(changesIn(after, after)).toEqual([]);
});

function watching(program: string, args: readonly string[]) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const shown = { text: '' };
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    shown.text += part;
  });
  return { child, shown };
}

describe('treeline status --watch', () => {
  const argsOf = ({ site, running }: Scene) => ['status', '--watch', ...commandLineOptions(site, running)];

  it('prints what changes where nobody looks, and ends well with Ctrl-C', async () => {
    const scene = await upAndDone();
    const { child, shown } = watching(process.execPath, [BUNDLED, ...argsOf(scene)]);
    await expect.poll(() => shown.text, PATIENCE).toContain('shop: Done');
    await scene.running.post('/operations/suspend', { instance: 'shop' });
    await expect.poll(() => shown.text, PATIENCE).toContain('shop: Suspended');
    expect(shown.text.match(/^office: Done$/gm)).toHaveLength(1);
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(shown.text).not.toContain('\u001b');
  });

  it.skipIf(!existsSync(SCRIPT))('draws anew on a terminal', async () => {
    const scene = await upAndDone();
    const command = [process.execPath, BUNDLED, ...argsOf(scene)].map((word) => `'${word}'`).join(' ');
    const { shown } = watching(SCRIPT, ['--quiet', '--return', '--command', command, '/dev/null']);
    const drawn = () => shown.text.split(HOME).filter((text) => text.startsWith(`office: Done${CLEAR_LINE}`)).length;
    await expect.poll(drawn, PATIENCE).toBe(2);
    expect(shown.text.startsWith(HOME)).toBe(true);
  });

  it('fails where there is nothing to watch, and prints no JSON', async () => {
    const args = ['--server', 'https://127.0.0.1:1', '--cert', BUNDLED, '--key', BUNDLED, '--ca', BUNDLED];
    expect(await treeline(['status', '--watch', ...args])).toMatchObject({ code: 3 });
    expect(await treeline(['status', '--watch', '--format', 'json', ...args])).toMatchObject({
      ...{ code: 3, stderr: 'treeline: --watch prints text: leave out --format json\n' },
    });
  });
});
