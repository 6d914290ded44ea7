// Planted faults, as the person sees them who is called at night: each is told on the command line, by the interface, in the metrics with an
// alert and by one notification, the advice helps when it is typed, and its end is told as well. `npm run test:long`.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { issueClientCertificate, issueServerCertificate, type KeyPair } from '../../src/base/development-pki.ts';
import { SHOP, STACKS, TEMPLATE, templateText } from '../scenario/stacks.ts';
import { ROOT } from '../support/command-line.ts';
import { createCrl } from '../support/create-crl.ts';
import { stackOf, startProxy } from '../support/proxy-scene.ts';
import { createSiteIn, type Site } from '../support/site-on-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { type WatchedController, watchController } from '../support/watched-controller.ts';

const FILES = join(ROOT, 'test/support/programs/file-servers.js');
const HANGS = 'exec sleep 1000';
const DAY_MS = 86_400_000;
const PATIENCE = { timeout: 60_000, interval: 250 };
/** Three calls, over a minute, and what telling of it takes. */
const SILENT_SECONDS = 120;

/** A site whose provider entry `lab` runs a script that can be exchanged while the controller runs. */
interface Lab {
  readonly site: Site;
  /** What the script keeps, a file for each server. */
  readonly servers: string;
  /** Has the script do this first; without it, it does as it is told. */
  broken(script?: string): void;
}

async function createLab({ entry = '', budget = 5 } = {}): Promise<Lab> {
  const folder = temporaryDirectory();
  const [servers, script] = [join(folder, 'made'), join(folder, 'lab')];
  mkdirSync(servers);
  const broken = (text = ''): void => {
    writeFileSync(`${script}.new`, `#!/bin/sh\n${text}\nexec ${process.execPath} ${FILES}\n`, { mode: 0o755 });
    renameSync(`${script}.new`, script);
  };
  broken();
  const execution = `  deleteBudget: { least: ${budget} }
  retry: { firstSeconds: 1, maxSeconds: 5, failedSeconds: 3600 }
  graceSeconds: 1
  providers:
    - name: lab
      provider: exec
      command: [${script}]
      environment: { SERVERS: ${servers}, PATH: /usr/bin:/bin }
      checkSeconds: 5
      ${entry === '' ? 'timeoutSeconds: 10' : entry}`;
  const options = { files: STACKS, repository: ', pollSeconds: 1', execution, provider: 'lab' };
  return { site: await createSiteIn(join(folder, 'site'), options), servers, broken };
}

async function watchLab({ site }: Lab): Promise<WatchedController> {
  const watched = await watchController(site);
  await watched.running.untilDone(await site.repository.head(), 'shop', 'office');
  expect(watched.told()).toEqual([]);
  return watched;
}

/** Types the command that an advice has. */
async function follow(watched: WatchedController, action: string | null): Promise<void> {
  const [command = ''] = /treeline [a-z][^;,]*/.exec(action ?? '') ?? [];
  expect(await watched.type(command)).toMatchObject({ code: 0, stderr: '' });
}

function beganAndEnded(id: string, kind = 'attention'): readonly string[] {
  return [`treeline.${kind}.firing ${id}`, `treeline.${kind}.resolved ${id}`];
}

it.each([
  ['at rest', undefined],
  ['at work', templateText('large')],
])('a dead site whose servers are %s', async (_when, template) => {
  const lab = await createLab();
  const watched = await watchLab(lab);
  lab.broken(HANGS);
  if (template !== undefined) await lab.site.repository.commit({ [TEMPLATE]: template });
  const told = () => watched.seen('provider:lab', 'TreelineProviderSilent', SILENT_SECONDS);
  await expect.poll(async () => (await told()).reason, { timeout: 240_000 }).toContain('has answered nothing since');
  const { action, instances } = await told();
  expect(instances).toEqual(['office', 'shop']);
  lab.broken();
  await follow(watched, action);
  await watched.ended('provider:lab', 'TreelineProviderSilent');
  await watched.running.untilDone(await lab.site.repository.head(), 'shop', 'office');
  expect(watched.told()).toEqual(beganAndEnded('provider:lab'));
});

it.each([
  ['commit:wrong', 'tree.yaml', 'name: [', 'TreelineCommitNotFollowed', 'commit'],
  [`invalid:${SHOP}`, SHOP, 'stackTemplate: shoop\n', 'TreelineInstanceInvalid', 'attention'],
])('a wrong commit: %s', async (id, file, text, alert, kind) => {
  const { site, ...lab } = await createLab();
  const watched = await watchLab({ site, ...lab });
  await site.repository.commit({ [file]: text });
  const { action } = await watched.seen(id, alert);
  expect((await watched.type('treeline problems')).stdout).toContain(`${file}:1:`);
  expect(action).toMatch(/push$/);
  await site.repository.commit({ [file]: STACKS[file] ?? null });
  await watched.ended(id, alert);
  expect(watched.told()).toEqual(beganAndEnded(id, kind));
});

it('a held delete, which pages nobody once it is acknowledged', async () => {
  const lab = await createLab({ budget: 1 });
  const watched = await watchLab(lab);
  const commit = await lab.site.repository.commit({ [SHOP]: null });
  const { action } = await watched.seen('held:shop', 'TreelineApprovalAwaited');
  expect(action).toMatch(new RegExp(`where it is not meant, revert ${commit}$`));
  await watched.type('treeline acknowledge shop --until 1h --reason known');
  expect((await watched.type('treeline status --exit-code')).code).toBe(0);
  await watched.type('treeline acknowledge shop --end');
  expect((await watched.type('treeline status --exit-code')).code).toBe(1);
  await follow(watched, action);
  await watched.ended('held:shop', 'TreelineApprovalAwaited');
  await expect.poll(() => readdirSync(lab.servers), PATIENCE).toHaveLength(2);
  expect(watched.told()).toEqual(beganAndEnded('held:shop', 'held'));
});

it('somebody who changes a server again and again', async () => {
  const lab = await createLab({ entry: 'drift: heal' });
  const watched = await watchLab(lab);
  const file = join(lab.servers, 'shop-web-1.json');
  const change = (): void => {
    const text = readFileSync(file, 'utf8');
    // It may be written just now.
    if (text !== '') writeFileSync(file, text.replace('"small"', '"huge"'));
  };
  const fight = setInterval(change, 1_000);
  onTestFinished(() => clearInterval(fight));
  const { reason, action } = await watched.seen('drifted:shop', 'TreelineDrift', 120);
  expect(reason).toContain('drift_fight: size was corrected 3 times');
  clearInterval(fight);
  await follow(watched, action);
  await watched.ended('drifted:shop', 'TreelineDrift');
  expect(watched.told()).toEqual(beganAndEnded('drifted:shop', 'drift'));
});

it.skipIf(process.getuid?.() !== 0)('a full disk (skipped where nothing may be mounted)', async () => {
  const lab = await createLab();
  const { state, repository } = lab.site;
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=0700', 'tmpfs', state]);
  onTestFinished(() => void execFileSync('umount', ['--lazy', state]));
  const watched = await watchLab(lab);
  const filler = join(state, 'filler');
  spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4k'], { stdio: 'ignore' });
  await repository.commit({ [TEMPLATE]: templateText('large') });
  const { reason } = await watched.seen('store:unsaved', 'TreelineStoreUnwritable', 40);
  expect(reason).toContain('database or disk is full');
  rmSync(filler);
  await watched.ended('store:unsaved', 'TreelineStoreUnwritable');
  await watched.running.untilDone(await repository.head(), 'shop', 'office');
  expect(watched.told()).toEqual(beganAndEnded('store:unsaved'));
});

it('a repository that is gone', async () => {
  const lab = await createLab();
  const watched = await watchLab(lab);
  const away = join(lab.site.folder, 'away.git');
  renameSync(lab.site.repository.path, away);
  const { reason } = await watched.seen('repository:unread', 'TreelineRepositoryUnreadable');
  expect(reason).toContain('there is no directory');
  renameSync(away, lab.site.repository.path);
  await watched.ended('repository:unread', 'TreelineRepositoryUnreadable');
  expect(watched.told()).toEqual(beganAndEnded('repository:unread'));
});

function authorityOf({ folder }: Site): KeyPair {
  const read = (name: string): string => readFileSync(join(folder, 'pki', name), 'utf8');
  return { key: read('ca.key'), cert: read('ca.crt') };
}

it('a certificate of the server that ends in three days, and one of a client that has ended', async () => {
  const lab = await createLab();
  const authority = authorityOf(lab.site);
  const serve = async (begins: number): Promise<void> => {
    const { key, cert } = await issueServerCertificate(authority, { now: begins });
    writeFileSync(join(lab.site.folder, 'pki/server.key'), key);
    writeFileSync(join(lab.site.folder, 'pki/server.crt'), cert);
  };
  const life = { now: Date.now() - 30 * DAY_MS, days: 30 + 15_000 / DAY_MS };
  const client = await issueClientCertificate(authority, { commonName: 'old robot', ...life });
  const id = `certificate:client:${client.serial}`;
  const registration = { [`clients/${client.serial}.yaml`]: 'role: automation-endpoint\ndescription: old robot\n' };
  await lab.site.repository.commit(registration);
  const watched = await watchLab(lab);
  const ask = () => watched.running.request('/stacks/instances/shop/status', { identity: client });
  expect((await ask()).status).toBe(200);
  await expect
    .poll(
      () =>
        ask().then(
          ({ status }) => status === 200,
          () => false,
        ),
      PATIENCE,
    )
    .toBe(false);
  await serve(Date.now() - 362 * DAY_MS);
  await watched.seen('certificate:server', 'TreelineCertificateEnds');
  const { action, reason } = await watched.seen(id, 'TreelineCertificateEnds');
  expect(reason).toContain(`the client old robot (${client.serial}) has ended`);
  await serve(Date.now());
  await follow(watched, action);
  await watched.ended('certificate:server', 'TreelineCertificateEnds');
  await watched.ended(id, 'TreelineCertificateEnds');
  expect(watched.told().toSorted()).toEqual([...beganAndEnded('certificate:server'), ...beganAndEnded(id)].toSorted());
});

it.each([
  ['removed', 20],
  ['revoked', 420],
])('a proxy that is %s, while its servers are at rest', async (how, secondsMax) => {
  const servers = temporaryDirectory();
  writeFileSync(join(servers, 'ms'), '10');
  const execution = '  proxied: { timeoutSeconds: 20, checkSeconds: 5 }';
  const options = { files: stackOf(4), repository: ', pollSeconds: 1', execution, provider: 'none' };
  const site = await createSiteIn(temporaryDirectory(), options);
  const crl = join(site.folder, 'pki/ca.crl');
  const revoke = async (...revoked: readonly string[]): Promise<void> =>
    writeFileSync(crl, await createCrl(authorityOf(site), { now: Date.now(), revoked }));
  await revoke();
  const watched = await watchController(site, (settings) => ({
    ...settings,
    api: { ...settings.api, tls: { ...settings.api.tls, crl } },
  }));
  const { port } = watched.running.controller.api;
  const start = (name: string) => startProxy(name, { site, servers, port, concurrency: 5 });
  await start('north');
  await watched.running.untilDone(await site.repository.head(), 'shop');
  // On a busy machine it is told that nobody looks after these servers before north has come.
  await expect.poll(() => watched.told().length % 2, PATIENCE).toBe(0);
  const before = watched.told().length;
  const serial = readFileSync(join(site.folder, 'north/serial'), 'utf8');
  if (how === 'removed') await site.repository.commit({ [`clients/${serial}.yaml`]: null });
  else await revoke(serial);
  const { servers: concerned } = await watched.seen('proxies:lab', 'TreelineProxySilent', secondsMax);
  expect(concerned.count).toBe(4);
  await start('south');
  await watched.ended('proxies:lab', 'TreelineProxySilent');
  expect(watched.told().slice(before)).toEqual(beganAndEnded('proxies:lab'));
});

it('a server that failed, for which those of another instance wait', async () => {
  const lab = await createLab();
  const watched = await watchLab(lab);
  const refusal = '{"outcome":"failed","message":"no such image"}';
  lab.broken(`call=$(cat)
case $call in *'"create"'*cache*) echo '${refusal}'; exit 0 ;; esac
printf '%s' "$call" | ${process.execPath} ${FILES}; exit 0`);
  const commit = await lab.site.repository.commit({
    'stacks/templates/cache.yaml': 'resources: { cache: { type: Platform::Server, properties: { name: cache } } }\n',
    'stacks/instances/cache.yaml': 'stackTemplate: cache\n',
    [TEMPLATE]: templateText().replace('-db" }', '-db", depends_on: cache, size: large }'),
  });
  const { reason, action } = await watched.seen('failed:cache', 'TreelineInstanceStuck');
  expect(reason).toContain('no such image');
  expect((await watched.type('treeline why shop')).stdout).toContain('do: treeline why cache');
  lab.broken();
  await follow(watched, action);
  await watched.ended('failed:cache', 'TreelineInstanceStuck');
  await watched.running.untilDone(commit, 'shop', 'office', 'cache');
  expect(watched.told()).toEqual(beganAndEnded('failed:cache'));
});

it('a provider whose calls take long', async () => {
  const lab = await createLab({ entry: 'timeoutSeconds: 40' });
  const watched = await watchLab(lab);
  lab.broken('sleep 28');
  await lab.site.repository.commit({ [TEMPLATE]: templateText('large') });
  const { reason } = await watched.seen('provider:lab', 'TreelineProviderSilent', 60);
  expect(reason).toContain('"lab" is slow: since ');
  lab.broken();
  await watched.ended('provider:lab', 'TreelineProviderSilent');
  await watched.running.untilDone(await lab.site.repository.head(), 'shop', 'office');
  expect(watched.told()).toEqual(beganAndEnded('provider:lab'));
});
