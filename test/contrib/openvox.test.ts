// contrib/openvox against a real controller, with the real Puppet: a catalog, what it costs, what fails, and how; the node
// classifier; what a run confirms. Skipped where there is no Puppet.
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { productPath } from '../../src/base/product-files.ts';
import type { JsonMap } from '../../src/model/json.ts';
import { registrationOf } from '../scenario/writing.ts';
import { type ProcessResult, run, skippedWithout } from '../support/command-line.ts';
import { itInFull } from '../support/count-runs.ts';
import { listenInTest } from '../support/listen-in-test.ts';
import { type RunningController, runController } from '../support/running-controller.ts';
import { createSite, type Site } from '../support/site.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const NO_PUPPET = skippedWithout('puppet-agent', 'puppet');

/** The module, and the folder in which Puppet finds it. */
const MODULE = productPath('contrib/openvox/treeline');

/** Returns folders for Puppet, gone after the running test; of each of `nodes` it has facts, as agents have reported them. */
function createPuppetSite(nodes: readonly string[]) {
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
    /** Makes an environment of these files; the module is in it. */
    addEnvironment(name: string, files: Readonly<Record<string, string>>): void {
      const given = { 'environment.conf': `modulepath = ${dirname(MODULE)}\n`, ...files };
      for (const [path, content] of Object.entries(given)) {
        const file = join(environments, name, path);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, content);
      }
    },
    puppet: (...args: readonly string[]): Promise<ProcessResult> =>
      run('puppet', [...args, ...options, '--color', 'false']),
  };
}

const RECORDS = {
  'tree.yaml': 'name: global\ntype: common\nchildren: [{ name: production, type: environment }]\n',
  'hierarchy.yaml': 'merge: { packages: unique, classes: unique }\n',
  'types/common/global.yaml': `packages: [curl, chrony]
log_level: info
motd: Grüße, 日本
profile::web::port: 80
greeting: "on %{facts.os.family} at %{lookup('log_level')} with %{lookup('packages.0')}"
`,
  'types/role/web.yaml': 'profile::web::port: 8080\npackages: [nginx]\ncpus: 4\n',
  'types/clientcert/web-1.yaml': 'environment: production\nrole: web\nlog_level: debug\n',
  'types/clientcert/db-1.yaml': `role: ""
classes: [ntp, "profile::db"]
puppet_environment: ""
environment: production
name_of_rack: b7
`,
};

/** A level of hiera.yaml depends on the tier: where that changes, Hiera forgets what it knows of all levels. */
const MANIFEST = `$tier = 'silver'
class profile::web(Integer $port, Boolean $tls = false) {
  $tier = 'gold'
  notify { "port \${port} tls \${tls} cpus \${lookup('cpus')}": }
}
include profile::web
notify { "level \${lookup('log_level')}": }
notify { "packages \${lookup('packages')}": }
notify { "first \${lookup('packages.0')}": }
notify { "\${lookup('greeting')}": }
notify { "below \${lookup('only_below')}, default \${lookup('nowhere', String, first, 'none')}": }
`;
const NOTIFIED = [
  'port 8080 tls true cpus 4',
  'level debug',
  'packages [nginx, curl, chrony, vim]',
  'first nginx',
  'on Debian at debug with nginx',
  'below a file, default none',
];
const FILE_LEVEL = `lookup_options: { packages: { merge: unique } }
packages: [vim, curl]
log_level: never
only_below: a file
"profile::web::tls": true
`;

interface Rig {
  readonly site: Site;
  readonly running: RunningController;
  readonly puppet: ReturnType<typeof createPuppetSite>;
  /** Options of the backend that let it in, and what replaces them. */
  environment(name: string, options?: Readonly<Record<string, string>>, uri?: string): void;
  /** How many reads of records were answered, by status; or requests to another route. */
  reads(route?: string): Promise<Readonly<Record<string, number>>>;
  enc(node: string, variables?: Readonly<Record<string, string>>): Promise<ProcessResult>;
}

/** Returns a controller that lets the certificate of Puppet in; the environment `production` has Treeline above a file. */
async function createRig(asks: 'automation-endpoint' | 'proxy' = 'automation-endpoint', fields = ''): Promise<Rig> {
  const site = await createSite(RECORDS);
  const { serial } = registrationOf(site, asks);
  const head = await site.repository.commit({ [`clients/${serial}.yaml`]: `role: ${asks}\n${fields}` });
  const running = await runController(site);
  await running.untilDone(head);
  const puppet = createPuppetSite(['web-1', 'nobody']);
  const pki = (name: string): string => join(site.folder, 'pki', name);
  const own = { ca: pki('ca.crt'), cert: pki(`${asks}.crt`), key: pki(`${asks}.key`) };
  const server = `https://localhost:${running.controller.api.port}`;
  const environment: Rig['environment'] = (name, options = {}, uri = server) =>
    puppet.addEnvironment(name, {
      'manifests/site.pp': MANIFEST,
      'data/common.yaml': FILE_LEVEL,
      'hiera.yaml': `version: 5
hierarchy:
  - { name: Treeline, lookup_key: "treeline::lookup_key", uri: "${uri}", options: ${JSON.stringify({ ...own, ...options })} }
  - { name: Files, datadir: data, data_hash: yaml_data, paths: ["%{tier}.yaml", common.yaml] }
`,
    });
  environment('production');
  return {
    site,
    running,
    puppet,
    environment,
    async reads(route = '/hiera/:clientcert') {
      const answer = await fetch(`http://127.0.0.1:${running.controller.management.port}/metrics`);
      const lines = (await answer.text()).matchAll(
        /^treeline_http_requests_total\{route="(.+)",role="[\w-]+",code="(\d+)"\} (\d+)$/gm,
      );
      const ofRoute = [...lines].filter(([, name]) => name === route);
      return Object.fromEntries(ofRoute.map(([, , code = '', count]) => [code, Number(count)]));
    },
    enc: (node, variables = {}) =>
      run(join(MODULE, 'bin/treeline-enc'), [node], {
        env: {
          TREELINE_SERVER: server,
          TREELINE_CA: own.ca,
          TREELINE_CERT: own.cert,
          TREELINE_KEY: own.key,
          ...variables,
        },
      }),
  };
}

/** Returns the titles of the notifications of a catalog, as Puppet prints it after what it logs. */
function titlesIn(output: string): readonly string[] {
  const { resources } = JSON.parse(output.slice(output.indexOf('{'))) as {
    readonly resources: readonly { readonly type: string; readonly title: string }[];
  };
  return resources.filter(({ type }) => type === 'Notify').map(({ title }) => title);
}

describe.skipIf(NO_PUPPET !== '')(`contrib/openvox${NO_PUPPET}`, () => {
  it('the Hiera backend gives a real catalog its values with their origin, and falls back to the next level', async () => {
    const { puppet, reads } = await createRig();
    const [compiled, explained] = await Promise.all([
      puppet.puppet('catalog', 'compile', 'web-1', '--facts_terminus', 'yaml'),
      puppet.puppet('lookup', 'nowhere', 'greeting', '--node', 'web-1', '--facts_terminus', 'yaml', '--explain'),
    ]);
    expect([compiled.stderr, compiled.code]).toEqual(['', 0]);
    expect(titlesIn(compiled.stdout)).toEqual(NOTIFIED);
    expect([explained.code, explained.stdout.match(/(?<=^ +)(?:Treeline|overrides|joins)\b.*/gm)]).toEqual([
      0,
      [
        'Treeline: the record of web-1 has no key lookup_options',
        'Treeline: the record of web-1 has no key nowhere',
        'Treeline: clientcert web-1 (types/clientcert/web-1.yaml:3) sets log_level for web-1 (merge: first)',
        'overrides common global (types/common/global.yaml:2): "info"',
        'Treeline: role web (types/role/web.yaml:2) sets packages for web-1 (merge: unique)',
        'joins common global (types/common/global.yaml:1): ["curl","chrony"]',
        'Treeline: common global (types/common/global.yaml:5) sets greeting for web-1 (merge: first)',
      ],
    ]);
    // One of the catalog, two of the explanation.
    expect(await reads()).toEqual({ 200: 3 });
  });

  itInFull(
    'the node classifier prints classes, parameters and environment of a record, or fails with the reason',
    async () => {
      const { enc, running } = await createRig();
      const [web, db] = await Promise.all([enc('web-1'), enc('db-1')]);
      expect([web.stderr, web.code, db.stderr, db.code]).toEqual(['', 0, '', 0]);
      expect(load(web.stdout)).toEqual({
        classes: ['role::web'],
        parameters: {
          cpus: 4,
          greeting: expect.stringMatching(/^on %\{facts/),
          log_level: 'debug',
          motd: 'Grüße, 日本',
        },
        packages: ['nginx', 'curl', 'chrony'],
        role: 'web',
        stackInstance: [],
        type: 'clientcert',
        description: '',
        last_stack_update: expect.any(String),
        environment: 'production',
      });
      expect(load(db.stdout)).toMatchObject({ classes: ['ntp', 'profile::db'], parameters: { name_of_rack: 'b7' } });
      expect(load(db.stdout)).not.toHaveProperty('environment');
      const silent = `https://localhost:${await listenInTest(createServer())}`;
      const [unknown, unset, hung, named] = await Promise.all([
        enc('nobody'),
        enc('web-1', { TREELINE_KEY: '' }),
        enc('web-1', { TREELINE_SERVER: silent }),
        enc('web-1', { TREELINE_SERVER: `https://127.1:${running.controller.api.port}` }),
      ]);
      for (const { code, stdout } of [unknown, unset, hung, named]) expect([code, stdout]).toEqual([1, '']);
      expect(unknown.stderr).toMatch(/answers 404: There is no node "nobody"/);
      expect(unset.stderr).toBe('treeline-enc: set TREELINE_KEY\n');
      expect(hung.stderr).toMatch(/has not answered within 1.5 s/);
      expect(named.stderr).toMatch(/hostname mismatch/);
    },
  );

  itInFull('the report processor confirms the record from which a catalog was compiled', async () => {
    const { puppet, running, reads } = await createRig('proxy', 'node: web-1\n');
    const [flag, file] = [join(puppet.folder, 'flag'), join(puppet.folder, 'catalog.json')];
    puppet.addEnvironment('production', {
      'manifests/site.pp': `exec { 'test -e ${flag}': path => '/usr/bin:/bin' }\nnotify { lookup('log_level'): }\n`,
    });
    const options = ['--reports', 'treeline', '--facts_terminus', 'yaml'];
    const compiled = await puppet.puppet('catalog', 'compile', 'web-1', ...options);
    writeFileSync(file, compiled.stdout.slice(compiled.stdout.indexOf('{')));
    const applyAs = (node: string): Promise<ProcessResult> =>
      puppet.puppet('apply', '--catalog', file, '--certname', node, ...options);

    const told = async (): Promise<unknown> =>
      ((await running.get('/operations/delivered?state=outdated,failed,delivered')).body as JsonMap).nodes;

    await applyAs('web-1');
    const message = `Puppet: 1 of 2 resources failed: Exec[test -e ${flag}]`;
    expect(await told()).toMatchObject([{ name: 'web-1', state: 'failed', confirmed: { message } }]);
    writeFileSync(flag, '');
    expect((await applyAs('web-1')).stderr).toBe('');
    expect(await told()).toMatchObject([{ name: 'web-1', state: 'delivered', confirmed: { outcome: 'applied' } }]);
    // A report that names another node than its catalog was compiled for confirms nothing.
    expect(await applyAs('db-1')).toMatchObject({ stdout: expect.stringContaining('Applied catalog'), stderr: '' });
    expect(await reads('/hiera/:clientcert/applied')).toEqual({ 200: 2 });
  });
});
