// Runs Ansible where the machine has it, Debian's package `ansible-core`, with the plugins of contrib/ansible. Its folders are those of a test.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect } from 'vitest';
import type { Controller } from '../../src/compose.ts';
import type { JsonMap } from '../../src/model/json.ts';
import { type ProcessResult, ROOT, run, skippedWithout } from './command-line.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const FOLDERS = (process.env.PATH ?? '').split(delimiter);
const PLAYBOOK = FOLDERS.map((folder) => join(folder, 'ansible-playbook')).find((path) => existsSync(path));
const PARSER = join(ROOT, 'test/contrib/parse-inventories.py');
const RUN_MS_MAX = 120_000;

export const NO_ANSIBLE = skippedWithout('ansible-core', 'ansible-playbook');

/** Options of the plugin by name. */
export type PluginOptions = Readonly<Record<string, string>>;

interface Listed {
  readonly _meta: { readonly hostvars: Readonly<Record<string, { readonly treeline: JsonMap }>> };
  readonly [group: string]: JsonMap;
}

/** Returns a folder with an inventory `all`, for the running test: its options are in the environment, but for `more`, lines of its file. */
export function createAnsible(options: PluginOptions, more = '') {
  const folder = temporaryDirectory();
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  const plugins = (kind: string): string => `${kind}_plugins = ${ROOT}/contrib/ansible/${kind}_plugins\n`;
  write('ansible.cfg', `[defaults]\n${plugins('inventory')}${plugins('callback')}callbacks_enabled = treeline\n`);
  write('all.treeline.yaml', `plugin: treeline\n${more}`);
  const variables = Object.entries(options).map(([name, value]) => [`TREELINE_${name.toUpperCase()}`, value]);
  const env = {
    HOME: folder,
    ANSIBLE_CONFIG: join(folder, 'ansible.cfg'),
    PYTHONDONTWRITEBYTECODE: '1',
    ...Object.fromEntries(variables),
  };
  const place = { cwd: folder, env, timeoutMs: RUN_MS_MAX };
  /** Runs a program of Ansible in the folder, which is also the home, with the inventory `name`. */
  const runIn = (program: string, args: readonly string[], name = 'all'): Promise<ProcessResult> =>
    run(program, ['-i', `${name}.treeline.yaml`, ...args], place);
  return {
    folder,
    write,
    run: runIn,
    /** Runs ansible-inventory, and returns all that it prints. */
    async list(...args: readonly string[]): Promise<Listed> {
      const { code, stdout, stderr } = await runIn('ansible-inventory', ['--list', ...args]);
      expect([code, stderr]).toEqual([0, expect.not.stringContaining('Failed')]);
      return JSON.parse(stdout);
    },
    /** Has the plugin parse these inventories in one process, and returns what it says of each. */
    async parse(names: readonly string[]): Promise<readonly string[]> {
      // The program begins with the name of the Python that has Ansible.
      const [python = ''] = readFileSync(PLAYBOOK ?? '', 'utf8')
        .slice('#!'.length)
        .trimStart()
        .split('\n');
      const { stdout } = await run(python, [PARSER, ...names.map((name) => `${name}.treeline.yaml`)], place);
      return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
    },
    /** Writes `name`.treeline.yaml. */
    inventory(name: string, changed: PluginOptions): void {
      const lines = Object.entries(changed).map(([key, value]) => `${key}: ${value}\n`);
      write(`${name}.treeline.yaml`, `plugin: treeline\n${lines.join('')}`);
    },
  };
}

/** Returns how often `/hiera/all` was answered, by status. */
export async function listAnswers({ management }: Pick<Controller, 'management'>): Promise<Record<string, number>> {
  const scrape = await (await fetch(`http://127.0.0.1:${management.port}/metrics`)).text();
  const lines = scrape.matchAll(/^treeline_http_requests_total\{(.*\/hiera\/all.*)\} (\d+)/gm);
  return Object.fromEntries(
    [...lines].map(([, labels = '', count]) => [/code="(\d+)"/.exec(labels)?.[1], Number(count)]),
  );
}
