// What is installed on a machine, on a machine: the image that buildah makes of the Dockerfile, and the Debian package. Both bring the
// sample up as they would there: with a root that is only read, as a user of their own, without capabilities. Both at once. `.ci/run` runs this.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { ROOT, run } from '../support/command-line.ts';
import { type Confinement, connectRoot, inRoot, makeDebianRoot, missingFor, runTool } from '../support/debian-root.ts';
import { yamlFilesIn } from '../support/git-repository.ts';
import { createHttpsClient } from '../support/https-client.ts';
import { simulatedRows } from '../support/simulated-rows.ts';
import { createSiteIn, type Site } from '../support/site-on-disk.ts';

const PATIENCE = { timeout: 60_000, interval: 100 };
const BUILD_MS_MAX = 600_000;
const SERVICE = 'usr/lib/systemd/system/treeline.service';
const missing = missingFor('buildah');

let folder = '';
let archive = '';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'treeline-installed-'));
  chmodSync(folder, 0o755);
  archive = join(folder, 'root.tar');
  // libatomic1: Node's own image has it, and the package asks for it.
  if (missing === '') await makeDebianRoot(archive, 'libatomic1');
}, BUILD_MS_MAX);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns a site whose settings and repository are for `/etc/treeline` and `/srv/stacks.git` of a root. */
async function siteFor(name: string, user: number): Promise<Site> {
  const site = await createSiteIn(join(folder, name), {
    files: yamlFilesIn(join(ROOT, 'sample-repo')),
    execution: '',
    provider: 'rehearsal',
  });
  const settings = join(site.folder, 'pki');
  writeFileSync(
    join(settings, 'treeline.yaml'),
    `api: { port: 0, tls: { key: server.key, cert: server.crt, clientCa: ca.crt } }
management: { port: 0 }
repository: { url: /srv/stacks.git }
store: { directory: /var/lib/treeline }
execution:
  providers:
    - { name: rehearsal, provider: simulated, options: { createMs: 20, updateMs: 20, deleteMs: 20 } }
`,
  );
  chmodSync(settings, 0o755);
  for (const file of readdirSync(settings)) chmodSync(join(settings, file), file === 'server.key' ? 0o440 : 0o444);
  chownSync(join(settings, 'server.key'), 0, user);
  return site;
}

interface Running {
  readonly process: ChildProcess;
  readonly management: number;
}

/** Starts a controller, and resolves once every instance is done. */
async function start(site: Site, [file, args]: readonly [string, readonly string[]]): Promise<Running> {
  const controller = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  for (const stream of [controller.stdout, controller.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
  const listening = (): string | undefined => log.split('\n').find((line) => line.includes('"msg":"listening"'));
  await expect.poll(() => listening() ?? controller.exitCode, { ...PATIENCE, message: log }).not.toBeNull();
  expect(controller.exitCode, log).toBeNull();
  const { api, management } = JSON.parse(listening() ?? '{}');
  const client = createHttpsClient({ port: api.port, ca: site.ca }, site.administrator);
  const statuses = async (): Promise<unknown> => {
    const { body } = await client.request('/operations/status');
    return (body as { readonly instances?: readonly { readonly status: string }[] }).instances?.map(
      ({ status }) => status,
    );
  };
  await expect.poll(statuses, PATIENCE).toEqual(['Done', 'Done', 'Done']);
  return { process: controller, management: management.port };
}

/** What the kernel says of the rights of a process. */
function rightsOf({ process: { pid } }: Running): Readonly<Record<string, string>> {
  const lines = readFileSync(`/proc/${pid}/status`, 'utf8').split('\n');
  return Object.fromEntries(lines.map((line) => line.split(':\t') as [string, string]));
}

async function stop({ process: controller }: Running, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  controller.kill(signal);
  expect(await once(controller, 'exit')).toEqual([0, null]);
}

function expectNoRights(running: Running, user: number): void {
  const rights = rightsOf(running);
  expect(rights.Uid?.split('\t')).toEqual(Array(4).fill(String(user)));
  for (const set of ['CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
    expect(Number.parseInt(rights[set] ?? '', 16), set).toBe(0);
  expect(rights.NoNewPrivs).toBe('1');
}

describe(`the image${missing}`, () => {
  const BASE = /^FROM (\S+)/m.exec(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'))?.[1] ?? '';

  function buildah(...args: readonly string[]): Promise<string> {
    const storage = ['--root', join(folder, 'images'), '--runroot', join(folder, 'run'), '--storage-driver', 'overlay'];
    return runTool('buildah', [...storage, ...args], { timeoutMs: BUILD_MS_MAX });
  }

  afterAll(async () => {
    if (missing !== '') return;
    await buildah('rm', '--all');
    await buildah('rmi', '--all', '--force');
  });

  /** The root, with the Node of package-lock.json and this machine's npm, by the name of the image that it stands for. */
  async function makeBase(): Promise<void> {
    const container = (await buildah('from', 'scratch')).trim();
    const root = (await buildah('mount', container)).trim();
    await runTool('tar', ['-xf', archive, '-C', root]);
    cpSync(process.execPath, join(root, 'usr/local/bin/node'));
    const npm = realpathSync((await runTool('which', ['npm'])).trim());
    cpSync(join(dirname(npm), '..'), join(root, 'usr/local/lib/npm'), { recursive: true });
    symlinkSync('../lib/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'));
    const registry = (await runTool('npm', ['config', 'get', 'registry'])).trim();
    const environment = [
      `npm_config_registry=${registry}`,
      'npm_config_cache=/npm',
      'NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt',
    ];
    await buildah('config', ...environment.flatMap((each) => ['--env', each]), container);
    await buildah('commit', '--quiet', '--rm', container, BASE);
  }

  it.skipIf(missing !== '').concurrent(
    'is built, makes every stack done without capabilities, and stops',
    async () => {
      await makeBase();
      // What the checkout was installed from is in npm's cache.
      const cache = (await runTool('npm', ['config', 'get', 'cache'])).trim();
      const how = [
        '--isolation',
        'chroot',
        '--format',
        'docker',
        '--pull-never',
        '--quiet',
        '--volume',
        `${cache}:/npm`,
      ];
      await buildah('build', ...how, '--tag', 'treeline', ROOT);
      const container = (await buildah('from', '--pull-never', 'treeline')).trim();
      const root = (await buildah('mount', container)).trim();
      const { config } = JSON.parse(await buildah('inspect', '--type', 'image', 'treeline')).Docker;
      const user = Number(/^\d+/.exec(config.User)?.[0]);
      const site = await siteFor('image', user);
      const state = join(site.folder, 'volume');
      mkdirSync(state, { mode: 0o700 });
      chownSync(state, user, user);
      const confinement: Confinement = {
        user: config.User,
        isReadOnly: true,
        directory: config.WorkingDir,
        environment: Object.fromEntries(config.Env.map((each: string) => each.split(/=(.*)/s).slice(0, 2))),
        mounts: {
          '/etc/treeline': { from: join(site.folder, 'pki'), isReadOnly: true },
          '/srv': { from: dirname(site.repository.path), isReadOnly: true },
          '/var/lib/treeline': { from: state, isReadOnly: false },
        },
      };
      const inImage = (command: readonly string[]) => inRoot(root, command, confinement);
      for (const place of ['/', '/etc/treeline', '/opt/treeline', '/srv/stacks.git'])
        expect(await run(...inImage(['touch', `${place}/written`]))).toMatchObject({ code: 1 });

      const running = await start(site, inImage([...config.Entrypoint, ...config.Cmd]));
      expectNoRights(running, user);
      const check = config.Healthcheck.Test.slice(1).map((part: string) =>
        part.replace(':9080', `:${running.management}`),
      );
      expect(await run(...inImage(check))).toMatchObject({ code: 0 });
      await stop(running, config.StopSignal);
      expect(await run(...inImage(check))).toMatchObject({ code: 1 });
    },
    BUILD_MS_MAX,
  );
});

describe(`the Debian package${missing}`, () => {
  let root = '';
  const aptGet = (...args: readonly string[]) =>
    runTool(...inRoot(root, ['env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '--quiet', '--yes', ...args]));
  const inside = (path: string): string => join(root, path);

  /** The package as one with an earlier version. */
  async function earlier(deb: string): Promise<string> {
    const unpacked = join(folder, 'earlier');
    await runTool('dpkg-deb', ['--raw-extract', deb, unpacked]);
    const control = join(unpacked, 'DEBIAN/control');
    writeFileSync(control, readFileSync(control, 'utf8').replace(/^Version: .*$/m, 'Version: 0.0.9'));
    const file = join(folder, 'treeline_0.0.9.deb');
    await runTool('dpkg-deb', ['--root-owner-group', '-Znone', '--build', unpacked, file]);
    return file;
  }

  async function install(deb: string): Promise<void> {
    cpSync(deb, inside('srv/treeline.deb'));
    await aptGet('install', '--no-install-recommends', '/srv/treeline.deb');
  }

  /** Starts it as the unit does. */
  async function startUnit(site: Site): Promise<Running> {
    const unit = readFileSync(inside(SERVICE), 'utf8');
    const setting = (key: string): string => new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1] ?? '';
    const writable = ['/var/lib/treeline', '/var/log/treeline'];
    return await start(
      site,
      inRoot(root, setting('ExecStart').split(' '), {
        user: setting('User'),
        isReadOnly: setting('ProtectSystem') === 'strict',
        directory: setting('WorkingDirectory'),
        environment: { PATH: '/usr/bin:/bin', NODE_ENV: 'production' },
        mounts: Object.fromEntries(writable.map((path) => [path, { from: inside(path), isReadOnly: false }])),
      }),
    );
  }

  it.skipIf(missing !== '').concurrent(
    'is installed, upgraded, removed and purged',
    async () => {
      root = join(folder, 'debian');
      mkdirSync(root);
      await runTool('tar', ['-xf', archive, '-C', root]);
      connectRoot(root);
      const deb = (await runTool(join(ROOT, 'packaging/build-deb.sh'), [folder])).trim();

      await install(await earlier(deb));
      expect(await run(...inRoot(root, ['treeline', '--version']))).toMatchObject({
        stdout: `${packageJson.version}\n`,
      });
      expect((await run(...inRoot(root, ['ldd', '/usr/lib/treeline/bin/node']))).stdout).not.toContain('not found');
      const { uid, mode } = statSync(inside('var/lib/treeline'));
      expect(uid).toBeGreaterThan(0);
      expect(mode & 0o777).toBe(0o700);

      const site = await siteFor('deb', statSync(inside('var/lib/treeline')).gid);
      cpSync(join(site.folder, 'pki'), inside('etc/treeline'), { recursive: true });
      chownSync(inside('etc/treeline/server.key'), 0, uid);
      cpSync(site.repository.path, inside('srv/stacks.git'), { recursive: true });
      const settings = readFileSync(inside('etc/treeline/treeline.yaml'));
      const first = await startUnit(site);
      expectNoRights(first, uid);
      await stop(first);
      const servers = simulatedRows(inside('var/lib/treeline/simulated-rehearsal.sqlite'));

      await install(deb);
      expect(readFileSync(inside('etc/treeline/treeline.yaml'))).toEqual(settings);
      await stop(await startUnit(site));
      expect(simulatedRows(inside('var/lib/treeline/simulated-rehearsal.sqlite'))).toEqual(servers);

      await aptGet('remove', 'treeline');
      expect(['usr/lib/treeline', 'usr/bin/treeline', SERVICE].filter((path) => existsSync(inside(path)))).toEqual([]);
      expect(readFileSync(inside('etc/treeline/treeline.yaml'))).toEqual(settings);
      expect(existsSync(inside('var/lib/treeline/store.sqlite'))).toBe(true);

      mkdirSync(inside('etc/systemd/system/multi-user.target.wants'), { recursive: true });
      symlinkSync(`/${SERVICE}`, inside('etc/systemd/system/multi-user.target.wants/treeline.service'));
      await aptGet('purge', 'treeline');
      const left = await runTool('find', [
        root,
        '-xdev',
        '-name',
        '*treeline*',
        '-o',
        '-xdev',
        '-nouser',
        '-o',
        '-xdev',
        '-nogroup',
      ]);
      expect(left.split('\n').filter((path) => path !== '' && path !== inside('srv/treeline.deb'))).toEqual([]);
      for (const file of ['passwd', 'group', 'shadow', 'gshadow'])
        expect(readFileSync(inside(`etc/${file}`), 'utf8')).not.toMatch(/treeline/);
    },
    BUILD_MS_MAX,
  );
});
