// contrib/openvox against a real controller, with the real Puppet: a catalog, what it costs, what fails, and how; the node
// classifier. Skipped where there is no Puppet.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { load } from 'js-yaml';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAuthority } from '../../src/base/development-pki.ts';
import { productPath } from '../../src/base/product-files.ts';
import { identityOf, registrationOf } from '../scenario/writing.ts';
import { freePort } from '../support/free-port.ts';
import {
  createPuppetSite,
  type Ended,
  HAS_PUPPET,
  MODULE,
  type PuppetSite,
  runProgram,
  WHY_SKIPPED,
} from '../support/puppet.ts';
import { type RunningController, runController } from '../support/running-controller.ts';
import { createSite, type Site } from '../support/site.ts';

const RECORDS = {
  'tree.yaml': 'name: global\ntype: common\nchildren: [{ name: production, type: environment }]\n',
  'hierarchy.yaml': 'merge: { packages: unique, classes: unique }\n',
  'types/common/global.yaml': `packages: [curl, chrony]
log_level: info
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
  readonly puppet: PuppetSite;
  /** Options of the backend that let it in, and what replaces them. */
  environment(name: string, options?: Readonly<Record<string, string>>, uri?: string): void;
  /** How many reads of records were answered, by status. */
  reads(): Promise<Readonly<Record<string, number>>>;
  enc(node: string, variables?: Readonly<Record<string, string>>): Promise<Ended>;
}

/** Returns a controller that Puppet's certificate may read; the environment `production` has Treeline above a file. */
async function createRig(): Promise<Rig> {
  const site = await createSite(RECORDS);
  const { serial, role } = registrationOf(site, 'automation-endpoint');
  const head = await site.repository.commit({ [`clients/${serial}.yaml`]: `role: ${role}\n` });
  const running = await runController(site);
  await running.untilDone(head);
  const puppet = createPuppetSite(['web-1', 'nobody']);
  const pki = (name: string): string => join(site.folder, 'pki', name);
  const own = { ca: pki('ca.crt'), cert: pki('automation-endpoint.crt'), key: pki('automation-endpoint.key') };
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
    ...{ site, running, puppet, environment },
    async reads() {
      const answer = await fetch(`http://127.0.0.1:${running.controller.management.port}/metrics`);
      const lines = (await answer.text()).matchAll(
        /^treeline_http_requests_total\{route="\/hiera\/:clientcert",role="[\w-]+",code="(\d+)"\} (\d+)$/gm,
      );
      return Object.fromEntries([...lines].map(([, code = '', count]) => [code, Number(count)]));
    },
    enc: (node, variables = {}) =>
      runProgram([join(MODULE, 'bin/treeline-enc'), node], {
        ...{ TREELINE_SERVER: server, TREELINE_CA: own.ca, TREELINE_CERT: own.cert, TREELINE_KEY: own.key },
        ...variables,
      }),
  };
}

interface Compiled {
  readonly titles?: readonly string[];
  readonly error?: string;
  readonly seconds: number;
}

/** Starts a process that compiles one catalog after the other, as a Puppet server does. */
function startCompiler({
  options,
}: PuppetSite): (environment: string, node: string, certname?: string) => Promise<Compiled> {
  const script = productPath('test/contrib/compile-catalogs.rb');
  const child = spawn('ruby', [script, ...options], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async (environment, node, certname = node) => {
    child.stdin.write(`${environment} ${node} ${certname}\n`);
    return JSON.parse(String((await answers.next()).value)) as Compiled;
  };
}

/** Returns the port of a server that accepts and never answers. */
async function startSilentServer(): Promise<number> {
  const server = createServer((socket) => void socket.on('error', () => socket.destroy()));
  onTestFinished(() => void server.close());
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const address = server.address();
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}

it.skipIf(HAS_PUPPET)(WHY_SKIPPED, () => undefined);

describe.skipIf(!HAS_PUPPET)('the Hiera backend', () => {
  it('gives a real catalog its values by one request, and what the record lacks comes from the next level', async () => {
    const { puppet, reads } = await createRig();
    const { code, stdout, stderr } = await puppet.puppet('catalog', 'compile', 'web-1', '--facts_terminus', 'yaml');
    expect([stderr, code]).toEqual(['', 0]);
    const catalog = JSON.parse(stdout.slice(stdout.indexOf('{')));
    const notified = catalog.resources.filter(({ type }: { type: string }) => type === 'Notify');
    expect(notified.map(({ title }: { title: string }) => title).sort()).toEqual([...NOTIFIED].sort());
    expect(await reads()).toEqual({ 200: 1 });
  });

  it('tells with --explain which object and file gave each value, and which it was laid over', async () => {
    const { puppet, reads } = await createRig();
    const args = ['lookup', 'nowhere', 'greeting', '--node', 'web-1', '--facts_terminus', 'yaml', '--explain'];
    const { code, stdout } = await puppet.puppet(...args);
    expect([code, stdout.match(/(?<=^ +)(?:Treeline|overrides|joins)\b.*/gm)]).toEqual([
      0,
      [
        'Treeline: the record of web-1 has no key lookup_options',
        'Treeline: the record of web-1 has no key nowhere',
        'Treeline: clientcert web-1 (types/clientcert/web-1.yaml:3) sets log_level for web-1 (merge: first)',
        'overrides common global (types/common/global.yaml:2): "info"',
        'Treeline: role web (types/role/web.yaml:2) sets packages for web-1 (merge: unique)',
        'joins common global (types/common/global.yaml:1): ["curl","chrony"]',
        'Treeline: common global (types/common/global.yaml:4) sets greeting for web-1 (merge: first)',
      ],
    ]);
    expect(await reads()).toEqual({ 200: 2 });
  });

  it('asks once a catalog, which costs a 304 while the record is the same', async () => {
    const { site, running, puppet, reads } = await createRig();
    const compile = startCompiler(puppet);
    expect((await compile('production', 'web-1')).titles).toEqual(NOTIFIED);
    expect((await compile('production', 'web-1')).titles).toEqual(NOTIFIED);
    expect(await reads()).toEqual({ 200: 1, 304: 1 });
    await running.untilDone(
      await site.repository.commit({ 'types/role/web.yaml': '"profile::web::port": 8081\ncpus: 2\n' }),
    );
    expect((await compile('production', 'web-1')).titles).toContain('port 8081 tls true cpus 2');
    expect(await reads()).toEqual({ 200: 2, 304: 1 });
  });

  it('fails a catalog within 2 s where it is not certain what Treeline has for this node', async () => {
    const { site, running, puppet, environment, reads } = await createRig();
    const stranger = identityOf(site, 'proxy');
    const other = await createAuthority({ commonName: 'Another authority', now: Date.now() });
    for (const [name, pem] of Object.entries({ ...stranger, ca: other.cert }))
      writeFileSync(join(puppet.folder, name), pem);
    const file = (name: string): string => join(puppet.folder, name);
    environment('stranger', { cert: file('cert'), key: file('key') });
    environment('wrong_ca', { ca: file('ca') });
    environment('down', {}, `https://localhost:${await freePort()}`);
    environment('hung', {}, `https://localhost:${await startSilentServer()}`);
    environment('plain', {}, `http://localhost:${running.controller.api.port}`);
    environment('other_name', {}, `https://127.0.0.2:${running.controller.api.port}`);
    environment('mistyped', { proxy: 'none' });
    const compile = startCompiler(puppet);
    expect((await compile('production', 'web-1')).titles).toEqual(NOTIFIED);
    const fails = async (because: RegExp, ...args: Parameters<typeof compile>): Promise<void> => {
      const { error, titles, seconds } = await compile(...args);
      expect([titles, error]).toEqual([undefined, expect.stringMatching(because)]);
      expect(seconds).toBeLessThan(2);
    };
    await fails(/answers 404: There is no node "nobody"/, 'production', 'nobody');
    await fails(/answers 403: No client is registered with serial \w+/, 'stranger', 'web-1');
    await fails(/certificate verify failed.*has to be signed by .*\/ca, and to name that host/, 'wrong_ca', 'web-1');
    await fails(/cannot be reached.*Connection refused/, 'down', 'web-1');
    await fails(/has not answered within 1.2 s/, 'hung', 'web-1');
    await fails(/is not like https:/, 'plain', 'web-1');
    await fails(/unknown options in hiera.yaml: proxy/, 'mistyped', 'web-1');
    await fails(
      /not certain that this catalog is for web-1 \(trusted.certname: "db-1"\)/,
      'production',
      'web-1',
      'db-1',
    );
    await fails(/"all" cannot be the name of a node/, 'production', 'all');
    expect(await reads()).toEqual({ 200: 1, 403: 1, 404: 1 });
  });
});

describe.skipIf(!HAS_PUPPET)('the node classifier', () => {
  it('prints classes, parameters and the environment of a record', async () => {
    const { enc } = await createRig();
    const [web, db] = await Promise.all([enc('web-1'), enc('db-1')]);
    expect([web.stderr, web.code, db.stderr, db.code]).toEqual(['', 0, '', 0]);
    expect(load(web.stdout)).toEqual({
      classes: ['role::web'],
      parameters: {
        ...{
          cpus: 4,
          greeting: "on %{facts.os.family} at %{lookup('log_level')} with %{lookup('packages.0')}",
          log_level: 'debug',
          role: 'web',
        },
        ...{ packages: ['nginx', 'curl', 'chrony'], stackInstance: [], type: 'clientcert', description: '' },
        last_stack_update: expect.any(String),
      },
      environment: 'production',
    });
    expect(load(db.stdout)).toMatchObject({ classes: ['ntp', 'profile::db'], parameters: { name_of_rack: 'b7' } });
    expect(load(db.stdout)).not.toHaveProperty('environment');
  });

  it('prints nothing and fails, and says why, where it is not certain', async () => {
    const { enc, running } = await createRig();
    const silent = `https://localhost:${await startSilentServer()}`;
    const [unknown, unset, hung, named] = await Promise.all([
      enc('nobody'),
      enc('web-1', { TREELINE_KEY: '' }),
      enc('web-1', { TREELINE_SERVER: silent }),
      enc('web-1', { TREELINE_SERVER: `https://127.0.0.2:${running.controller.api.port}` }),
    ]);
    for (const { code, stdout } of [unknown, unset, hung, named]) expect([code, stdout]).toEqual([1, '']);
    // A busy machine takes seconds to start four Rubies; the backend's time is measured within its process.
    expect(hung.seconds).toBeLessThan(15);
    expect(unknown.stderr).toMatch(/answers 404: There is no node "nobody"/);
    expect(unset.stderr).toBe('treeline-enc: set TREELINE_KEY\n');
    expect(hung.stderr).toMatch(/has not answered within 1.2 s/);
    expect(named.stderr).toMatch(/cannot be reached|verify failed/);
  });
});
