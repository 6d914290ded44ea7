// Runs Puppet where the machine has it: Debian's package `puppet-agent`. Its folders, environments and facts are those of a test.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { productPath } from '../../src/base/product-files.ts';
import { type ProcessResult, run } from './command-line.ts';
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

export interface PuppetSite {
  readonly folder: string;
  /** The options that make Puppet use the folders of this site alone. */
  readonly options: readonly string[];
  /** Makes an environment of these files; the module is in it. */
  addEnvironment(name: string, files: Readonly<Record<string, string>>): void;
  /** Runs `puppet` with these arguments. */
  puppet(...args: readonly string[]): Promise<ProcessResult>;
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
    puppet: (...args) => run('puppet', [...args, ...options, '--color', 'false']),
  };
}
