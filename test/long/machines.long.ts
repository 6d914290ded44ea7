// The day of twenty real machines, at two sites, one behind a proxy: what contrib/providers/libvirt, the controller and the proxy do with them while each is
// killed. What it prints is a recording. Without KVM=1 the machines are emulated. Skipped where libvirt, QEMU or Debian's cloud kernel is missing.
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LIBVIRT } from '../contrib/libvirt-rig.ts';
import { expectConformance } from '../support/expect-conformance.ts';
import { MachinesScene } from '../support/machines-scene.ts';
import { NO_MACHINES, type PrivateLibvirt } from '../support/private-libvirt.ts';

const TYPE = process.env.KVM === '1' ? 'kvm' : 'qemu';
/** What is done by hand needs four at each site. */
const EACH = Math.max(4, Number(process.env.MACHINES ?? 20) / 2);
const DAY_MS = 3_600_000;
const PATIENCE = { timeout: 900_000, interval: 1_000 };
const namesOf = (site: string): readonly string[] => Array.from({ length: EACH }, (_, index) => `${site}-${index + 1}`);

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'types/shape/small.yaml': 'memory: "128"\ndisk: 16M\n',
  'types/shape/large.yaml': 'memory: "144"\nvcpus: 2\ndisk: 32M\n',
  'types/role/web.yaml': 'motd: good morning\n',
  'stacks/templates/site.yaml': `parameters: { site: "", shape: small, image: a.qcow2, count: "${EACH}" }
resources:
  web:
    type: Platform::ResourceGroup
    properties:
      count: "<<count>>"
      max_unavailable: "2"
      resource_def:
        properties: { name: "<<site>>-<<index>>", role: web, shape: "<<shape>>", image: "<<image>>", ProxyTag: "<<site>>" }
`,
  'stacks/templates/one.yaml': `resources:
  old: { type: Platform::Server, properties: { name: old-1, role: web, memory: "128", ProxyTag: near } }
`,
  'stacks/instances/near.yaml': instanceOf('near'),
  'stacks/instances/far.yaml': instanceOf('far'),
};

function instanceOf(site: string, more = ''): string {
  return `stackTemplate: site\nparameters: { site: ${site}${more} }\n`;
}

const began = Date.now();
function record(text: string): void {
  const seconds = String(Math.round((Date.now() - began) / 1000)).padStart(5);
  process.stdout.write(`${text.replaceAll(/^/gm, `${seconds} s  `)}\n`);
}

/** Records a command of a person and what it says. */
async function told(scene: MachinesScene, ...args: readonly string[]): Promise<string> {
  const said = await scene.treeline(...args);
  record(`$ treeline ${args.join(' ')}\n${said}`);
  return said;
}

async function untilStatus(scene: MachinesScene, instance: string, status: string): Promise<void> {
  const line = new RegExp(`^${instance}: ${status}\\b`, 'm');
  await expect.poll(() => scene.treeline('status', instance), PATIENCE).toMatch(line);
}

/** Follows commits, then the states of all servers. */
async function untilFollowed(scene: MachinesScene, commit: string): Promise<void> {
  await expect.poll(() => scene.treeline('status', '--wait', commit), PATIENCE).not.toContain('In progress');
}

/**
 * Approves what is held until an instance has another status than `status`. That a machine has to be replaced is known once its update is tried, so
 * that what is held grows.
 */
async function approveWhile(scene: MachinesScene, instance: string, status: RegExp): Promise<void> {
  const approve = async (): Promise<string> => {
    const [, digest] = /treeline approve ([0-9a-f]+)/.exec(await scene.treeline('held')) ?? [];
    if (digest !== undefined) await told(scene, 'approve', digest);
    return await scene.treeline('status', instance);
  };
  await expect.poll(approve, PATIENCE).not.toMatch(new RegExp(`^${instance}: (?:${status.source})`, 'm'));
}

/** Returns the starts that a console shows, as numbers: a disk counts its own. */
function startsOn(libvirt: PrivateLibvirt, name: string): readonly number[] {
  return libvirt.console(name).flatMap((line) => (line.match(/: start (\d+) on/)?.slice(1) ?? []).map(Number));
}

/** Returns the record that a console showed last. */
function recordOn(libvirt: PrivateLibvirt, name: string): string {
  return libvirt.console(name).findLast((line) => line.includes(': record {')) ?? '';
}

async function untilShown(libvirt: PrivateLibvirt, names: readonly string[], text: string): Promise<void> {
  const lacking = (): readonly string[] => names.filter((name) => !recordOn(libvirt, name).includes(text));
  await expect.poll(lacking, PATIENCE).toEqual([]);
}

describe.skipIf(NO_MACHINES !== '')(`real machines${NO_MACHINES}`, () => {
  it('a day of them', { timeout: DAY_MS }, async () => {
    const scene = await MachinesScene.start(FILES, [...namesOf('near'), ...namesOf('far'), 'old-1'], TYPE);
    record(`two sites with ${EACH} machines each, ${TYPE === 'kvm' ? 'with KVM' : 'emulated'}`);
    await morning(scene);
    await forenoon(scene);
    await noon(scene);
    await afternoon(scene);
    await evening(scene);
    await expectConformance(LIBVIRT, { ...scene.environments.near, TREELINE_LIBVIRT_MEMORY: '128' });
    record('the program keeps the contract with this libvirt');
  });
});

/** All are made, while everything in between is killed. */
async function morning(scene: MachinesScene): Promise<void> {
  const { near, far } = scene;
  const some = (libvirt: PrivateLibvirt, count: number): Promise<void> =>
    expect
      .poll(async () => (await libvirt.machines().catch(() => [])).length, PATIENCE)
      .toBeGreaterThanOrEqual(Math.min(count, EACH));
  await some(near, 1);
  record('the controller is killed');
  await scene.killController();
  await some(far, 2);
  record('the proxy is killed');
  await scene.killProxy();
  await some(near, 3);
  record('the libvirt of near is killed');
  await near.kill();
  await near.start();
  await some(far, 4);
  record('the libvirt of far is killed, and the controller');
  await far.kill();
  await scene.killController();
  await far.start();
  await untilStatus(scene, 'near', 'Done');
  await untilStatus(scene, 'far', 'Done');
  await told(scene, 'status');
  expect(await near.machines()).toEqual([...namesOf('near')].sort());
  expect(await far.machines()).toEqual([...namesOf('far')].sort());
  await untilShown(near, namesOf('near'), 'good morning');
  await untilShown(far, namesOf('far'), 'good morning');
  for (const [libvirt, site] of [
    [near, 'near'],
    [far, 'far'],
  ] as const) {
    for (const name of namesOf(site)) {
      expect(startsOn(libvirt, name), name).toEqual([1]);
      expect(recordOn(libvirt, name)).toContain(`"name":"${name}"`);
    }
  }
  record(
    `every machine has started once and shows its own record, such as\n${near.console('near-1').slice(-3).join('\n')}`,
  );
}

/** A reboot, a record that changes without an action, and more memory in place. */
async function forenoon(scene: MachinesScene): Promise<void> {
  const { near, far, site } = scene;
  record('near-1 is switched off and on by its own hypervisor');
  await near.virsh('reset', 'near-1');
  await expect.poll(() => startsOn(near, 'near-1'), PATIENCE).toEqual([1, 2]);
  await untilFollowed(scene, await site.repository.commit({ 'types/role/web.yaml': 'motd: good day\n' }));
  await untilShown(near, namesOf('near'), 'good day');
  await untilShown(far, namesOf('far'), 'good day');
  expect(startsOn(near, 'near-2')).toEqual([1]);
  record('a changed record is on all consoles, and no machine was started for it');

  await site.repository.commit({
    'stacks/instances/near.yaml': instanceOf('near', ', shape: large'),
    'stacks/instances/far.yaml': instanceOf('far', ', shape: large'),
  });
  await expect.poll(() => startsOn(far, 'far-1'), PATIENCE).toEqual([1, 2]);
  record('during the updates, the proxy, the controller and both libvirts are killed');
  await Promise.all([scene.killProxy(), scene.killController(), near.kill(), far.kill()]);
  await Promise.all([near.start(), far.start()]);
  for (const [libvirt, name] of [
    [near, 'near'],
    [far, 'far'],
  ] as const) {
    await untilStatus(scene, name, 'Done');
    for (const machine of namesOf(name)) {
      const last = (): string => libvirt.console(machine).findLast((line) => line.includes(': start ')) ?? '';
      await expect.poll(last, PATIENCE).toMatch(/image a, 32 MiB; memory 1\d+ kB; processors 2/);
      // The disk counts on: it is the one that was made in the morning.
      expect(startsOn(libvirt, machine)[0]).toBe(1);
      expect(startsOn(libvirt, machine).filter((count) => count === 1)).toHaveLength(1);
    }
  }
  record(
    `all have more memory, processors and disk, and the disks of before:\n${near
      .console('near-2')
      .filter((line) => line.includes(': start '))
      .join('\n')}`,
  );
}

/** What somebody does by hand. */
async function noon(scene: MachinesScene): Promise<void> {
  const { near, far } = scene;
  record(
    'the QEMU of near-4 is killed; by hand: near-2 is switched off, near-3 undefined, far-1 gets less memory, far-2 is undefined with its disk',
  );
  near.killMachine('near-4');
  await near.virsh('destroy', 'near-2');
  await near.virsh('destroy', 'near-3');
  await near.virsh('undefine', 'near-3');
  await far.virsh('setmem', 'far-1', '112M', '--config');
  await far.virsh('setmaxmem', 'far-1', '112M', '--config');
  await far.virsh('destroy', 'far-2');
  await far.virsh('undefine', 'far-2');
  await far.virsh('vol-delete', 'far-2.qcow2', '--pool', 'machines');
  const starts = startsOn(near, 'near-3').length;
  for (const instance of ['near', 'far']) {
    await scene.treeline('check', instance);
    await untilStatus(scene, instance, 'Drifted');
  }
  await expect
    .poll(() => scene.treeline('status', 'near'), PATIENCE)
    .toMatch(/near-2: drifted[\s\S]*near-3: drifted[\s\S]*near-4: drifted/);
  await expect.poll(() => scene.treeline('status', 'far'), PATIENCE).toMatch(/far-1: drifted[\s\S]*far-2: drifted/);
  await told(scene, 'why', 'near');
  await told(scene, 'why', 'far');
  for (const instance of ['near', 'far']) {
    await told(scene, 'retry', instance);
    await untilStatus(scene, instance, 'Done');
  }
  await expect.poll(() => startsOn(near, 'near-3').length, PATIENCE).toBe(starts + 1);
  expect(startsOn(near, 'near-3').at(-1)).toBe(starts + 1);
  await expect.poll(() => startsOn(far, 'far-2').at(-1), PATIENCE).toBe(1);
  record('near-3 runs on the disk that it had; far-2, whose disk was gone, was made anew');
}

/** A machine that was there before is adopted, and another image replaces machines once a person has approved. */
async function afternoon(scene: MachinesScene): Promise<void> {
  const { near, site } = scene;
  await makeByHand(scene, 'old-1');
  await expect.poll(() => startsOn(near, 'old-1'), PATIENCE).toEqual([1]);
  await site.repository.commit({ 'stacks/instances/old.yaml': 'stackTemplate: one\n' });
  await untilStatus(scene, 'old', 'Blocked');
  await told(scene, 'why', 'old');
  await told(scene, 'adopt', 'old');
  await untilStatus(scene, 'old', 'Done');
  await untilShown(near, ['old-1'], 'good day');
  expect(startsOn(near, 'old-1')).toEqual([1]);
  record('old-1 is under control without a start, and shows its record');

  await site.repository.commit({ 'stacks/instances/near.yaml': instanceOf('near', ', shape: large, image: b.qcow2') });
  await untilStatus(scene, 'near', 'Awaiting approval');
  await told(scene, 'held');
  await approveWhile(scene, 'near', /Awaiting approval/);
  await expect.poll(() => near.console('near-1').some((line) => line.includes('image b')), PATIENCE).toBe(true);
  record('during the replacements the controller and the libvirt are killed');
  await Promise.all([scene.killController(), near.kill()]);
  await near.start();
  await approveWhile(scene, 'near', /Awaiting approval|In progress/);
  await untilStatus(scene, 'near', 'Done');
  const onB = (name: string): boolean =>
    near.console(name).some((line) => line.includes(': start 1 on a disk of the image b'));
  await expect.poll(() => namesOf('near').filter((name) => !onB(name)), PATIENCE).toEqual([]);
  record('all of near were replaced, each has a new disk of the image b');
}

/** An instance goes, another one gets smaller: their disks go, and no other. */
async function evening(scene: MachinesScene): Promise<void> {
  const { near, far, site } = scene;
  const disks = async (libvirt: PrivateLibvirt): Promise<readonly string[]> =>
    (await libvirt.virsh('vol-list', 'machines'))
      .split('\n')
      .map((line) => line.trim().split(/\s+/)[0] ?? '')
      .filter((name) => name !== '')
      .sort();
  await site.repository.commit(
    { 'stacks/instances/far.yaml': instanceOf('far', ', shape: large, count: "2"'), 'stacks/instances/old.yaml': null },
    { message: `Less\n\nTreeline-Approve-Deletes: ${EACH}` },
  );
  await expect.poll(() => far.machines(), PATIENCE).toEqual(['far-1', 'far-2']);
  await expect.poll(() => near.machines(), PATIENCE).toEqual([...namesOf('near')].sort());
  await untilStatus(scene, 'far', 'Done');
  expect(await disks(far)).toEqual(['far-1.qcow2', 'far-1.seed.iso', 'far-2.qcow2', 'far-2.seed.iso']);
  expect(await disks(near)).toEqual(
    namesOf('near')
      .flatMap((name) => [`${name}.qcow2`, `${name}.seed.iso`])
      .sort(),
  );
  // What somebody else has made is left.
  expect(readFileSync(join(near.folder, 'old-1.qcow2')).subarray(0, 3).toString()).toBe('QFI');
  await told(scene, 'status');
  record('the disks of what was deleted are gone, and no others; the one that old-1 brought along is left');
}

/** Makes a machine as a person does who does not know Treeline. */
async function makeByHand({ near, site, relay }: MachinesScene, name: string): Promise<void> {
  const { folder } = near;
  const seed = join(folder, 'old-seed');
  mkdirSync(seed);
  const files = { 'ca.crt': 'ca.crt', 'node.crt': `${name}.crt`, 'node.key': `${name}.key` };
  for (const [to, from] of Object.entries(files)) copyFileSync(join(site.folder, 'machines', from), join(seed, to));
  writeFileSync(join(seed, 'name'), name);
  writeFileSync(join(seed, 'url'), `https://localhost:${relay.port}`);
  execFileSync(
    'xorriso',
    ['-as', 'mkisofs', '-quiet', '-o', join(folder, 'old.iso'), '-V', 'cidata', '-J', '-R', seed],
    { stdio: 'ignore' },
  );
  execFileSync('qemu-img', ['convert', '-O', 'qcow2', join(folder, 'images/a.qcow2'), join(folder, `${name}.qcow2`)]);
  chmodSync(join(folder, `${name}.qcow2`), 0o666);
  const values = {
    name,
    uuid: '5d2bb2cc-8b1f-4b39-9a3c-0d7e0f6d4d0a',
    mac: '52:54:00:00:00:07',
    type: TYPE,
    memory: '131072',
  };
  const paths = { vcpus: '1', disk: join(folder, `${name}.qcow2`), seed: join(folder, 'old.iso') };
  const template = readFileSync(join(folder, 'domain.xml'), 'utf8');
  const known: Readonly<Record<string, string>> = { ...values, ...paths };
  writeFileSync(
    join(folder, 'old.xml'),
    template.replaceAll(/@(\w+)@/g, (_, key) => known[key] ?? ''),
  );
  await near.virsh('define', join(folder, 'old.xml'));
  await near.virsh('start', name);
}
