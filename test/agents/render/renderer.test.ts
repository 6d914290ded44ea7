// `treeline render` beside a real controller: a process of its own over real TLS, its files, its commands and its exit codes.
import { X509Certificate } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { loadRenderSettings } from '../../../src/agents/render/load-render-settings.ts';
import { Renderer } from '../../../src/agents/render/renderer.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { createAuthority } from '../../../src/base/development-pki.ts';
import { createLog } from '../../../src/base/log.ts';
import type { JsonMap } from '../../../src/model/json.ts';
import { treeline } from '../../support/command-here.ts';
import { createHttpsClient, type Identity } from '../../support/https-client.ts';
import { PATIENCE, type RunningController, runController } from '../../support/running-controller.ts';
import { ServingProcess } from '../../support/serving-process.ts';
import { createSite, type Site } from '../../support/site.ts';

const TIMEOUT_MS = 240_000;
const LAYER = 'types/role/web.yaml';
const layer = (more: string): string => `ports: ["80", "443"]\nlevel: info\n${more}`;

interface Scene {
  readonly site: Site;
  readonly controller: RunningController;
  /** What lies in the folder of the rendered files. */
  readonly folder: string;
  readonly config: string;
  read(file: string): string;
  /** The lines that the commands have written. */
  runs(): readonly string[];
}

/** A controller with a hand-written node, its registered client, and two templates. */
async function openScene(files: string): Promise<Scene> {
  const site = await createSite({
    'tree.yaml': 'name: global\ntype: common\n',
    'types/clientcert/web-1.yaml': 'role: web\n',
    [LAYER]: layer(''),
  });
  const { serialNumber } = new X509Certificate(readFileSync(join(site.folder, 'pki/proxy.crt')));
  const client = `role: proxy\nserial: "${serialNumber}"\nnode: web-1\n`;
  await site.repository.commit({ [`clients/${serialNumber}.yaml`]: client });
  const controller = await runController(site);
  await expect.poll(async () => (await controller.get('/hiera/web-1/')).status, PATIENCE).toBe(200);
  const folder = join(site.folder, 'made');
  mkdirSync(folder);
  writeFileSync(join(site.folder, 'app.liquid'), '{% for port in ports %}listen {{ port }}\n{% endfor %}');
  writeFileSync(join(site.folder, 'log.liquid'), 'level={{ level }}\n');
  const config = join(site.folder, 'render.yaml');
  writeFileSync(join(site.folder, 'note'), `#!/bin/sh\necho "$@ $TREELINE_NODE" >> made/../runs\ntest ! -e broken\n`);
  chmodSync(join(site.folder, 'note'), 0o700);
  writeFileSync(
    config,
    `server: https://localhost:${controller.controller.api.port}
ca: pki/ca.crt
cert: pki/proxy.crt
key: pki/proxy.key
node: web-1
checkSeconds: 5
files:
${files}`,
  );
  const runs = join(site.folder, 'runs');
  writeFileSync(runs, '');
  return {
    site,
    controller,
    folder,
    config,
    read: (file) => readFileSync(join(folder, file), 'utf8'),
    runs: () => readFileSync(runs, 'utf8').split('\n').slice(0, -1),
  };
}

const FILES = `  - { template: app.liquid, path: made/app.conf, mode: "0640", run: [./note, one] }
  - { template: log.liquid, path: made/log.conf, run: [./note, one] }
  - { template: log.liquid, path: made/other.conf, run: [./note, two] }
`;

it(
  'treeline render follows the record, runs commands of a change, and continues without its controller',
  async () => {
    const { site, controller, folder, config, read, runs } = await openScene(FILES);
    const first = new ServingProcess(config, 'render');
    await expect.poll(runs, PATIENCE).toEqual(['one web-1', 'two web-1']);
    expect(read('app.conf')).toBe('listen 80\nlisten 443\n');
    expect(statSync(join(folder, 'app.conf')).mode & 0o777).toBe(0o640);
    expect(statSync(join(folder, 'log.conf')).mode & 0o777).toBe(0o644);
    const delivered = async () => {
      const { body } = await controller.get('/operations/delivered?state=delivered,outdated,failed');
      return (body as { readonly counts: unknown }).counts;
    };
    await expect.poll(delivered, PATIENCE).toMatchObject({ delivered: 1, failed: 0 });
    const untouched = statSync(join(folder, 'app.conf')).ino;

    writeFileSync(join(site.folder, 'broken'), '');
    await site.repository.commit({ [LAYER]: layer('').replace('info', 'debug') });
    await expect.poll(() => read('other.conf'), PATIENCE).toBe('level=debug\n');
    expect(statSync(join(folder, 'app.conf')).ino).toBe(untouched);
    expect(await first.logged('the files could not be updated; it is tried again')).toMatchObject({
      reason: expect.stringMatching(/note ended with 1\n.*note ended with 1$/),
    });
    await expect.poll(delivered, PATIENCE).toMatchObject({ delivered: 0, failed: 1 });
    expect(await first.end('SIGTERM')).toBe(0);

    // What has failed is owed, also across a restart and while there is no controller.
    await controller.stop();
    rmSync(join(site.folder, 'broken'));
    const before = runs().length;
    writeFileSync(join(folder, 'app.conf'), 'by hand');
    const second = new ServingProcess(config, 'render');
    await second.logged('the controller returns no record; the files stay unchanged');
    await expect.poll(() => runs().slice(before), PATIENCE).toEqual(['one web-1', 'two web-1']);
    expect(read('app.conf')).toBe('listen 80\nlisten 443\n');
    writeFileSync(join(folder, 'log.conf'), 'by hand');
    await expect.poll(() => read('log.conf'), PATIENCE).toBe('level=debug\n');
    expect(await second.end('SIGTERM')).toBe(0);
    const lost = second.lines.filter(({ msg }) => String(msg).startsWith('the controller returns no record'));
    expect(lost).toHaveLength(1);
    expect(readdirSync(folder).sort()).toEqual(['app.conf', 'log.conf', 'other.conf']);
    expect(statSync(join(site.folder, 'render-state/record.json')).mode & 0o777).toBe(0o600);
  },
  TIMEOUT_MS,
);

it(
  'treeline render --once writes the files, and reports success by its exit code',
  async () => {
    const { site, controller, folder, config, read, runs } = await openScene(FILES);
    const once = (how = '--once') => treeline(['render', '--config', config, how]);
    const lines = ['app', 'log', 'other'].map(
      (name) => `would write ${folder}/${name}.conf, and run ${site.folder}/note\n`,
    );
    expect(await once('--noop')).toMatchObject({
      code: 1,
      stdout: lines.join(''),
      stderr: '',
    });
    expect([readdirSync(folder), runs(), existsSync(join(site.folder, 'render-state'))]).toEqual([[], [], false]);
    expect((await controller.get('/operations/delivered')).body).toMatchObject({ counts: { delivered: 0 } });
    expect(await once()).toMatchObject({ code: 0, stderr: '' });
    expect(await once('--noop')).toMatchObject({ code: 0, stdout: '', stderr: '' });
    expect(runs()).toEqual(['one web-1', 'two web-1']);
    expect((await once()).code).toBe(0);
    expect(runs()).toHaveLength(2);

    writeFileSync(join(site.folder, 'app.liquid'), 'new {{ level }}');
    writeFileSync(join(site.folder, 'log.liquid'), '\n{{ levle }}');
    const wrong = await once();
    expect(wrong).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /log\.liquid:2:4: neither the record of web-1 .* defines "levle"; did you mean "level"\?\n/,
      ),
    });
    expect(await once('--noop')).toMatchObject({ code: 3, stdout: '', stderr: wrong.stderr });
    expect(read('app.conf')).toBe('listen 80\nlisten 443\n');
    writeFileSync(join(site.folder, 'log.liquid'), 'level={{ level }}\n');
    await controller.stop();
    expect(await once('--noop')).toMatchObject({
      code: 3,
      stdout: '',
      stderr: expect.stringMatching(/nothing listens/),
    });
    const alone = await once();
    expect(alone).toMatchObject({ code: 1, stderr: expect.stringMatching(/^treeline: nothing listens there/) });
    expect(read('app.conf')).toBe('new info');
    rmSync(join(site.folder, 'render-state/record.json'));
    expect(await once()).toMatchObject({
      code: 3,
      stdout: expect.stringContaining('the files stay unchanged'),
      stderr: expect.stringMatching(/^treeline: there is no record, not even an earlier one: nothing listens there/),
    });
  },
  TIMEOUT_MS,
);

it(
  'treeline render confirms a record again after a restart',
  async () => {
    const { site, controller, config } = await openScene('  - { template: app.liquid, path: made/app.conf }\n');
    const [key, cert] = ['key', 'crt'].map((end) => readFileSync(join(site.folder, `pki/proxy.${end}`), 'utf8'));
    const own = createHttpsClient({ port: controller.controller.api.port, ca: site.ca }, { key, cert } as Identity);
    let ahead = 0;
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + ahead };
    const options = { log: createLog('silent'), clock, describe: ({ message }: Error) => message };
    const renderer = await Renderer.open(await loadRenderSettings(config), options);
    onTestFinished(() => renderer.stop());
    const counts = async (): Promise<unknown> => {
      expect(await renderer.pass(0)).toEqual({ unanswered: null, failed: null, isIdle: false });
      return ((await controller.get('/operations/delivered')).body as JsonMap).counts;
    };
    expect(await counts()).toMatchObject({ delivered: 1 });

    // The last word of the node is another one than this renderer has told.
    const { etag } = (await own.request('/hiera/web-1/')).headers;
    const body = JSON.stringify({ digest: etag, outcome: 'failed' });
    const headers = { 'Content-Type': 'application/json' };
    expect((await own.request('/hiera/web-1/applied', { method: 'POST', headers, body })).status).toBe(200);
    expect(await counts()).toMatchObject({ failed: 1 });
    ahead = 300_000;
    expect(await counts()).toMatchObject({ delivered: 1 });

    await site.repository.commit({ 'types/clientcert/web-1.yaml': null });
    const unknown = 'There is no node "web-1": "node" has to name a server of a stack, or a file in types/clientcert/';
    const reason = async (): Promise<unknown> => (await renderer.pass(0)).unanswered;
    await expect.poll(reason, PATIENCE).toEqual(expect.stringContaining(unknown));
  },
  TIMEOUT_MS,
);

it(
  'treeline render limits a command, locks its directory, and reports refusals',
  async () => {
    const { site, config, runs } = await openScene(
      '  - { template: app.liquid, path: made/app.conf, run: [sh, -c, "echo begun >> runs; for i in $(seq 300); do [ -e go ] && break; sleep 0.1; done; echo ended >> runs"] }\n',
    );
    const text = readFileSync(config, 'utf8');
    const variant = (name: string, change: (text: string) => string): string => {
      const file = join(site.folder, name);
      writeFileSync(file, `${change(text)}directory: ${name}-state\n`);
      return file;
    };
    const once = (file: string) => treeline(['render', '--config', file, '--once']);
    const authority = await createAuthority({ commonName: 'another', now: Date.now() });
    writeFileSync(join(site.folder, 'other.crt'), authority.cert);
    const tries = Promise.all([
      once(
        variant(
          'slow',
          (it) => `${it.replace('made/app', 'made/slow').replace(/echo.*runs/, 'sleep 60')}timeoutSeconds: 1\n`,
        ),
      ),
      once(variant('unknown', (it) => it.replaceAll('pki/proxy', 'pki/local-servers'))),
      once(variant('foreign', (it) => it.replace('pki/ca.crt', 'other.crt'))),
      once(variant('wrong', (it) => it.replace('node:', 'nodes:'))),
    ]);

    const service = new ServingProcess(config, 'render');
    await expect.poll(runs, PATIENCE).toEqual(['begun']);
    const [second, beside] = await Promise.all([once(config), treeline(['render', '--config', config, '--noop'])]);
    expect(beside.stdout).toBe('');
    expect(second).toMatchObject({ code: 3, stderr: expect.stringMatching(/is in use by another process\. Two must/) });
    // A command that runs may end.
    const ended = service.end('SIGTERM');
    writeFileSync(join(site.folder, 'go'), '');
    expect(await ended).toBe(0);
    expect(runs()).toEqual(['begun', 'ended']);

    const [slow, unknown, foreign, wrong] = await tries;
    expect(slow).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^treeline: .*sh: it did not end within 1 s\n$/),
    });
    expect(unknown).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/answered 403: No client is registered with/),
    });
    expect(foreign).toMatchObject({ code: 3, stderr: expect.stringMatching(/other\.crt is not the authority/) });
    expect(wrong).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/wrong:5:1: .*"nodes".*did you mean "node"/),
    });
  },
  TIMEOUT_MS,
);
