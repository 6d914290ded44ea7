// contrib/providers/libvirt: what it does with machines, volumes and descriptions. A stand-in takes the place of virsh.
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { factsIn, fill, valuesIn, withValues } from '../../contrib/providers/libvirt/domain-xml.mjs';
import { counted, wantedOf } from '../../contrib/providers/libvirt/machine.mjs';
import { itInFull } from '../support/count-runs.ts';
import { createRig } from './libvirt-rig.ts';

const WEB = { name: 'web-1', role: 'web', shape: 'small' };
/** What the shape `small` gives each of its servers. */
const SMALL = { memory: '512', vcpus: 1, disk: '4' };
const asked = { properties: WEB, record: SMALL };
const CREATE = ['vol-create-as', 'vol-create-as', 'vol-upload', 'define', 'autostart', 'start'];
const SEED_AGAIN = ['vol-delete', 'vol-create-as', 'vol-upload'];

it('the libvirt provider creates, checks and deletes a machine, and every call may be repeated', async () => {
  const { call, changes, read } = createRig();
  expect(await call('check', 'web-1', asked)).toMatchObject({ outcome: 'absent', place: '0b5e1c52-pool' });
  expect(await call('update', 'web-1', asked)).toMatchObject({ outcome: 'absent' });
  const created = await call('create', 'web-1', asked);
  expect(created).toEqual({
    outcome: 'done',
    message: 'it runs',
    observed: WEB,
    place: '0b5e1c52-pool',
    outputs: { uuid: expect.stringMatching(/^[0-9a-f-]{36}$/), address: '192.0.2.7' },
  });
  expect(changes()).toEqual(CREATE);
  expect(read('pools/machines/web-1.qcow2')).toMatch(/^4294967296\n.*images\/debian\.qcow2\n$/);
  // A key that is in the seed is in nothing that other users of libvirt can read.
  expect(read('web-1.seed')).toContain(
    '- { path: /etc/treeline/node.key, content: "PEM of web-1.key\\n", permissions: "0600" }',
  );
  expect(read('domains/web-1/config')).not.toContain('PEM');
  expect(await call('create', 'web-1', asked)).toEqual(created);
  expect(await call('check', 'web-1', asked)).toEqual(created);
  expect(changes()).toEqual(['define']);
  expect(await call('delete', 'web-1', asked)).toMatchObject({
    outcome: 'done',
    message: 'the machine and its disk are deleted',
  });
  expect(changes()).toEqual(['destroy', 'undefine', 'vol-delete', 'vol-delete']);
  expect(await call('delete', 'web-1', asked)).toMatchObject({ outcome: 'absent' });
  expect(await call('check', 'web-1', asked)).toMatchObject({ outcome: 'absent' });
  expect(await call('create', 'web-2')).toMatchObject({
    outcome: 'retryable',
    message: expect.stringMatching(/web-2\.crt is missing: make it with treeline client new/),
  });
});

itInFull('the libvirt provider changes in place, restarts or answers "replace" as needed', async () => {
  const { call, changes } = createRig();
  await call('create', 'web-1', asked);
  changes();
  const role = { properties: { ...WEB, role: 'db' }, record: SMALL };
  expect(await call('update', 'web-1', role)).toMatchObject({ outcome: 'done', observed: role.properties });
  expect(changes()).toEqual(['define']);
  const larger = { properties: WEB, record: { ...SMALL, disk: '5' } };
  expect(await call('update', 'web-1', larger)).toMatchObject({ outcome: 'done', observed: WEB });
  expect(changes()).toEqual(['blockresize', 'define']);
  const more = { properties: WEB, record: { ...SMALL, disk: '5', memory: '1G', vcpus: 2 } };
  expect(await call('update', 'web-1', more)).toMatchObject({ outcome: 'done', observed: WEB });
  expect(changes()).toEqual(['define', 'shutdown', ...SEED_AGAIN, 'start']);

  expect(await call('update', 'web-1', asked)).toMatchObject({
    outcome: 'replace',
    message: 'its disk has 5, and cannot be made smaller',
  });
  // A machine that cannot be made is not deleted first.
  const other = { properties: { ...WEB, image: 'fedora.qcow2' }, record: SMALL };
  expect(await call('update', 'web-1', other)).toMatchObject({
    outcome: 'failed',
    message: 'there is no image "fedora.qcow2" in the pool images',
  });
  expect(changes()).toEqual(['pool-refresh']);
  expect(await call('check', 'web-1', more)).toMatchObject({ outcome: 'done', observed: WEB });
});

itInFull('the libvirt provider finds manual changes, and keeps the disk until the delete', async () => {
  const { call, virsh, read, write } = createRig();
  const { outputs } = await call('create', 'web-1', asked);
  const id = String(outputs.uuid);
  const own = { properties: { ...WEB, memory: '512' }, record: SMALL };
  const seen = async (fields = asked): Promise<unknown> => (await call('check', 'web-1', fields)).observed;
  virsh('destroy', id);
  expect(await seen()).toEqual({ ...WEB, shape: 'small (shut off)' });
  await call('update', 'web-1', asked);
  expect(await seen()).toEqual(WEB);

  const config = read('domains/web-1/config') ?? '';
  // For its next start: the running machine has what it had.
  write('domains/web-1/config', config.replaceAll('524288', '262144'));
  expect(await seen()).toEqual({ ...WEB, shape: 'small (memory 256)' });
  expect(await seen(own)).toEqual({ ...WEB, memory: '256' });
  await call('update', 'web-1', asked);
  expect(await seen()).toEqual(WEB);

  write('domains/web-1/config', config.replace(FACTS, ''));
  expect(await seen()).toEqual({ shape: 'small (defined by hand)' });
  virsh('undefine', id);
  expect(await call('check', 'web-1', asked)).toMatchObject({
    outcome: 'done',
    observed: { shape: 'small (not defined: only its disk is there)' },
  });
  expect((await call('update', 'web-1', asked)).outputs).toEqual(outputs);
  expect(await seen()).toEqual(WEB);
  expect(read('log')?.match(/vol-create-as machines web-1\.qcow2/g)).toHaveLength(1);
});

itInFull('the libvirt provider does not touch machines and volumes with similar names', async () => {
  const { call, changes, machines, virsh, read, write } = createRig();
  write('web-1.xml', FOREIGN.replace('<name>web-1</name>', '<name>web-1 old</name>'));
  virsh('define', join(machines, 'web-1.xml'));
  write('pools/machines/web-1.qcow2 old', '4294967296\n\n');
  changes();
  expect(await call('check', 'web-1', asked)).toMatchObject({ outcome: 'absent' });
  expect(await call('delete', 'web-1', asked)).toMatchObject({ outcome: 'absent' });
  expect(changes()).toEqual([]);
  expect(await call('create', 'web-1', asked)).toMatchObject({ outcome: 'done', observed: WEB });
  expect(await call('delete', 'web-1', asked)).toMatchObject({ outcome: 'done' });
  expect(read('domains/web-1 old/uuid')).toBeDefined();
  expect(read('pools/machines/web-1.qcow2 old')).toBeDefined();
});

it('the libvirt provider manages an adopted machine, but never deletes its disk', async () => {
  const { call, changes, machines, virsh, read, write } = createRig();
  write('web-1.xml', FOREIGN);
  virsh('define', join(machines, 'web-1.xml'));
  virsh('start', '5d2bb2cc-8b1f-4b39-9a3c-0d7e0f6d4d0a');
  changes();
  const record = { ...SMALL, network: 'br0' };
  // It has what is asked for, as far as can be seen: nothing is left to do for whoever adopts it.
  expect(await call('check', 'web-1', { properties: WEB, record })).toMatchObject({ outcome: 'done', observed: {} });
  const more = { properties: { ...WEB, memory: '1G' }, record };
  expect((await call('check', 'web-1', more)).observed).toEqual({ memory: '512' });
  expect(await call('create', 'web-1', more)).toMatchObject({ outcome: 'done', observed: { memory: '512' } });
  expect(changes()).toEqual([]);
  expect((await call('update', 'web-1', more)).observed).toEqual(more.properties);
  expect(changes()).toEqual(['define', 'shutdown', 'start']);
  expect(read('domains/web-1/config')).toContain('http://libosinfo.org');
  expect(await call('delete', 'web-1', more)).toMatchObject({
    outcome: 'done',
    message: 'the machine is deleted; its disk /dev/vg/a&b is kept, because Treeline did not make it',
  });
  expect(changes()).toEqual(['destroy', 'undefine']);
});

/** What is noted in a description. */
const FACTS = /<treeline:server.*?<\/treeline:server>/s;
const FOREIGN = `<domain type='kvm' id='3'>
  <name>web-1</name>
  <uuid>5d2bb2cc-8b1f-4b39-9a3c-0d7e0f6d4d0a</uuid>
  <metadata>
    <libosinfo:libosinfo xmlns:libosinfo="http://libosinfo.org/xmlns/libvirt/domain/1.0">
      <memory unit='KiB'>7</memory>
    </libosinfo:libosinfo>
  </metadata>
  <memory unit='KiB'>524288</memory>
  <currentMemory unit='KiB'>524288</currentMemory>
  <vcpu placement='static' current='1'>2</vcpu>
  <devices>
    <disk type='file' device='cdrom'>
      <source file='/iso/installer.iso'/>
    </disk>
    <disk type='block' device='disk'>
      <source dev='/dev/vg/a&amp;b'/>
    </disk>
    <interface type='bridge'>
      <mac address='52:54:00:00:00:01'/>
      <source bridge='br0'/>
    </interface>
  </devices>
</domain>
`;

describe('the description of a machine', () => {
  it('is read as libvirt prints it, without metadata of other programs', () => {
    expect(valuesIn(FOREIGN)).toEqual({ memory: '524288', vcpus: '1', network: 'br0', path: '/dev/vg/a&b' });
    expect(factsIn(FOREIGN)).toBeUndefined();
  });

  it('is changed only where requested', () => {
    const facts = { properties: { note: `it's <b>\n東京 \uffff` }, spec: wantedOf(callWith({ memory: '1G' })) };
    const values = { memory: '1048576', vcpus: '4', network: 'a&b' };
    const changed = withValues(withValues(FOREIGN, values, facts), values, facts);
    expect(valuesIn(changed)).toMatchObject(values);
    expect(factsIn(changed)).toEqual(facts);
    const expected = FOREIGN.replaceAll('>524288<', '>1048576<')
      .replace(" current='1'>2<", '>4<')
      .replace("'br0'", "'a&amp;b'");
    expect(changed.replace(FACTS, '')).toBe(expected);
  });

  it('is made of a template with known placeholders', () => {
    expect(fill('<name>@name@</name> me@example.org', { name: 'a<b' }, (text) => text.toUpperCase())).toBe(
      '<name>A<B</name> me@example.org',
    );
    expect(() => fill('@nmae@', { name: '' }, String)).toThrow('the template has @nmae@, which is none of @name@');
  });
});

describe('a wanted value', () => {
  it('is a property, else a key of the record, else a default of the entry', () => {
    const call = { ...callWith({ memory: '2G', vcpus: '' }), record: { memory: '1G', vcpus: 2, network: 'lab' } };
    expect(wantedOf(call)).toEqual({ image: '', disk: '', memory: '2G', vcpus: '2', network: 'lab' });
  });

  it.each([
    ['memory', '512', '524288'],
    ['memory', '1G', '1048576'],
    ['disk', '10', '10737418240'],
    ['disk', '300M', '314572800'],
    ['vcpus', '2', '2'],
  ] as const)('counts %s %s as libvirt does', (aspect, text, value) => {
    expect(counted(aspect, text)).toBe(value);
  });

  it.each<Readonly<Record<string, string | readonly string[]>>>([
    { memory: 'much' },
    { disk: '-1' },
    { disk: '1.5G' },
    { vcpus: '0' },
    { image: '../debian.qcow2' },
    { network: '--help' },
    { memory: ['1', '2'] },
  ])('is refused: %j', (properties) => {
    expect(() => wantedOf(callWith(properties))).toThrow(/^\w+ is .*, which is not a /);
  });
});

function callWith(properties: Readonly<Record<string, string | readonly string[]>>) {
  const base = {
    operation: 'check',
    action: '',
    resource: 'web-1',
    kind: '',
    record: {},
    deadline: 0,
    text: '',
  } as const;
  return { ...base, properties };
}
