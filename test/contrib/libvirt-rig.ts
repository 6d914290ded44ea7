// contrib/providers/libvirt with a stand-in for virsh, so that it can be called without libvirt.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/command-line.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { type ProviderProgram, providerProgram } from './provider-program.ts';

export const LIBVIRT = 'libvirt/libvirt.mjs';
const STAND_IN = join(ROOT, 'test/support/programs/virsh.sh');

interface Rig extends ProviderProgram {
  readonly environment: Readonly<Record<string, string>>;
  /** Where the stand-in keeps machines, volumes, and the commands that changed them. */
  readonly machines: string;
  /** Returns the commands that changed something since the last call of this, in their order, without their arguments. */
  changes(): readonly string[];
  /** Runs the stand-in as an operator does. */
  virsh(...args: readonly string[]): void;
  /** Returns what a file below `machines` holds; undefined where it is not there. */
  read(path: string): string | undefined;
  /** Writes a file below `machines`. */
  write(path: string, text: string): void;
}

export function createRig(more: Readonly<Record<string, string>> = {}): Rig {
  const folder = temporaryDirectory();
  const [programs, machines, certificates] = ['bin', 'machines', 'pki'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [programs, certificates, join(machines, 'pools/images'), join(machines, 'pools/machines')]) {
    mkdirSync(path, { recursive: true });
  }
  for (const name of ['virsh', 'xorriso']) symlinkSync(STAND_IN, join(programs, name));
  writeFileSync(join(machines, 'place'), '0b5e1c52-pool\n');
  writeFileSync(join(machines, 'pools/images/debian.qcow2'), `${2 * 2 ** 30}\n\n`);
  for (const file of ['ca.crt', 'web-1.crt', 'web-1.key']) writeFileSync(join(certificates, file), `PEM of ${file}\n`);
  const environment = {
    PATH: `${programs}:/usr/bin:/bin`,
    MACHINES: machines,
    TREELINE_LIBVIRT_DIRECTORY: join(folder, 'calls'),
    TREELINE_LIBVIRT_POOL: 'machines',
    TREELINE_LIBVIRT_IMAGES: 'images',
    TREELINE_LIBVIRT_IMAGE: 'debian.qcow2',
    TREELINE_LIBVIRT_CERTIFICATES: certificates,
    TREELINE_LIBVIRT_URL: 'https://treeline.example:8443',
    ...more,
  };
  let seen = 0;
  const read = (path: string): string | undefined =>
    existsSync(join(machines, path)) ? readFileSync(join(machines, path), 'utf8') : undefined;
  const virsh = (...args: readonly string[]): void =>
    void execFileSync(STAND_IN, ['--quiet', '--connect', 'test', ...args], { env: environment });
  const changes = (): readonly string[] => {
    const lines = read('log')?.split('\n').slice(0, -1) ?? [];
    const fresh = lines.slice(seen).map((line) => line.split(' ')[0] ?? '');
    seen = lines.length;
    return fresh;
  };
  const write = (path: string, text: string): void => writeFileSync(join(machines, path), text);
  return { ...providerProgram(LIBVIRT, environment), environment, machines, changes, virsh, read, write };
}
