// contrib/ansible with the real Ansible against a whole controller over mutual TLS. Skipped where Ansible is not installed.
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import { type Controller, startController } from '../../src/compose.ts';
import type { DeliveryRow } from '../../src/model/rows.ts';
import { loadSettings } from '../../src/settings/load-settings.ts';
import { createAnsible, listAnswers, NO_ANSIBLE, type PluginOptions } from '../support/ansible.ts';
import type { ProcessResult } from '../support/command-line.ts';
import { itInFull } from '../support/count-runs.ts';
import { createHttpsClient, type HttpsClient } from '../support/https-client.ts';
import { listenInTest } from '../support/listen-in-test.ts';
import { createSiteIn, type Site } from '../support/site-on-disk.ts';

const PATIENCE = { timeout: 20_000, interval: 25 };
const EXECUTION = `  providers:
    - { name: lab, provider: simulated, options: { createMs: 1 } }`;
/** What Ansible would run, were it taken for a template: it makes a file `ran` where Ansible was started. */
const HOSTILE = `{{ lookup('pipe', 'touch ran') }}`;
const OTHER_DELIMITERS = `[% lookup('pipe', 'touch ran') %]`;

const FILES = {
  'tree.yaml': `name: global
type: common
children: [{ name: production, type: environment, children: [{ name: berlin, type: location }] }]
`,
  'types/environment/production.yaml': 'log_level: warning\n',
  'types/location/berlin.yaml': 'ntp_servers: [ntp1.example, ntp2.example]\n',
  'types/role/web-server.yaml':
    'port: 8080\nbackups: true\nProxyTag: berlin\nansible_ssh_common_args: -v\nprofile::port: 81\n',
  'types/clientcert/by-hand.yaml': `motd: "${HOSTILE}"\nwords: ["${OTHER_DELIMITERS}"]\naddress: 192.0.2.7\n`,
  'types/clientcert/EU-1.yaml': 'description: the first one\n',
  'stacks/templates/web.yaml': `parameters: { prefix: "" }
resources:
  web:
    type: Platform::ResourceGroup
    properties:
      count: "2"
      resource_def:
        properties: { name: "<<prefix>>-<<index>>", environment: production, location: berlin, role: web-server }
  db:
    type: Platform::Server
    properties: { name: "<<prefix>>-db", environment: production }
`,
  'stacks/instances/shop-eu.yaml': 'stackTemplate: web\nparameters: { prefix: EU }\n',
  'stacks/instances/one.yaml': 'stackTemplate: web\nparameters: { prefix: one }\n',
  'stacks/instances/shop_eu.yaml': 'stackTemplate: web\nparameters: { prefix: eu2 }\n',
};

/** Writes texts in all the ways in which Ansible could take them for templates. */
const PLAY = `- hosts: by-hand
  connection: local
  gather_facts: false
  tasks:
    - set_fact: { fact: "{{ treeline.motd }}" }
    - copy:
        dest: texts
        content: "{{ fact }} {{ composed }} {{ treeline.motd }} {{ hostvars['by-hand'].treeline.motd }} {{ treeline.words[0] }}
          {{ lookup('template', 'other.j2', variable_start_string='[%', variable_end_string='%]') }}"
`;

const FAILING_PLAY = `- hosts: group_one_web
  connection: local
  gather_facts: false
  tasks:
    - debug: { var: treeline.port }
    - fail: {}
      when: inventory_hostname == 'one-2'
`;

let site: Site;
let controller: Controller;
/** An administrator's. */
let options: PluginOptions;
let ask: HttpsClient['request'];
/** Those of a proxy that reads its site. */
let proxy: PluginOptions;

beforeAll(async () => {
  if (NO_ANSIBLE !== '') return;
  const folder = mkdtempSync(join(tmpdir(), 'treeline-'));
  site = await createSiteIn(folder, { files: FILES, execution: EXECUTION, provider: 'lab' });
  controller = await startController(await loadSettings(site.config), { log: createLog('silent') });
  const pki = (name: string): string => join(folder, 'pki', name);
  options = {
    server: `https://127.0.0.1:${controller.api.port}`,
    ca: pki('ca.crt'),
    cert: pki('administrator.crt'),
    key: pki('administrator.key'),
  };
  ask = createHttpsClient({ port: controller.api.port, ca: site.ca }, site.administrator).request;
  for (const instance of ['one', 'shop-eu', 'shop_eu']) {
    const isDone = async (): Promise<void> =>
      expect((await ask(`/stacks/instances/${instance}/status`)).body).toBe('Done');
    await vi.waitFor(isDone, PATIENCE);
  }
  proxy = await proxyOfBerlin();
});
afterAll(async () => {
  if (NO_ANSIBLE !== '') return;
  await controller.stop();
  rmSync(site.folder, { recursive: true });
});

/** Registers the certificate of a proxy that reads its site, and returns the options that name it. */
async function proxyOfBerlin(): Promise<PluginOptions> {
  const [key, cert] = ['key', 'crt'].map((end) => join(site.folder, `pki/proxy.${end}`)) as [string, string];
  const { serialNumber: serial, fingerprint256: fingerprint } = new X509Certificate(readFileSync(cert));
  const client = { serial, fingerprint, role: 'proxy', tags: ['berlin'], reads: 'site' };
  const headers = { 'Content-Type': 'application/json' };
  expect(await ask('/clients', { method: 'POST', headers, body: JSON.stringify(client) })).toMatchObject({
    status: 201,
  });
  return { key, cert };
}

/** Returns the recorded confirmations, by node. */
function deliveries(): Readonly<Record<string, DeliveryRow>> {
  using store = new DatabaseSync(join(site.state, 'store.sqlite'), { readOnly: true });
  const rows = store.prepare(`SELECT name, value FROM rows WHERE kind = 'delivery'`).all();
  return Object.fromEntries(rows.map(({ name, value }) => [name, JSON.parse(String(value))]));
}

/** Returns the address of a server with the controller's certificate, which answers with one server of this name. */
async function serving(name: string): Promise<string> {
  const pki = (file: string): string => readFileSync(join(site.folder, 'pki', file), 'utf8');
  const body = JSON.stringify({ [name]: { group: '', etag: '"x"', record: { name, address: '192.0.2.66' } } });
  const server = createTlsServer({ key: pki('server.key'), cert: pki('server.crt') }, (_, response) =>
    response.end(body),
  );
  return `https://127.0.0.1:${await listenInTest(server)}`;
}

describe.runIf(NO_ANSIBLE === '')(`the inventory${NO_ANSIBLE}`, () => {
  it('has groups from stacks and selectors, and records as host variables', async () => {
    const { folder, list, run } = createAnsible(options);
    const before = await listAnswers(controller);
    const listed = await list();
    const [graph, host] = await Promise.all([
      run('ansible-inventory', ['--graph', 'role_web_server']),
      run('ansible-inventory', ['--host', 'EU-db']),
    ]);
    // Each asks. The last answer is kept for its owner alone, and not sent again.
    expect(await listAnswers(controller)).toEqual({ 200: (before[200] ?? 0) + 1, 304: (before[304] ?? 0) + 2 });
    const kept = join(folder, '.cache/treeline-ansible');
    const [file = ''] = readdirSync(kept);
    expect([kept, join(kept, file)].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o600]);
    const { _meta, ...groups } = listed;
    const { treeline = {}, ...variables } = _meta.hostvars['eu2-1'] ?? {};
    expect(variables).toMatchObject({ log_level: 'warning', ntp_servers: ['ntp1.example', 'ntp2.example'] });
    // Ansible has a meaning for these.
    expect(variables).not.toHaveProperty('port');
    expect(variables).not.toHaveProperty('name');
    expect(Object.keys(variables).filter((name) => /^(ansible|inventory|role)_|::/.test(name))).toEqual([]);
    expect(treeline).toMatchObject({ name: 'eu2-1', port: 8080, backups: true, stackInstance: ['shop_eu'] });
    expect(treeline).toMatchObject({ log_level: 'warning', ntp_servers: ['ntp1.example', 'ntp2.example'] });
    const { all, ...hosts } = Object.fromEntries(Object.entries(groups).map(([name, group]) => [name, group.hosts]));
    expect(hosts).toEqual({
      ungrouped: ['by-hand'],
      instance_one: ['one-1', 'one-2', 'one-db'],
      group_one_web: ['one-1', 'one-2'],
      group_one_db: ['one-db'],
      role_web_server: ['EU-1', 'EU-2', 'eu2-1', 'eu2-2', 'one-1', 'one-2'],
      environment_production: ['EU-1', 'EU-2', 'EU-db', 'eu2-1', 'eu2-2', 'eu2-db', 'one-1', 'one-2', 'one-db'],
      location_berlin: ['EU-1', 'EU-2', 'eu2-1', 'eu2-2', 'one-1', 'one-2'],
      // Ansible would call both instances shop_eu: a play for one must not run on the servers of the other.
      instance_shop_eu_b10be52a: ['EU-1', 'EU-2', 'EU-db'],
      instance_shop_eu_4ec90cbd: ['eu2-1', 'eu2-2', 'eu2-db'],
      group_shop_eu_web_e2948413: ['EU-1', 'EU-2'],
      group_shop_eu_web_809b8d72: ['eu2-1', 'eu2-2'],
      group_shop_eu_db_61dc7b4d: ['EU-db'],
      group_shop_eu_db_08372f15: ['eu2-db'],
    });
    expect(graph.stderr.replaceAll(/\s+/g, ' ')).toContain(
      'several groups would be called instance_shop_eu: instance shop-eu is instance_shop_eu_',
    );
    expect(graph.stdout).toMatch(/^@role_web_server:\n {2}\|--EU-1\n {2}\|--EU-2\n/);
    expect(JSON.parse(host.stdout)).toMatchObject({ treeline: { name: 'EU-db', description: 'db of shop-eu' } });
    writeFileSync(join(kept, file), readFileSync(join(kept, file), 'utf8').replace('8080', '8081'));
    expect(await list()).toEqual(listed);
  });

  itInFull('keeps texts as texts, so that Ansible runs none as a template', async () => {
    const { folder, write, run } = createAnsible(options, 'compose: { composed: treeline.motd }\n');
    write('other.j2', '[% treeline.words[0] %]');
    write('play.yaml', PLAY);
    const { code, stdout, stderr } = await run('ansible-playbook', ['play.yaml']);
    expect([code, stdout, stderr]).toEqual([0, expect.stringContaining('failed=0'), expect.anything()]);
    const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
    expect(read('texts')).toBe(`${`${HOSTILE} `.repeat(4)}${OTHER_DELIMITERS} ${OTHER_DELIMITERS}`);
    expect(existsSync(join(folder, 'ran'))).toBe(false);
  });
});

describe.runIf(NO_ANSIBLE === '')(`the callback${NO_ANSIBLE}`, () => {
  it('confirms for each host the record that it got', async () => {
    const { inventory, write, run } = createAnsible(options);
    inventory('site', proxy);
    write('play.yaml', FAILING_PLAY);
    const play = (more: readonly string[], name?: string): Promise<ProcessResult> =>
      run('ansible-playbook', ['play.yaml', ...more], name);
    expect(await play([], 'site')).toMatchObject({ code: 2, stderr: expect.not.stringContaining('confirmed') });
    const { headers } = await ask('/hiera/one-1');
    expect(deliveries()).toEqual({
      'one-1': expect.objectContaining({ outcome: 'applied', digest: headers.etag?.slice(1, -1) }),
      'one-2': expect.objectContaining({
        outcome: 'failed',
        message: 'Ansible: 1 ok, 0 changed, 1 failures, 0 unreachable',
      }),
    });
  });

  itInFull('confirms nothing for a partial playbook, a check, or a foreign client', async () => {
    const { inventory, write, run } = createAnsible(options);
    inventory('site', proxy);
    write('play.yaml', FAILING_PLAY);
    const play = (more: readonly string[], name?: string): Promise<ProcessResult> =>
      run('ansible-playbook', ['play.yaml', ...more], name);
    const before = deliveries();
    const [part, administrator] = await Promise.all([play(['--tags', 'never'], 'site'), play([])]);
    expect(part.stdout).toContain('treeline: a part of the playbook has run; nothing is confirmed');
    expect(administrator.stderr.replaceAll(/\s+/g, ' ')).toMatch(
      /2 of 2 hosts are not confirmed; one-1: .* 403 not_allowed/,
    );
    expect(deliveries()).toEqual(before);
    await play(['--check'], 'site');
    expect(deliveries()).toEqual(before);
  });
});

describe.runIf(NO_ANSIBLE === '')(`an inventory that cannot be read${NO_ANSIBLE}`, () => {
  itInFull('reports the reason', async () => {
    const { inventory, parse } = createAnsible(options);
    const faults: Readonly<Record<string, readonly [changed: PluginOptions, message: string]>> = {
      'without-controller': [{ server: 'https://127.0.0.1:1' }, 'cannot ask https://127.0.0.1:1: '],
      'with-a-group': [{ server: await serving('all') }, 'the server "all" has the name of a group'],
      'as-localhost': [{ server: await serving('localhost') }, 'the server "localhost" has a name that Ansible uses'],
      'as-an-address': [{ server: await serving('127.0.0.1') }, 'the server "127.0.0.1" has a name that Ansible uses'],
      'of-another-kind': [
        { sever: 'https://x' },
        'there is no option "sever"; those of the plugin are ca, cache_directory, ',
      ],
    };
    for (const [name, [changed]] of Object.entries(faults)) inventory(name, changed);
    expect(await parse(Object.keys(faults))).toEqual(
      Object.values(faults).map(([, message]) => expect.stringContaining(message)),
    );
  });

  it('ends Ansible, which would continue with other hosts', async () => {
    const { inventory, write, run } = createAnsible(options);
    inventory('wrong', { server: 'https://127.0.0.1:1' });
    write('hosts', 'static-1\n');
    const { code, stdout, stderr } = await run('ansible-inventory', ['-i', 'hosts', '--list'], 'wrong');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('cannot ask https://127.0.0.1:1: ');
  });
});
