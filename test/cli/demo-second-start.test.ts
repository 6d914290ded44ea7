// The demo, started again: beside one that runs, on ports that are taken, and after a first start that was interrupted.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as childText } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { listenOn } from '../../src/base/listen.ts';
import { ensureSettings, moveTakenPorts } from '../../src/cli/demo/settings-file.ts';
import { BUNDLED, plainEnvironment, treeline } from '../support/command-line.ts';
import { runGit } from '../support/git-repository.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const COLUMNS = 80;

interface RunningDemo {
  /** Resolves with everything printed once that has these words. */
  printed(words: string): Promise<string>;
  /** Ends it as Ctrl-C does. */
  stop(): Promise<void>;
  kill(): void;
}

function startDemo(cwd: string): RunningDemo {
  const child = spawn(process.execPath, [BUNDLED, 'demo'], {
    ...{ cwd, env: plainEnvironment() },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (more: string) => {
    text += more;
  });
  return {
    kill: () => void child.kill('SIGKILL'),
    async printed(words) {
      while (!text.includes(words)) await Promise.race([once(child.stdout, 'data'), ended(child)]);
      return text;
    },
    async stop() {
      const closed = once(child, 'close');
      child.kill('SIGINT');
      await closed;
    },
  };
}

async function ended(child: ReturnType<typeof spawn>): Promise<never> {
  await once(child, 'close');
  throw new Error('the demo has ended');
}

/** Returns what the lines to paste print, as somebody's shell runs them in the folder in which the demo was started. */
async function paste(text: string, cwd: string): Promise<string> {
  const lines = text
    .slice(text.indexOf('In a second terminal'))
    .split('\n')
    .filter((line) => line.startsWith('  '));
  const npm = `npm() { shift 4; "${process.execPath}" "${BUNDLED}" "$@"; }`;
  const child = spawn('bash', ['-c', [npm, ...lines].join('\n')], {
    ...{ cwd, env: plainEnvironment() },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [printed] = await Promise.all([childText(child.stdout), once(child, 'close')]);
  return printed;
}

describe('a demo that runs', { timeout: 120_000 }, () => {
  let parent = '';
  let folder = '';
  /** The code with which a start before it ended. */
  let interrupted = 0;
  let demo: RunningDemo;
  let text = '';

  beforeAll(async () => {
    parent = mkdtempSync(join(tmpdir(), 'treeline-'));
    folder = join(parent, 'a folder');
    mkdirSync(folder);
    interrupted = (await treeline(['demo'], { cwd: folder, env: { TMPDIR: '/no-such-folder' } })).code;
    demo = startDemo(folder);
    text = await demo.printed('To start over');
  }, 120_000);

  afterAll(() => {
    demo.kill();
    rmSync(parent, { recursive: true, force: true });
  });

  it('fills a repository that an interrupted start has left empty', async () => {
    expect(interrupted).toBe(3);
    const log = await runGit(['-C', join(folder, '.treeline/stacks.git'), 'log', '--format=%s']);
    expect(log.trim()).toBe('Start from the sample repository');
  });

  it('prints lines that fit, can be asked without being named, and runs once a folder', async () => {
    expect(text).toContain('Bringing the stacks up:');
    expect(text.split('\n').filter((line) => line.length > COLUMNS && !line.includes(' is taken '))).toEqual([]);
    expect(await treeline(['status'], { cwd: folder })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^orders-db: Done\nshop-production: Done\nshop-staging: Done\nservers: \d+ done\ncommit /,
      ),
    });
    const second = await treeline(['demo'], { cwd: folder });
    expect(second.code).toBe(3);
    expect(second.stderr).toMatch(/ is in use by process \d+\. The demo runs here already: .*\n$/);
  });

  it('prints lines that show what a push has brought, a mistake and its correction', async () => {
    // What advice names is a command of that terminal, and a demo that does not answer is told.
    const unheard = `  TREELINE_SERVER=https://localhost:1 ask /tree 2>&1\n`;
    const printed = await paste(`${text}\n  treeline why shop-staging | sed 's/^/advised: /'\n${unheard}`, folder);
    expect(printed).toMatch(/^advised: shop-staging: /m);
    expect(printed).toMatch(/^curl: \(\d+\) .*localhost/m);
    const first = printed.indexOf('shop-staging: Done\n', printed.indexOf('One web server more'));
    const mistake = printed.indexOf('shop-staging: Invalid: stacks/instances/shop/shop-staging.yaml:5:16: ', first);
    const why = printed.indexOf('do: correct stacks/instances/shop/shop-staging.yaml, and push', mistake);
    const last = printed.indexOf('shop-staging: Done\n', why);
    expect([first, mistake, why, last]).toEqual([first, mistake, why, last].toSorted((a, b) => a - b));
    expect(first).toBeGreaterThan(0);
    expect(why).toBeGreaterThan(mistake);
    expect(last).toBeGreaterThan(why);
    expect(printed.slice(first, mistake)).toContain('  web  stage-web-3: done\n');
  });

  it('goes on from there when it is started again', async () => {
    // The lines kill a server, and what they show may come before it is made again.
    await expect
      .poll(async () => (await treeline(['status'], { cwd: folder })).stdout, { timeout: 30_000 })
      .toMatch(/^orders-db: Done\nshop-production: Done\nshop-staging: Done\n/);
    await demo.stop();
    const again = startDemo(folder);
    onTestFinished(() => again.kill());
    expect(await again.printed('To start over')).not.toContain('Bringing the stacks up');
    await again.stop();
  });
});

it('moves to free ports, and keeps them', async () => {
  const folder = temporaryDirectory();
  const holder = createServer();
  const { port } = await listenOn(holder, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => {
    holder.close();
  });
  writeFileSync(join(folder, 'local-server'), '', { mode: 0o700 });
  await ensureSettings(folder);
  const file = join(folder, 'treeline.yaml');
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace('8443', String(port)));

  const moved = await moveTakenPorts(folder, await ensureSettings(folder));
  expect(moved).toContainEqual({ listener: 'api', from: port, to: expect.any(Number) });
  const settings = await ensureSettings(folder);
  expect(settings.api.port).toBe(moved[0]?.to);
  expect(readFileSync(file, 'utf8')).toContain('# Servers are processes of this machine');
  expect(await moveTakenPorts(folder, settings)).toEqual([]);
});
