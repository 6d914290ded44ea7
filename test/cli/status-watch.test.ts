// `treeline status --watch`: in place on a terminal, line by line elsewhere, until it is interrupted.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Scene, upAndDone } from '../scenario/scene.ts';
import { BUNDLED, treeline } from '../support/command-line.ts';
import { PATIENCE } from '../support/running-controller.ts';
import { commandLineOptions } from '../support/server-options.ts';

const SCRIPT = '/usr/bin/script';
const CLEAR = '\u001b[H\u001b[J';

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
    const drawn = () => shown.text.split(CLEAR).filter((text) => text.startsWith('office: Done')).length;
    await expect.poll(drawn, PATIENCE).toBe(2);
    expect(shown.text.startsWith(CLEAR)).toBe(true);
  });

  it('fails where there is nothing to watch, and prints no JSON', async () => {
    const args = ['--server', 'https://127.0.0.1:1', '--cert', BUNDLED, '--key', BUNDLED, '--ca', BUNDLED];
    expect(await treeline(['status', '--watch', ...args])).toMatchObject({ code: 3 });
    expect(await treeline(['status', '--watch', '--format', 'json', ...args])).toMatchObject({
      ...{ code: 3, stderr: 'treeline: --watch prints text: leave out --format json\n' },
    });
  });
});
