// A libvirt of the test's own with its pools, apart from that of the system: it runs as an ordinary user, below one folder. It can be killed and
// started again; its machines go on meanwhile, and end with the test.
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';

const NEEDED = [
  '/usr/sbin/libvirtd',
  '/usr/bin/virsh',
  '/usr/bin/qemu-system-x86_64',
  '/usr/bin/qemu-img',
  '/bin/busybox',
  '/usr/bin/xorriso',
  '/usr/bin/curl',
  '/usr/sbin/modprobe',
];
const missing = [
  ...NEEDED.filter((path) => !existsSync(path)),
  ...(globSync('/boot/vmlinuz-*-cloud-amd64').length > 0 ? [] : ["a kernel of Debian's linux-image-cloud-amd64"]),
];
/** The end of the title of what needs them: why there can be no machines here; empty: there can. */
export const NO_MACHINES = missing.length === 0 ? '' : ` (skipped, since there is no ${missing.join(', no ')})`;
const NOBODY = 65_534;
const START_MS_MAX = 30_000;

export class PrivateLibvirt {
  readonly folder: string;
  readonly uri: string;
  #daemon: ChildProcess | undefined;
  readonly #user: { readonly uid: number; readonly gid: number };

  /** Everything below `folder`, whose path has to be short: it holds sockets. */
  constructor(folder: string) {
    this.folder = folder;
    this.uri = `qemu:///session?socket=${join(folder, 'run/libvirt/libvirt-sock')}`;
    const { uid, gid } = userInfo();
    // libvirtd of root is that of the system.
    this.#user = uid === 0 ? { uid: NOBODY, gid: NOBODY } : { uid, gid };
    for (const name of ['', 'run', 'images', 'machines', 'consoles']) {
      mkdirSync(join(folder, name), { recursive: true, mode: 0o755 });
      chownSync(join(folder, name), this.#user.uid, this.#user.gid);
    }
    onTestFinished(() => this.#end());
  }

  /** Starts the daemon, and resolves once it answers. */
  async start(): Promise<void> {
    const home = {
      HOME: this.folder,
      XDG_RUNTIME_DIR: join(this.folder, 'run'),
      XDG_CONFIG_HOME: join(this.folder, 'config'),
    };
    this.#daemon = spawn('/usr/sbin/libvirtd', [], {
      ...{ ...this.#user, stdio: ['ignore', 'ignore', 'ignore'], detached: true, cwd: this.folder },
      env: { PATH: process.env.PATH, ...home, XDG_CACHE_HOME: join(this.folder, 'cache') },
    });
    const until = Date.now() + START_MS_MAX;
    for (;;) {
      const isUp = await this.virsh('uri').then(
        () => true,
        () => false,
      );
      if (isUp) return;
      if (Date.now() > until) throw new Error('libvirtd did not come up');
      await sleep(100);
    }
  }

  /** Defines the two pools. */
  async makePools(): Promise<void> {
    for (const pool of ['images', 'machines']) {
      await this.virsh('pool-define-as', pool, 'dir', '--target', join(this.folder, pool));
      await this.virsh('pool-start', pool);
      await this.virsh('pool-autostart', pool);
    }
  }

  /** Kills the daemon; its machines go on. */
  async kill(): Promise<void> {
    const daemon = this.#daemon;
    if (daemon === undefined || daemon.exitCode !== null || daemon.signalCode !== null) return;
    daemon.kill('SIGKILL');
    await once(daemon, 'exit');
  }

  /** Runs virsh as a person does, and returns what it printed. */
  async virsh(...args: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)('virsh', ['--quiet', '--connect', this.uri, ...args]);
    return stdout.trim();
  }

  /** Returns the names of all machines, sorted. */
  async machines(): Promise<readonly string[]> {
    return (await this.virsh('list', '--all', '--name'))
      .split('\n')
      .filter((name) => name !== '')
      .sort();
  }

  /** Returns what a machine has written to its console, in lines. */
  console(name: string): readonly string[] {
    const file = join(this.folder, 'consoles', `${name}.log`);
    return existsSync(file) ? readFileSync(file, 'utf8').split(/\r?\n/) : [];
  }

  /** Kills the process of a running machine: its power fails. */
  killMachine(name: string): void {
    for (const pid of this.#processes(`guest=${name},`)) process.kill(pid, 'SIGKILL');
  }

  async #end(): Promise<void> {
    await this.kill();
    for (const pid of this.#processes('guest=')) process.kill(pid, 'SIGKILL');
  }

  /** Of its machines: no other process has this folder and such an argument. */
  #processes(argument: string): readonly number[] {
    const list = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' }).split('\n');
    const own = list.filter((line) => line.includes('qemu-system') && line.includes(`${this.folder}/`));
    return own.filter((line) => line.includes(argument)).map((line) => Number.parseInt(line, 10));
  }
}
