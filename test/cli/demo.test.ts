// The demo as somebody starts, kills and ends it, on few servers: what it keeps, the proxy of one location, and ports that
// other programs use. test/readme.test.ts follows the documents.
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { ensureCredentials } from '../../src/cli/demo/credentials.ts';
import { ensureRepository } from '../../src/cli/demo/stacks-repository.ts';
import { ROOT, treeline } from '../support/command-line.ts';
import { itInFull } from '../support/count-runs.ts';
import { leaveFewServers } from '../support/few-servers.ts';
import { freePort } from '../support/free-port.ts';
import { runGit } from '../support/git-repository.ts';
import { createHttpsClient } from '../support/https-client.ts';
import { RunningDemo } from '../support/serving-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const LONG = { timeout: 60_000, interval: 100 };
/** Where each look starts a process. */
const SELDOM = { timeout: 60_000, interval: 500 };
const COLUMNS = 80;
const DONE = /^orders-db: Done\nshop-production: Done\nshop-staging: Done\nservers: 3 done\ncommit /;
const WEB = 'stage-web-1';
const IN_USE = /:\d+ is in use by another program: .* "treeline demo --port \d+" does\n$/;

/** The servers of {@link smallDemoFolder}: the first is the controller's, the others the proxy's. */
const SMALL_DEMO = ['orders-db', 'stage-cache', 'stage-web-1'] as const;

/** Returns a folder in which the demo finds a repository: the sample without most of its servers. */
async function smallDemoFolder(): Promise<string> {
  const parent = temporaryDirectory();
  const folder = join(parent, 'a folder');
  const work = join(parent, 'work');
  cpSync(join(ROOT, 'sample-repo'), work, { recursive: true });
  leaveFewServers(work, ['worker', 'balancer', 'mailtrap']);
  const staging = join(work, 'stacks/instances/shop/shop-staging.yaml');
  writeFileSync(staging, readFileSync(staging, 'utf8').replace('web_count: "2"', 'web_count: "1"'));
  mkdirSync(join(folder, '.treeline'), { recursive: true });
  const git = (...args: readonly string[]) => runGit(['-C', work, ...args]);
  await git('init', '--quiet', '--initial-branch=main');
  await git('add', '--all');
  await git('commit', '--quiet', '--message', 'A small demo');
  await runGit(['clone', '--quiet', '--bare', work, join(folder, '.treeline/stacks.git')]);
  return folder;
}

/** What a demo keeps in a folder. */
class Place {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  path(...parts: readonly string[]): string {
    return join(this.folder, '.treeline', ...parts);
  }

  /** Returns what the program of the proxy's servers prints. */
  async lab(...args: readonly string[]): Promise<string> {
    return (await promisify(execFile)(this.path('lab/local-server'), [...args])).stdout.trim();
  }

  async status(): Promise<string> {
    return (await treeline(['status'], { cwd: this.folder })).stdout;
  }

  /** Asks the demo that printed this as its administrator. */
  async ask(printed: string, path: string): Promise<unknown> {
    const read = (name: string): string => readFileSync(this.path('pki', name), 'utf8');
    const identity = { key: read('administrator.key'), cert: read('administrator.crt') };
    return (await createHttpsClient({ port: portIn(printed), ca: read('ca.crt') }, identity).request(path)).body;
  }

  /** The servers that programs were asked to create, sorted. */
  creates(): readonly string[] {
    const lines = ['local-servers', 'lab/local-servers'].flatMap((site) =>
      readFileSync(this.path(site, 'calls.log'), 'utf8').split('\n').slice(0, -1),
    );
    const calls = lines.map((line) => JSON.parse(line));
    const creates = calls.filter(({ event, operation }) => event === 'begin' && operation === 'create');
    return creates.map(({ resource }) => resource).sort();
  }

  /** Pushes another value for staging. */
  async setLogLevel(value: string): Promise<void> {
    const clone = join(temporaryDirectory(), 'clone');
    await runGit(['clone', '--quiet', this.path('stacks.git'), clone]);
    const file = join(clone, 'types/environment/staging.yaml');
    writeFileSync(file, `${readFileSync(file, 'utf8')}log_level: ${value}\n`);
    await runGit(['-C', clone, 'commit', '--quiet', '-am', `Log ${value}`]);
    await runGit(['-C', clone, 'push', '--quiet']);
  }
}

function portIn(printed: string): number {
  return Number(/https:\/\/localhost:(\d+) \(mutual TLS\)/.exec(printed)?.[1]);
}

/** The value that a server of the demo shows. Rejects where it does not run. */
async function shownBy(record: unknown, key: string): Promise<unknown> {
  const { url } = record as { readonly url: string };
  return ((await (await fetch(`${url}config.json`)).json()) as Readonly<Record<string, unknown>>)[key];
}

async function pathOf(program: string): Promise<string> {
  return (await promisify(execFile)('sh', ['-c', 'command -v "$0"', program])).stdout.trim();
}

/** Returns false also for a process of which only the exit code is left. */
function runs(pid: number | undefined): boolean {
  const stat = `/proc/${pid}/stat`;
  return pid !== undefined && existsSync(stat) && !/\) Z /.test(readFileSync(stat, 'utf8'));
}

itInFull(
  'the demo keeps its state over a kill and a stop, and its servers end and start with it',
  async () => {
    const place = new Place(await smallDemoFolder());
    const first = new RunningDemo(place.folder);
    const printed = await first.printed();
    expect(printed).toContain('Bringing the stacks up …\n');
    expect(printed).toContain('.treeline/lab/local-server list\n');
    expect(printed.split('\n').filter((line) => line.length > COLUMNS && !line.includes('README.md'))).toEqual([]);
    expect(await place.status()).toMatch(DONE);
    expect((await place.lab('list')).split('\n')).toHaveLength(2);
    expect(place.creates()).toEqual(SMALL_DEMO);
    const record = await place.ask(printed, `/hiera/${WEB}/`);
    await expect.poll(() => shownBy(record, 'log_level'), LONG).toBe('info');
    expect(await treeline(['proxy', '--check', '--config', place.path('lab/proxy.yaml')])).toMatchObject({ code: 0 });
    const beside = await treeline(['demo'], { cwd: place.folder });
    expect(beside.code).toBe(3);
    expect(beside.stderr).toMatch(/ is in use by another process\. The demo runs here already: .*\n$/);

    // A server that is killed is created again.
    process.kill(Number(await place.lab('pid', WEB)), 'SIGKILL');
    await expect.poll(() => place.lab('pid', WEB).catch(() => ''), SELDOM).toMatch(/^\d+$/);
    await expect.poll(() => place.status(), SELDOM).toMatch(DONE);

    // A demo that is killed leaves the servers.
    const server = await place.lab('pid', WEB);
    await first.end('SIGKILL');
    expect(await shownBy(record, 'name')).toBe(WEB);

    // The next one finds them as they are.
    const second = new RunningDemo(place.folder);
    const creates = place.creates();
    expect(portIn(await second.printed())).toBe(portIn(printed));
    expect(await place.lab('pid', WEB)).toBe(server);
    await second.end('SIGKILL');

    // If another program uses its port, it says how to choose others; its servers follow it there.
    const holder = createServer().listen(portIn(printed), '127.0.0.1');
    await once(holder, 'listening');
    expect(await treeline(['demo'], { cwd: place.folder })).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(IN_USE),
    });
    const port = await freePort();
    const third = new RunningDemo(place.folder, ['--port', String(port)]);
    const moved = await third.printed();
    expect(portIn(moved)).toBe(port);
    holder.close();
    expect(await place.ask(moved, `/hiera/${WEB}/`)).toEqual(record);
    await place.setLogLevel('debug');
    await expect.poll(() => shownBy(record, 'log_level'), LONG).toBe('debug');
    const left = Number(await place.lab('pid', WEB));
    expect(runs(left)).toBe(true);
    expect(await third.end('SIGINT')).toBe(0);
    expect(runs(left)).toBe(false);
    await expect(shownBy(record, 'log_level')).rejects.toThrow();

    // Servers that ended with the demo start with it.
    const fourth = new RunningDemo(place.folder);
    const again = await fourth.printed();
    expect(portIn(again)).toBe(port);
    expect(await place.ask(again, `/hiera/${WEB}/`)).toMatchObject({ ...(record as object), log_level: 'debug' });
    await expect.poll(() => shownBy(record, 'log_level'), LONG).toBe('debug');
    expect(await place.ask(again, '/stacks/instances/orders-db/status')).toBe('Done');
    expect(place.creates()).toEqual(creates);
    expect(await fourth.end('SIGINT')).toBe(0);
  },
  240_000,
);

it('the demo simulates servers without other tools, and uses other ports with --port', async () => {
  const place = new Place(await smallDemoFolder());
  const programs = temporaryDirectory();
  for (const name of ['git', 'sh']) symlinkSync(await pathOf(name), join(programs, name));
  const demo = new RunningDemo(place.folder, [], { PATH: programs });
  const printed = await demo.printed();
  expect(printed).not.toContain('local-server list');
  expect(await place.status()).toMatch(DONE);
  expect(await demo.end('SIGINT')).toBe(0);
  const holder = createServer().listen(portIn(printed), '127.0.0.1');
  await once(holder, 'listening');
  expect(await treeline(['demo'], { cwd: place.folder, env: { PATH: programs } })).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(IN_USE),
  });
  const port = await freePort();
  const args = ['--dir', join(basename(place.folder), '.treeline'), '--port', String(port)];
  const moved = new RunningDemo(dirname(place.folder), args, { PATH: programs });
  const told = await moved.printed();
  expect(told).toMatch(new RegExp(`:${port} [^]*:${port + 1}/ui/`));
  const variables = told.matchAll(/^ {2}export (TREELINE_[A-Z]+)='?([^'\n]+)/gm);
  const env = Object.fromEntries(Array.from(variables, ([, name, value]) => [name, value]));
  expect((await treeline(['status'], { cwd: programs, env })).stdout).toMatch(DONE);
  expect(await moved.end('SIGINT')).toBe(0);
  holder.close();
});

// Less than the demo waits for its stacks.
it('the demo ends on Ctrl-C while it creates the stacks', { timeout: 50_000 }, async () => {
  const demo = new RunningDemo(await smallDemoFolder());
  await demo.printed('Bringing the stacks up');
  expect(await demo.end('SIGINT')).toBe(0);
});

it('the demo fills a repository that an interrupted start left empty', async () => {
  const folder = temporaryDirectory();
  expect((await treeline(['demo'], { cwd: folder, env: { TMPDIR: join(folder, 'missing') } })).code).toBe(3);
  const log = (): Promise<string> =>
    runGit(['-C', join(folder, '.treeline/stacks.git'), 'log', '--all', '--format=%s']);
  expect(await log()).toBe('');
  const { clients } = await ensureCredentials(join(folder, '.treeline/pki'), Date.now());
  await ensureRepository(join(folder, '.treeline/stacks.git'), clients);
  expect((await log()).trim()).toBe('Start from the sample repository');
});

it('the demo creates certificates once, registers its administrator, and names an expired certificate', async () => {
  const folder = temporaryDirectory();
  const [pki, repository] = [join(folder, 'pki'), join(folder, 'stacks.git')];
  const { clients } = await ensureCredentials(pki, Date.now());
  await ensureRepository(repository, clients);
  const found = await runGit(['-C', repository, 'grep', '-l', '^role: administrator', 'HEAD', '--', 'clients/']);
  const { cert } = clients.administrator;
  const { serialNumber, validToDate } = new X509Certificate(readFileSync(cert));
  expect(found.trim()).toBe(`HEAD:clients/demo/${serialNumber}.yaml`);
  await ensureRepository(repository, (await ensureCredentials(pki, validToDate.getTime() - 60_000)).clients);
  expect((await runGit(['-C', repository, 'log', '--format=%s'])).trim()).toBe('Start from the sample repository');
  const later = ensureCredentials(pki, validToDate.getTime() + 60_000);
  await expect(later).rejects.toThrow(/has expired: remove the folder of the demo/);
});
