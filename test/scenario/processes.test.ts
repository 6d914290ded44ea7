// The controller as a process of its own: how it starts, stops and goes on. Kills and the lock of the store have tests
// of their own beside this one.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BUNDLED } from '../support/command-line.ts';
import { runGit } from '../support/git-repository.ts';
import { createHttpsClient } from '../support/https-client.ts';
import { effectsIn, PATIENCE, runController } from '../support/running-controller.ts';
import { ServingProcess } from '../support/serving-process.ts';
import { createSite, type Site } from '../support/site.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { SERVERS, STACKS } from './stacks.ts';

/** Rewrites the operator's settings. */
function change({ config }: Site, from: string | RegExp, to: string): void {
  const before = readFileSync(config, 'utf8');
  const after = before.replace(from, to);
  expect(after).not.toBe(before);
  writeFileSync(config, after);
}

describe('treeline serve', () => {
  it('stops cleanly in the middle of its work, and the next start finishes it', { timeout: 60_000 }, async () => {
    const site = await createSite(STACKS);
    change(site, 'createMs: 15', 'createMs: 400');
    const serving = new ServingProcess(site.config);
    const isCreating = () => serving.lines.some(({ to }) => to === 'creating');
    await expect.poll(isCreating, PATIENCE).toBe(true);
    const asked = performance.now();
    expect(await serving.end('SIGTERM')).toBe(0);
    expect(performance.now() - asked).toBeLessThan(25_000);
    expect(serving.stderr).toBe('');
    expect(serving.lines.at(-1)).toMatchObject({ msg: 'stopped' });
    const before = effectsIn(site).length;
    expect(before, 'all was done before it was asked to stop').toBeLessThan(SERVERS.length);

    const running = await runController(site);
    await running.untilDone(await site.repository.head(), 'office', 'shop');
    expect(
      effectsIn(site)
        .map(({ server, operation }) => `${operation} ${server}`)
        .sort(),
    ).toEqual(SERVERS.map((server) => `create ${server}`));
  });

  it('refuses a setting that it does not know, with its line', async () => {
    const site = await createSite(STACKS);
    change(site, /^store:/m, 'stroe:');
    const serving = new ServingProcess(site.config);
    expect(await serving.exit()).toBe(3);
    expect(serving.stderr).toMatch(/treeline\.yaml:4:1: .*"stroe".*did you mean "store"/);
    expect(serving.lines).toEqual([]);
  });
});

/** The demo, and what it prints. */
class Demo {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  #printed = '';

  constructor(folder: string) {
    const inherited = Object.entries(process.env).filter(([name]) => !/^(npm_|INIT_CWD)/.test(name));
    this.#child = spawn(process.execPath, [BUNDLED, 'demo'], {
      cwd: folder,
      env: Object.fromEntries(inherited),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#closed = once(this.#child, 'close');
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#printed += text;
      });
    }
    onTestFinished(() => {
      this.#child.kill('SIGKILL');
    });
  }

  get printed(): string {
    return this.#printed;
  }

  /** Resolves with the port of the REST interface once the demo says that it is running. */
  async port(): Promise<number> {
    await expect.poll(() => this.#printed, { timeout: 60_000, interval: 50 }).toContain('Treeline is running.');
    return Number(/https:\/\/localhost:(\d+) \(mutual TLS\)/.exec(this.#printed)?.[1]);
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  async end(): Promise<number | null> {
    this.#child.kill('SIGINT');
    await this.#closed;
    return this.#child.exitCode;
  }
}

/** Asks a demo as its administrator. */
async function ask(folder: string, port: number, path: string): Promise<unknown> {
  const read = (name: string): string => readFileSync(join(folder, '.treeline/pki', name), 'utf8');
  const identity = { key: read('administrator.key'), cert: read('administrator.crt') };
  return (await createHttpsClient({ port, ca: read('ca.crt') }, identity).request(path)).body;
}

/** Takes a port unless somebody has it already: in either case it is taken afterwards. */
async function take(port: number): Promise<void> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await Promise.race([once(server, 'listening'), once(server, 'error').then(() => undefined)]).catch(() => undefined);
  onTestFinished(() => {
    server.close();
  });
}

/** The address of a server's page, out of its record. */
function urlIn(record: unknown): string {
  return (record as { readonly url: string }).url;
}

/** The value that a server of the demo shows. Rejects where it does not run. */
async function shownBy(url: string, key: string): Promise<unknown> {
  return ((await (await fetch(`${url}config.json`)).json()) as Readonly<Record<string, unknown>>)[key];
}

/** The servers that the demo's provider was asked to create, sorted. */
function createsIn(folder: string): readonly string[] {
  const lines = ['local-servers', 'lab/local-servers'].flatMap((site) =>
    readFileSync(join(folder, '.treeline', site, 'calls.log'), 'utf8')
      .split('\n')
      .slice(0, -1),
  );
  const calls = lines.map((line) => JSON.parse(line));
  const creates = calls.filter(({ event, operation }) => event === 'begin' && operation === 'create');
  return creates.map(({ resource }) => resource).sort();
}

/** Pushes another value for staging. */
async function setLogLevel(repository: string, folder: string, value: string): Promise<void> {
  const clone = join(folder, 'clone');
  await runGit(['clone', '--quiet', repository, clone]);
  const file = join(clone, 'types/environment/staging.yaml');
  writeFileSync(file, `${readFileSync(file, 'utf8')}log_level: ${value}\n`);
  await runGit(['-C', clone, 'commit', '--quiet', '-am', `Log ${value}`]);
  await runGit(['-C', clone, 'push', '--quiet']);
}

describe('treeline demo', () => {
  it('comes up in an empty folder, keeps everything, and takes other ports where its own are taken', async () => {
    const folder = temporaryDirectory();
    const first = new Demo(folder);
    const port = await first.port();
    expect(await ask(folder, port, '/stacks/instances/shop-staging/status')).toBe('Done');
    expect(await ask(folder, port, '/stacks/instances/shop-production/status')).toBe('Done');
    const record = await ask(folder, port, '/hiera/stage-web-1/');
    const url = urlIn(record);
    await expect.poll(() => shownBy(url, 'log_level'), PATIENCE).toBe('info');
    const creates = createsIn(folder);
    expect(creates).toHaveLength(15);
    expect(await first.end()).toBe(0);
    await expect(shownBy(url, 'log_level')).rejects.toThrow();

    await Promise.all([take(8443), take(9080)]);
    const second = new Demo(folder);
    const other = await second.port();
    expect(other).not.toBe(8443);
    expect(second.printed).not.toContain('127.0.0.1:9080');
    expect(await ask(folder, other, '/hiera/stage-web-1/')).toEqual(record);
    expect(await ask(folder, other, '/stacks/instances/shop-production/status')).toBe('Done');
    expect(createsIn(folder)).toEqual(creates);
    await expect.poll(() => shownBy(url, 'log_level'), PATIENCE).toBe('info');
    const common = join(folder, '.treeline/stacks.git');
    await setLogLevel(common, folder, 'error');
    await expect.poll(() => shownBy(url, 'log_level'), PATIENCE).toBe('error');
    expect(await second.end()).toBe(0);
  }, 120_000);

  it('finds its servers after it was killed, and asks them to follow where it has moved to', async () => {
    const folder = temporaryDirectory();
    const first = new Demo(folder);
    await first.port();
    const url = urlIn(await ask(folder, await first.port(), '/hiera/stage-web-1/'));
    first.kill();
    await expect.poll(() => shownBy(url, 'name'), PATIENCE).toBe('stage-web-1');
    await take(8443);
    const second = new Demo(folder);
    await second.port();
    expect(createsIn(folder)).toHaveLength(15);
    await setLogLevel(join(folder, '.treeline/stacks.git'), folder, 'debug');
    await expect.poll(() => shownBy(url, 'log_level'), PATIENCE).toBe('debug');
    expect(await second.end()).toBe(0);
  }, 120_000);
});
