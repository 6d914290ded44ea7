// The demo, started again: beside one that runs, on ports that are taken, and after a first start that was interrupted.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ensureSettings, moveTakenPorts } from '../../src/cli/demo/settings-file.ts';
import { listenOn } from '../../src/listen.ts';
import { plainEnvironment, ROOT, treeline } from '../support/command-line.ts';
import { runGit } from '../support/git-repository.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const COLUMNS = 80;

interface RunningDemo {
  /** Resolves with everything printed once that has these words. */
  printed(words: string): Promise<string>;
  /** Ends it as Ctrl-C does. */
  stop(): Promise<void>;
}

function startDemo(cwd: string): RunningDemo {
  const child = spawn(process.execPath, [`${ROOT}/src/cli.ts`, 'demo'], {
    ...{ cwd, env: plainEnvironment() },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (more: string) => {
    text += more;
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return {
    async printed(words) {
      while (!text.includes(words)) await Promise.race([once(child.stdout, 'data'), ended(child)]);
      return text;
    },
    async stop() {
      child.kill('SIGINT');
      await once(child, 'close');
    },
  };
}

async function ended(child: ReturnType<typeof spawn>): Promise<never> {
  await once(child, 'close');
  throw new Error('the demo has ended');
}

it('prints lines that fit, can be asked without being named, and runs once a folder', async () => {
  const folder = join(temporaryDirectory(), 'a folder');
  mkdirSync(folder);
  const first = startDemo(folder);
  const text = await first.printed('To begin anew');
  expect(text).toContain('Bringing the stacks up:');
  expect(text.split('\n').filter((line) => line.length > COLUMNS && !line.includes(' is taken '))).toEqual([]);
  expect(await treeline(['status'], { cwd: folder })).toMatchObject({
    code: 0,
    stdout: 'orders-db: Done\nshop-production: Done\nshop-staging: Done\n',
  });

  const second = await treeline(['demo'], { cwd: folder });
  expect(second.code).toBe(3);
  expect(second.stderr).toMatch(/ is in use by process \d+\. The demo runs here already: .*\n$/);
  await first.stop();

  const again = startDemo(folder);
  expect(await again.printed('To begin anew')).not.toContain('Bringing the stacks up');
  await again.stop();
}, 120_000);

it('moves to free ports, and keeps them', async () => {
  const folder = temporaryDirectory();
  const holder = createServer();
  const { port } = await listenOn(holder, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => {
    holder.close();
  });
  await ensureSettings(folder);
  const file = join(folder, 'treeline.yaml');
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace('8443', String(port)));

  const moved = await moveTakenPorts(folder, await ensureSettings(folder));
  expect(moved).toContainEqual({ listener: 'api', from: port, to: expect.any(Number) });
  const settings = await ensureSettings(folder);
  expect(settings.api.port).toBe(moved[0]?.to);
  expect(readFileSync(file, 'utf8')).toContain('# Nothing real is made');
  expect(await moveTakenPorts(folder, settings)).toEqual([]);
});

it('fills a repository that an interrupted start has left empty', async () => {
  const folder = temporaryDirectory();
  expect((await treeline(['demo'], { cwd: folder, env: { TMPDIR: '/no-such-folder' } })).code).toBe(3);
  const demo = startDemo(folder);
  await demo.printed('To begin anew');
  await demo.stop();
  const log = await runGit(['-C', join(folder, '.treeline/stacks.git'), 'log', '--format=%s']);
  expect(log.trim()).toBe('Start from the sample repository');
}, 60_000);
