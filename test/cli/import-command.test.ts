// Tests `treeline import` as an operator runs it: what it prints, writes and refuses, for each kind of source; and that the servers
// of an imported estate come under a real controller without any action.
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { compareNames } from '../../src/model/names.ts';
import type { Settings } from '../../src/model/settings.ts';
import { treeline } from '../support/command-here.ts';
import type { ProcessResult } from '../support/command-line.ts';
import { runController } from '../support/running-controller.ts';
import { createSite } from '../support/site.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const WEB = { ntp: ['one', 'two'], url: '{{ base }}/x', port: 80, limits: { open_files: 4096 }, workers: 4 };
const LISTED = JSON.stringify({
  _meta: {
    hostvars: {
      'web-01.example.com': WEB,
      'web-02.example.com': { ...WEB, port: 8080 },
      'web-03.example.com': WEB,
      'db.example.com': { ntp: WEB.ntp, url: WEB.url, backup: '/var/backup', db_password: 'hunter2' },
    },
  },
  all: { children: ['ungrouped', 'production'] },
  production: { children: ['web', 'db'] },
  web: { hosts: ['web-01.example.com', 'web-02.example.com', 'web-03.example.com'] },
  db: { hosts: ['db.example.com'] },
});
/** Stands in for Ansible: prints the inventory of these files, a warning, or an error. */
const ANSIBLE = `#!/bin/sh
echo "$@" >> arguments
case "$2" in
  broken) echo "ERROR! no such inventory, with $(ulimit -v) KiB" >&2; exit 1 ;;
  odd) echo "[WARNING]: Invalid characters were found in
group names" >&2 ;;
esac
cat listed.json
`;
const HIERA = 'version: 5\nhierarchy: [{ name: n, path: "%{trusted.certname}.yaml" }, { name: c, path: c.yaml }]\n';
const FILES = { 'inventory/hosts': '[web]\n', 'listed.json': LISTED, 'bin/ansible-inventory': ANSIBLE };

/** Returns a directory with these files. */
function directoryOf(files: Readonly<Record<string, string>>): string {
  const directory = temporaryDirectory();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text, { mode: path.startsWith('bin/') ? 0o755 : 0o644 });
  }
  return directory;
}

function importIn(cwd: string, ...args: readonly string[]): Promise<ProcessResult> {
  return treeline(['import', ...args], { cwd, env: { PATH: `${join(cwd, 'bin')}:${process.env.PATH}` } });
}

/** Returns the files of a stacks repository by path, without the schemas. */
function filesOf(directory: string): Readonly<Record<string, string>> {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries.map(({ parentPath, name }) => join(parentPath, name).slice(directory.length + 1));
  const own = paths.filter((path) => !path.startsWith('schemas/')).sort(compareNames);
  return Object.fromEntries(own.map((path) => [path, readFileSync(join(directory, path), 'utf8')]));
}

describe('treeline import', () => {
  it('writes a repository, lists what it does not import, and proves the rest', async () => {
    const directory = directoryOf(FILES);
    const { code, stdout, stderr } = await importIn(directory, 'inventory', '--playbooks', '.', '--out', 'stacks');
    expect({ code, stderr, stdout }).toEqual({
      code: 0,
      stderr: '',
      stdout: `wrote to stacks:
    hierarchy         1
    stacks/instances  2
    stacks/templates  2
    tree              1
    types/clientcert  1
    types/common      1
    types/role        2
not imported: 2 values
    inventory  url          it is a template of Jinja, which Ansible evaluates for each task (web-01.example.com and 3 more)
    inventory  db_password  it looks like a secret: keep it in a secret store, and write a reference (db.example.com)
0 differing keys on 4 nodes; 14 keys compared; not imported: 0 servers, 5 keys
`,
    });
    expect(readFileSync(join(directory, 'arguments'), 'utf8')).toBe('-i inventory --list --playbook-dir .\n');
    const files = filesOf(join(directory, 'stacks'));
    expect(Object.values(files).join('')).not.toContain('hunter2');
    expect(files['types/role/web.yaml']).toContain('limits::open_files: 4096\nport: 80\nworkers: 4\n');
    const checked = await treeline(['validate', 'stacks'], { cwd: directory });
    expect([checked.code, checked.stdout]).toEqual([0, expect.stringMatching(/ 0 errors, 1 warning\n$/)]);
    const explained = await treeline(['explain', 'web-02.example.com', 'port', '--dir', 'stacks'], { cwd: directory });
    expect(explained.stdout).toMatch(/^port = 8080\n/);
    const again = await importIn(directory, 'inventory', '--out', 'stacks');
    expect([again.code, again.stderr]).toEqual([
      3,
      'treeline: stacks is not empty, and nothing is written over: name another folder with --out\n',
    ]);
    expect(filesOf(join(directory, 'stacks'))).toEqual(files);
  });

  it('reads Hiera trees, Terraform states and tables together', async () => {
    const instance = { attributes: { name: 'web-1', server_type: 'cx22', location: 'nbg1' } };
    const directory = directoryOf({
      'control/hiera.yaml': HIERA,
      'control/data/c.yaml': 'role: "%{facts.role}"\n',
      'terraform.tfstate': JSON.stringify({
        version: 4,
        resources: [{ mode: 'managed', type: 'hcloud_server', name: 'web', instances: [instance] }],
      }),
      'nodes.csv': 'certname,role\nweb-1,web\nweb-2,web\n',
    });
    // As a spreadsheet saves a table as "Unicode text".
    writeFileSync(join(directory, 'more.csv'), '\uFEFFname\track\r\nweb-1\tr1\r\nweb-2\tr2\r\n', 'utf16le');
    const sources = ['control', 'terraform.tfstate', 'more.csv', '--nodes', 'nodes.csv', '--layer', 'zone=rack'];
    const { code, stdout } = await importIn(directory, ...sources, '--out', 'stacks', '--format', 'json');
    expect({ code, report: JSON.parse(stdout) }).toMatchObject({
      code: 0,
      report: { nodes: 2, differing: 0, keys: 6, leftOut: [], problems: [], differences: [] },
    });
    expect(filesOf(join(directory, 'stacks'))['tree.yaml']).toContain('name: r1\n');
  });

  it('reads the JSON of ansible-inventory, and says how to create it without Ansible', async () => {
    const directory = directoryOf({ 'listed.json': LISTED, 'a b/hosts': '' });
    const imported = await importIn(directory, 'listed.json', '--out', 'stacks');
    expect([imported.code, imported.stderr, imported.stdout]).toEqual([
      0,
      '',
      expect.stringContaining('\n0 differing keys on 4 nodes;'),
    ]);
    symlinkSync('/bin/sh', join(directory, 'sh'));
    const alone = { cwd: directory, env: { PATH: directory } };
    expect(await treeline(['import', 'a b/hosts', '--out', 'other', '--kind', 'ansible'], alone)).toMatchObject({
      code: 3,
      stderr:
        'treeline: ansible-inventory is not installed: run this with Ansible, and import the file: ' +
        "ansible-inventory -i 'a b/hosts' --list > inventory.json\n",
    });
  });

  it('lists the warnings of Ansible, and fails with its errors', async () => {
    const directory = directoryOf({ ...FILES, odd: '', broken: '' });
    const { code, stdout } = await importIn(directory, 'odd', '--out', 'stacks');
    expect([code, stdout]).toEqual([0, expect.stringMatching(/ odd +Invalid characters were found in group names\n/)]);
    const failed = await importIn(directory, 'broken', '--out', 'other');
    expect([failed.code, failed.stderr]).toEqual([
      3,
      'treeline: ansible-inventory cannot read broken: ERROR! no such inventory, with 4194304 KiB\n',
    ]);
  });

  it('lists files whose names are not UTF-8', async () => {
    const directory = directoryOf({ 'tree/hiera.yaml': HIERA, 'tree/data/web-02.yaml': 'port: 8080\n' });
    writeFileSync(Buffer.from(`${directory}/tree/data/web-03\xe9.yaml`, 'latin1'), 'port: 1\n');
    mkdirSync(Buffer.from(`${directory}/tree/data/d\xe9`, 'latin1'));
    const { code, stdout, stderr } = await importIn(directory, 'tree', '--out', 'stacks');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/data\/web-03\ufffd\.yaml:1 +its name is not UTF-8 text\n/);
    expect(stdout).toMatch(/data\/d\ufffd:1 +its name is not UTF-8 text\n/);
  });

  it.each<[what: string, args: readonly string[], message: string]>([
    ['no target folder', ['inventory'], "required option '--out <directory>' not specified"],
    [
      'a file as the target',
      ['inventory', '--out', 'inventory/hosts'],
      'inventory/hosts is a file, and --out names a folder',
    ],
    ['a missing source', ['nowhere', '--out', 'o'], 'nowhere does not exist'],
    ['an unknown kind', ['inventory', '--out', 'o', '--kind', 'chef'], "argument 'chef' is invalid"],
    ['an invalid layer', ['inventory', '--out', 'o', '--layer', 'rack=x'], 'Write TYPE=KEY, with one of these types'],
    ['a layer that no server selects', ['inventory', '--out', 'o', '--layer', 'role=x'], 'no server has "x"'],
    [
      '--nodes without a Hiera tree',
      ['inventory', '--nodes', 'binary.csv', '--out', 'o'],
      'treeline: --nodes is for sources of the kind hiera: leave it out, or say --kind hiera\n',
    ],
    [
      '--playbooks with a table',
      ['binary.csv', '--playbooks', '.', '--out', 'o'],
      'treeline: --playbooks is for sources of the kind ansible: leave it out, or say --kind ansible\n',
    ],
    ['a folder as a table', ['.', '--kind', 'csv', '--out', 'o'], '. is a folder, not a file'],
    ['no servers', ['empty.csv', '--out', 'o'], 'no server was found in the sources'],
    [
      'another kind',
      ['inventory/hosts', '--out', 'o', '--kind', 'terraform'],
      'inventory/hosts is no Terraform state of version 4',
    ],
    ['a binary file', ['binary.csv', '--out', 'o'], 'binary.csv cannot be read: it is not UTF-8 text'],
    [
      'a file that is too large',
      ['large.csv', '--out', 'o'],
      'treeline: large.csv is too large: an import reads files of at most 64 MiB\n',
    ],
  ])('refuses %s', async (_what, args, message) => {
    const directory = directoryOf(FILES);
    writeFileSync(join(directory, 'binary.csv'), Buffer.from([0xff, 0xfe, 0x41]));
    writeFileSync(join(directory, 'empty.csv'), 'name\n');
    writeFileSync(join(directory, 'large.csv'), '');
    truncateSync(join(directory, 'large.csv'), 600 * 1024 * 1024);
    const { code, stdout, stderr } = await importIn(directory, ...args);
    expect({ code, stdout, stderr }).toEqual({ code: 3, stdout: '', stderr: expect.stringContaining(message) });
    expect(readdirSync(directory)).not.toContain('o');
  });
});

/** A site on which every server is there, and whatever else is asked for fails. It notes the calls. */
const PROGRAM = `#!/bin/sh
call=$(cat)
printf '%s\\n' "$call" >> "$CALLS"
case "$call" in
  *'"operation":"check"'*) printf '{"outcome":"done","message":"","outputs":{},"observed":{}}' ;;
  *) printf '{"outcome":"failed","message":"nothing may be changed"}' ;;
esac
`;

it('treeline import --adopt lets a controller manage the servers without an action', async () => {
  const directory = directoryOf({ ...FILES, program: PROGRAM });
  const imported = await importIn(directory, 'inventory', '--out', 'stacks', '--adopt');
  expect(imported.code).toBe(0);
  const [program, calls] = [join(directory, 'program'), join(directory, 'calls')];
  chmodSync(program, 0o755);
  const site = await createSite(filesOf(join(directory, 'stacks')));
  const environment = { CALLS: calls, PATH: process.env.PATH ?? '' };
  const exec = { implementation: 'exec', command: [program], directory, environment } as const;
  const onProgram = (settings: Settings): Settings => {
    const providers = settings.execution.providers.map((entry) => ({ ...entry, ...exec }));
    return { ...settings, execution: { ...settings.execution, providers } };
  };
  const running = await runController(site, onProgram);
  await running.untilDone(await site.repository.head(), 'web', 'db');
  expect(Object.values({ ...(await running.states('web')), ...(await running.states('db')) })).toEqual(
    Array(4).fill('done'),
  );
  const asked = readFileSync(calls, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).operation);
  expect(new Set(asked)).toEqual(new Set(['check']));
  expect((await running.get('/hiera/web-02.example.com/port')).body).toBe(8080);
});
