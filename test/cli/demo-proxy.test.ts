// The proxy of the demo: it makes the servers of one location, is started again when it ends, and ends with the demo.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { ensureSettings } from '../../src/cli/demo/settings-file.ts';
import { BUNDLED, plainEnvironment, treeline } from '../support/command-line.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const LONG = { timeout: 60_000, interval: 200 };
const DONE = /^orders-db: Done\nshop-production: Done\nshop-staging: Done\n/;

class Demo {
  readonly folder: string;
  #child: ChildProcess | undefined;

  constructor(folder: string) {
    this.folder = folder;
    onTestFinished(() => this.end('SIGINT'));
  }

  async start(): Promise<string> {
    const child = spawn(process.execPath, [BUNDLED, 'demo'], {
      ...{ cwd: this.folder, env: plainEnvironment() },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#child = child;
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (more: string) => {
      text += more;
    });
    while (!text.includes('To start over')) {
      if (child.exitCode !== null) throw new Error(`the demo has ended: ${text}`);
      await Promise.race([once(child.stdout, 'data'), once(child, 'close')]);
    }
    return text;
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'close');
  }

  path(...parts: readonly string[]): string {
    return join(this.folder, '.treeline', ...parts);
  }

  /** Returns what the program of the proxy's servers prints. */
  async lab(...args: readonly string[]): Promise<string> {
    return (await promisify(execFile)(this.path('lab/local-server'), [...args])).stdout.trim();
  }

  /** The process that has the proxy's directory; undefined if none does. */
  proxy(): number | undefined {
    const owner = this.path('lab/state/lock-owner');
    return existsSync(owner) ? Number(/\d+/.exec(readFileSync(owner, 'utf8'))?.[0]) : undefined;
  }

  async status(): Promise<string> {
    return (await treeline(['status'], { cwd: this.folder })).stdout;
  }
}

/** Other tests start demos at the same time, and all begin with the same ports. */
function withOtherPorts(settings: string): string {
  const port = 20_000 + (process.pid % 5_000) * 2;
  return settings.replace('8443', String(port)).replace('9080', String(port + 1));
}

/** Returns false also for a process of which only the exit code is left. */
function runs(pid: number | undefined): boolean {
  const stat = `/proc/${pid}/stat`;
  return pid !== undefined && existsSync(stat) && !/\) Z /.test(readFileSync(stat, 'utf8'));
}

it('makes the servers of its location, is started again, and ends with the demo, however that ends', async () => {
  const folder = join(temporaryDirectory(), 'a folder');
  mkdirSync(folder);
  const demo = new Demo(folder);
  mkdirSync(demo.path());
  writeFileSync(demo.path('local-server'), '#!/bin/sh\nexit 1\n', { mode: 0o700 });
  await ensureSettings(demo.path());
  const file = demo.path('treeline.yaml');
  writeFileSync(file, withOtherPorts(readFileSync(file, 'utf8')));
  const printed = await demo.start();
  expect(printed).toContain('Those of the location lab are made by a proxy (treeline proxy):\n  stage-web-1 http://');
  expect((await demo.lab('list')).split('\n')).toHaveLength(6);
  expect(await treeline(['proxy', 'check', demo.path('lab/proxy.yaml')])).toMatchObject({ code: 0 });

  const first = demo.proxy();
  expect(runs(first)).toBe(true);
  process.kill(first ?? 0, 'SIGKILL');
  const server = Number(await demo.lab('pid', 'stage-web-1'));
  process.kill(server, 'SIGKILL');
  await expect.poll(() => demo.proxy() !== first && runs(demo.proxy()), LONG).toBe(true);
  await expect.poll(() => demo.lab('pid', 'stage-web-1').catch(() => ''), LONG).toMatch(/^\d+$/);
  await expect.poll(() => demo.status(), LONG).toMatch(DONE);

  const [second, left] = [demo.proxy(), await demo.lab('pid', 'stage-web-1')];
  await demo.end('SIGKILL');
  await expect.poll(() => runs(second), LONG).toBe(false);
  expect(runs(Number(left))).toBe(true);
  await demo.start();
  expect(await demo.lab('pid', 'stage-web-1')).toBe(left);
  await expect.poll(() => demo.proxy() !== undefined && runs(demo.proxy()), LONG).toBe(true);

  const third = demo.proxy();
  await demo.end('SIGINT');
  expect(runs(third)).toBe(false);
  expect(runs(Number(left))).toBe(false);
}, 180_000);

const OLDER = `# The settings of a demo that had no proxy.
id: demo
api:
  host: 127.0.0.1
  port: 8443
  tls: { key: pki/server.key, cert: pki/server.crt, clientCa: pki/ca.crt }
management: { host: 127.0.0.1, port: 9080 }
repository: { url: stacks.git, branch: main }
store: { kind: lowdb, directory: state }
execution:
  providers:
    - { name: demo, provider: exec, command: [./local-server], timeoutSeconds: 60, checkSeconds: 10, drift: heal }
`;

it('is none in the folder of an older demo, whose settings are kept', async () => {
  const demo = new Demo(temporaryDirectory());
  mkdirSync(demo.path());
  writeFileSync(demo.path('treeline.yaml'), withOtherPorts(OLDER));
  const printed = await demo.start();
  expect(printed).not.toContain('a proxy');
  expect(printed).toContain('stage-web-1 http://');
  expect(existsSync(demo.path('lab'))).toBe(false);
  // But for the ports, where they are taken.
  const settings = readFileSync(demo.path('treeline.yaml'), 'utf8');
  expect(settings.replaceAll(/port: \d+/g, 'port')).toBe(OLDER.replaceAll(/port: \d+/g, 'port'));
  expect(await demo.status()).toMatch(DONE);
}, 120_000);
