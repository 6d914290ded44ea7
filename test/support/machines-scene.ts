// Two sites of real machines, each a libvirt of its own: one at which the controller works itself, and one behind a proxy. Every machine has a
// certificate that reads its own record only.
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { issueClientCertificate } from '../../src/base/development-pki.ts';
import { ROOT, treeline } from './command-line.ts';
import type { FileChanges } from './git-repository.ts';
import { PrivateLibvirt } from './private-libvirt.ts';
import { type Relay, startRelay } from './relay.ts';
import { ServingProcess } from './serving-process.ts';
import { createSiteIn, type Site } from './site-on-disk.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const PROGRAM = join(ROOT, 'contrib/providers/libvirt/libvirt.mjs');
const SITES = ['near', 'far'] as const;
type SiteName = (typeof SITES)[number];
/** Both keep the machines' processors: an emulated machine starts within seconds if few start at once. */
const CONCURRENCY = 3;

export class MachinesScene {
  readonly site: Site;
  readonly near: PrivateLibvirt;
  readonly far: PrivateLibvirt;
  /** The way to the controller for machines, the proxy and people, whichever process it is. */
  readonly relay: Relay;
  /** Of the program at each site, without the certificates of machines. */
  readonly environments: Readonly<Record<SiteName, Readonly<Record<string, string>>>>;
  controller: ServingProcess;
  proxy: ServingProcess;

  private constructor(parts: Omit<MachinesScene, 'killController' | 'killProxy' | 'treeline'>) {
    ({ site: this.site, near: this.near, far: this.far, relay: this.relay, environments: this.environments } = parts);
    ({ controller: this.controller, proxy: this.proxy } = parts);
  }

  /** Starts everything; the files and a registered certificate for each node are in the repository. `type` is libvirt's. */
  static async start(files: FileChanges, nodes: readonly string[], type: string): Promise<MachinesScene> {
    const folder = temporaryDirectory();
    // libvirt runs as another user.
    chmodSync(folder, 0o755);
    const [near, far] = [new PrivateLibvirt(join(folder, 'near')), new PrivateLibvirt(join(folder, 'far'))];
    const relay = await startRelay(0);
    const environments = { near: await prepareSite(near, 'near', type), far: await prepareSite(far, 'far', type) };
    const environmentOf = (name: SiteName): string =>
      JSON.stringify({
        ...{
          ...environments[name],
          TREELINE_LIBVIRT_TYPE: type,
          TREELINE_LIBVIRT_URL: `https://localhost:${relay.port}`,
        },
        TREELINE_LIBVIRT_CERTIFICATES: join(folder, 'machines'),
      });
    const command = `[${process.execPath}, ${PROGRAM}]`;
    const limits = `timeoutSeconds: 300, concurrency: ${CONCURRENCY}`;
    const execution = `  deleteBudget: { least: 3, most: 3 }
  retry: { attempts: 20, firstSeconds: 1, maxSeconds: 5, failedSeconds: 60 }
  graceSeconds: 5
  proxied: { timeoutSeconds: 300 }
  providers:
    - { name: near, match: { properties: { ProxyTag: near } }, provider: exec, command: ${command}, ${limits}, environment: ${environmentOf('near')} }`;
    const options = { files, repository: ', pollSeconds: 1', execution, provider: 'near' };
    const site = await createSiteIn(folder, options);
    await registerMachines(site, nodes);
    const settings = `server: https://127.0.0.1:${relay.port}
tls: { cert: proxy.crt, key: proxy.key, ca: ../pki/ca.crt }
directory: state
concurrency: ${CONCURRENCY}
providers:
  - { name: far, command: ${command}, environment: ${environmentOf('far')} }
`;
    const config = await registerProxy(site, settings);
    const controller = new ServingProcess(site.config);
    relay.target = await controller.port();
    const proxy = new ServingProcess(config, 'proxy');
    return new MachinesScene({ site, near, far, relay, environments, controller, proxy });
  }

  /** Kills the controller and starts another one on the same store. */
  async killController(): Promise<void> {
    await this.controller.end('SIGKILL');
    this.controller = new ServingProcess(this.site.config);
    this.relay.target = await this.controller.port();
  }

  async killProxy(): Promise<void> {
    await this.proxy.end('SIGKILL');
    this.proxy = new ServingProcess(join(this.site.folder, 'proxy/proxy.yaml'), 'proxy');
  }

  /** Runs a command of an administrator and returns what it printed. */
  async treeline(...args: readonly string[]): Promise<string> {
    const pki = join(this.site.folder, 'pki');
    const { stdout, stderr } = await treeline(args, {
      env: {
        TREELINE_SERVER: `https://127.0.0.1:${this.relay.port}`,
        ...{ TREELINE_CA: join(pki, 'ca.crt'), TREELINE_CERT: join(pki, 'administrator.crt') },
        TREELINE_KEY: join(pki, 'administrator.key'),
      },
    });
    return `${stdout}${stderr}`.trim();
  }
}

/** Starts the libvirt of a site, and returns the environment of the program there. */
async function prepareSite(
  libvirt: PrivateLibvirt,
  name: SiteName,
  type: string,
): Promise<Readonly<Record<string, string>>> {
  const { folder } = libvirt;
  const images = join(folder, 'images');
  makeImages(images);
  const template = join(folder, 'domain.xml');
  writeFileSync(template, templateOf(libvirt));
  await libvirt.start();
  await libvirt.makePools();
  return {
    ...{ TREELINE_LIBVIRT_URI: libvirt.uri, TREELINE_LIBVIRT_TYPE: type, TREELINE_LIBVIRT_TEMPLATE: template },
    ...{ TREELINE_LIBVIRT_DIRECTORY: join(folder, '..', `${name}-calls`), TREELINE_LIBVIRT_SHUTDOWN_SECONDS: '30' },
    ...{ TREELINE_LIBVIRT_POOL: 'machines', TREELINE_LIBVIRT_IMAGES: 'images', TREELINE_LIBVIRT_IMAGE: 'a.qcow2' },
  };
}

/** What machines are made of: kernel and initrd, and two images that differ in the letter that they hold. */
function makeImages(folder: string): void {
  execFileSync(join(ROOT, 'test/support/programs/make-guest.sh'), [join(folder, '..')], { stdio: 'ignore' });
  const raw = join(folder, '..', 'raw');
  for (const letter of ['a', 'b']) {
    const second = Buffer.from(letter.padEnd(512, '\0'));
    writeFileSync(raw, Buffer.concat([Buffer.alloc(512), second, Buffer.alloc(2 ** 24 - 1024)]));
    execFileSync('qemu-img', ['convert', '-f', 'raw', '-O', 'qcow2', raw, join(folder, `${letter}.qcow2`)]);
  }
}

/** A machine without a boot loader, in QEMU's own network, whose console is a file. */
function templateOf({ folder }: PrivateLibvirt): string {
  const boot = `<kernel>${folder}/kernel</kernel><initrd>${folder}/initrd</initrd><cmdline>console=ttyS0 quiet panic=1 no_timer_check</cmdline>`;
  const console = `<serial type='file'><source path='${folder}/consoles/@name@.log' append='on'/></serial>`;
  return (
    readFileSync(join(ROOT, 'contrib/providers/libvirt/domain.xml'), 'utf8')
      .replace(/<os>.*<\/os>/, `<os><type machine='pc'>hvm</type>${boot}</os>`)
      .replace("<interface type='network'>", "<interface type='user'>")
      .replace(/ *<source network=.*\n/, '')
      .replace(/<console .*/, console)
      // The path of its socket would be too long in the folder of a test.
      .replace(/ *<channel .*\n/, '')
  );
}

async function registerMachines({ folder, repository }: Site, nodes: readonly string[]): Promise<void> {
  const machines = join(folder, 'machines');
  mkdirSync(machines, { mode: 0o700 });
  copyFileSync(join(folder, 'pki/ca.crt'), join(machines, 'ca.crt'));
  const files: Record<string, string> = {};
  for (const name of nodes) {
    const { key, cert, serial } = await issueClientCertificate(authorityOf(folder), {
      commonName: name,
      now: Date.now(),
    });
    writeFileSync(join(machines, `${name}.key`), key, { mode: 0o600 });
    writeFileSync(join(machines, `${name}.crt`), cert);
    files[`clients/${serial}.yaml`] = `role: proxy\nnode: ${name}\ndescription: the machine ${name}\n`;
  }
  await repository.commit(files);
}

/** Returns the settings file of the proxy. */
async function registerProxy({ folder, repository }: Site, settings: string): Promise<string> {
  const home = join(folder, 'proxy');
  mkdirSync(home, { mode: 0o700 });
  const { key, cert, serial } = await issueClientCertificate(authorityOf(folder), {
    commonName: 'far',
    now: Date.now(),
  });
  writeFileSync(join(home, 'proxy.key'), key, { mode: 0o600 });
  writeFileSync(join(home, 'proxy.crt'), cert);
  writeFileSync(join(home, 'proxy.yaml'), settings);
  await repository.commit({ [`clients/${serial}.yaml`]: 'role: proxy\ntags: [far]\n' });
  return join(home, 'proxy.yaml');
}

function authorityOf(folder: string): { readonly cert: string; readonly key: string } {
  const [cert, key] = ['ca.crt', 'ca.key'].map((file) => readFileSync(join(folder, 'pki', file), 'utf8'));
  return { cert: cert ?? '', key: key ?? '' };
}
