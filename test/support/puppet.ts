// Runs Puppet where the machine has it: Debian's package `puppet-agent`. Its folders, environments and facts are those of a test.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { productPath } from '../../src/base/product-files.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const FOLDERS = (process.env.PATH ?? '').split(':');

/** Whether it is there. */
export const HAS_PUPPET = FOLDERS.some((folder) => existsSync(`${folder}/puppet`));
/** The end of the title of what needs it: why that is skipped; empty where it is not. */
export const NO_PUPPET = HAS_PUPPET
  ? ''
  : ' (skipped: puppet is not installed here; Debian: apt-get install puppet-agent)';

/** The module, and the folder in which Puppet finds it. */
export const MODULE = productPath('contrib/openvox/treeline');

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  /** Without colours. */
  readonly stderr: string;
  readonly seconds: number;
}

/** Runs a program to its end; it does not outlive the running test. */
export async function runProgram(
  [program = '', ...args]: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const began = performance.now();
  const child = spawn(program, args, { env: { ...process.env, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.once('error', reject).once('close', resolve);
  const [code, stdout, stderr] = await Promise.all([promise, text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr, seconds: (performance.now() - began) / 1000 };
}

export interface PuppetSite {
  readonly folder: string;
  /** The options that make Puppet use the folders of this site alone. */
  readonly options: readonly string[];
  /** Makes an environment of these files; the module is in it. */
  addEnvironment(name: string, files: Readonly<Record<string, string>>): void;
  /** Runs `puppet` with these arguments. */
  puppet(...args: readonly string[]): Promise<Ended>;
}

/** Returns folders for Puppet, gone after the running test; of each of `nodes` it has facts, as agents have reported them. */
export function createPuppetSite(nodes: readonly string[]): PuppetSite {
  const folder = temporaryDirectory();
  const [environments, facts] = [join(folder, 'environments'), join(folder, 'var/yaml/facts')];
  mkdirSync(facts, { recursive: true });
  for (const node of nodes) {
    const values = { clientcert: node, certname: node, os: { family: 'Debian' } };
    writeFileSync(
      join(facts, `${node}.yaml`),
      `--- !ruby/object:Puppet::Node::Facts\nname: ${node}\nvalues: ${JSON.stringify(values)}\n`,
    );
  }
  const options = [
    '--confdir',
    join(folder, 'etc'),
    '--vardir',
    join(folder, 'var'),
    '--environmentpath',
    environments,
  ];
  return {
    folder,
    options: [...options, '--color', 'false'],
    addEnvironment(name, files) {
      const given = { 'environment.conf': `modulepath = ${dirname(MODULE)}\n`, ...files };
      for (const [path, content] of Object.entries(given)) {
        const file = join(environments, name, path);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, content);
      }
    },
    puppet: (...args) => runProgram(['puppet', ...args, ...options, '--color', 'false']),
  };
}
