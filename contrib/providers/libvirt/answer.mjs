// Answers the four operations for virtual machines of libvirt. Calls for one machine run one after the other.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CallFailure } from '../exec-call/call-failure.mjs';
import { requiredSetting, secondsSetting } from '../exec-call/environment.mjs';
import { takeLock } from '../exec-call/file-lock.mjs';
import { encode, factsIn, fill, valuesIn, withValues } from './domain-xml.mjs';
import { diskOf, Hypervisor, seedOf } from './hypervisor.mjs';
import { ASPECTS, counted, observedIn, reasonToReplace, wantedOf } from './machine.mjs';
import { provideSeed } from './seed.mjs';

/**
 * @typedef {import('../exec-call/answer-call.mjs').Call} Call
 * @typedef {import('../exec-call/answer-call.mjs').Answer} Answer
 * @typedef {import('../exec-call/answer-call.mjs').Handlers} Handlers
 * @typedef {import('./hypervisor.mjs').Domain} Domain
 * @typedef {import('./hypervisor.mjs').Machine} Machine
 * @typedef {import('./machine.mjs').Facts} Facts
 * @typedef {import('./machine.mjs').Values} Values
 * @typedef {{ readonly call: Call, readonly folder: string, readonly hypervisor: Hypervisor }} Work
 */

/** Programs are ended this long before the deadline, so that the answer still arrives. */
const RESERVE_MS_MAX = 10_000;
const SHUTDOWN_SECONDS = 60;
const SHUTDOWN_POLL_MS = 250;
const NOTHING_THERE = /** @type {const} */ ({
  outcome: 'absent',
  message: 'libvirt has neither the machine nor its disk',
});
/** States of a machine, as libvirt names them. */
const RUNNING = 'running';
const PAUSED = 'paused';
const OFF = 'shut off';
const ENDED = [OFF, 'crashed'];
/** Values that take effect when the machine starts. */
const AT_START = /** @type {const} */ (['memory', 'vcpus', 'network']);

/** @returns {Handlers} */
export function handlers() {
  return {
    check: (call) => answer(call, checkMachine),
    create: (call) => answer(call, provideMachine),
    update: (call) => answer(call, provideMachine),
    delete: (call) => answer(call, deleteMachine),
  };
}

/**
 * Holds the machine's lock during a call, and adds the place to the answer. Programs inherit the lock, so a program
 * that outlives its call blocks the next call.
 * @param {Call} call
 * @param {(work: Work) => Promise<Answer>} perform
 * @returns {Promise<Answer>}
 */
async function answer(call, perform) {
  const folder = join(workFolder(), call.resource);
  const deadline = call.deadline - Math.min(RESERVE_MS_MAX, (call.deadline - Date.now()) / 4);
  const isCheck = call.operation === 'check';
  if (isCheck && !existsSync(folder)) return await performIn(undefined);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = await takeLock(join(folder, 'lock'), deadline);
  if (lock === undefined)
    throw new CallFailure('retryable', `a program of an earlier call for ${call.resource} still runs`);
  try {
    const answered = await performIn(lock.fd);
    if (!isCheck && (answered.outcome === 'absent' || call.operation === 'delete')) rmSync(folder, { recursive: true });
    return answered;
  } finally {
    lock.release();
  }

  /** @param {number | undefined} lockFd */
  async function performIn(lockFd) {
    const hypervisor = new Hypervisor({ deadline, lockFd });
    const place = await hypervisor.place();
    return { ...(await perform({ call, folder, hypervisor })), place };
  }
}

/**
 * @param {Work} work
 * @returns {Promise<Answer>}
 */
async function checkMachine({ call, hypervisor }) {
  const machine = await hypervisor.look(call.resource);
  const { domain } = machine;
  if (domain === undefined && machine.disk === undefined) return NOTHING_THERE;
  const { observed, different } = observedIn(machine, call);
  const message = different.length === 0 ? 'it runs' : `it differs: ${different.join(', ')}`;
  if (domain === undefined) return { outcome: 'done', message, observed };
  const address = domain.state === RUNNING ? await hypervisor.address(domain.uuid) : undefined;
  return { outcome: 'done', message, observed, outputs: { uuid: domain.uuid, ...(address && { address }) } };
}

/**
 * Creates or updates a machine: makes what is missing, changes in place what it can, and starts the machine.
 * @param {Work} work
 * @returns {Promise<Answer>}
 */
async function provideMachine(work) {
  const { call, hypervisor } = work;
  const isUpdate = call.operation === 'update';
  const machine = await hypervisor.look(call.resource);
  const isThere = machine.domain !== undefined || machine.disk !== undefined;
  if (!isThere && isUpdate) return NOTHING_THERE;
  const reason = isThere ? reasonToReplace(machine, call) : undefined;
  if (reason !== undefined && isUpdate) {
    // Treeline will delete the machine first, so make sure that a new one can be made.
    await findBase(hypervisor, wantedOf(call));
    return { outcome: 'replace', message: reason };
  }
  const isForeign = machine.domain !== undefined && factsIn(machine.domain.config) === undefined;
  // A create only reports a machine that somebody else made, or that no update can change.
  if (!isUpdate && (isForeign || (reason !== undefined && machine.domain !== undefined)))
    return await checkMachine(work);
  if (machine.domain === undefined) await defineMachine(work, machine);
  else await changeMachine(work, machine, machine.domain);
  return await checkMachine(work);
}

/**
 * Defines and starts a machine. Keeps an existing disk with its content, as after somebody undefined the machine.
 * @param {Work} work
 * @param {Machine} machine
 */
async function defineMachine(work, machine) {
  const { call, folder, hypervisor } = work;
  const name = call.resource;
  const wanted = wantedOf(call);
  const disk = machine.disk ?? (await makeDisk(work, wanted));
  await growDisk(work, machine);
  const { uuid, mac } = identityOf(await hypervisor.place(), name);
  const seed = await provideSeed(hypervisor, { name, uuid, folder });
  const type = process.env.TREELINE_LIBVIRT_TYPE || 'kvm';
  const { vcpus, network } = wanted;
  const values = {
    name,
    uuid,
    mac,
    type,
    vcpus,
    network,
    disk: disk.path,
    seed,
    memory: counted('memory', wanted.memory),
  };
  const template = process.env.TREELINE_LIBVIRT_TEMPLATE || join(import.meta.dirname, 'domain.xml');
  const xml = fill(readFileSync(template, 'utf8'), values, encode);
  await define(work, withFacts(xml, work, disk));
  await hypervisor.run('autostart', uuid);
  await hypervisor.run('start', uuid);
}

/**
 * @param {Work} work
 * @param {Values} wanted
 */
async function makeDisk({ call, hypervisor }, wanted) {
  const { pool } = hypervisor;
  const { path, bytes } = await findBase(hypervisor, wanted);
  const name = diskOf(call.resource);
  const backing = ['--backing-vol', path, '--backing-vol-format', 'qcow2'];
  await hypervisor.run('vol-create-as', pool, name, `${bytes}B`, '--format', 'qcow2', ...backing);
  const volume = await hypervisor.volume(pool, name);
  if (volume === undefined) throw new CallFailure('retryable', `the disk ${name} vanished from the pool ${pool}`);
  return volume;
}

/**
 * Returns the path of the image, and the size in bytes of a new disk on it.
 * @param {Hypervisor} hypervisor
 * @param {Values} wanted
 */
async function findBase(hypervisor, { image, disk }) {
  const { images } = hypervisor;
  if (image === '')
    throw new CallFailure('failed', 'the call names no image: set the property image, or TREELINE_LIBVIRT_IMAGE');
  // Somebody may have copied the image after libvirt last read the pool.
  if ((await hypervisor.volume(images, image)) === undefined) await hypervisor.run('pool-refresh', images);
  const base = await hypervisor.volume(images, image);
  if (base === undefined) throw new CallFailure('failed', `there is no image "${image}" in the pool ${images}`);
  const bytes = disk === '' ? base.bytes : counted('disk', disk);
  if (Number(bytes) >= Number(base.bytes)) return { path: base.path, bytes };
  throw new CallFailure('failed', `a disk of ${disk} is smaller than the image ${image}`);
}

/**
 * Changes what differs. A running machine sees a larger disk; other memory, processors and networks need a restart.
 * @param {Work} work
 * @param {Machine} machine
 * @param {Domain} domain
 */
async function changeMachine(work, machine, domain) {
  const { call, folder, hypervisor } = work;
  const { uuid, state, live } = domain;
  const wanted = wantedOf(call);
  await growDisk(work, machine);
  await define(work, withFacts(domain.config, work, machine.disk));
  const has = valuesIn(live);
  const needsStart = AT_START.some((aspect) => has[aspect] !== '' && has[aspect] !== counted(aspect, wanted[aspect]));
  if (state === RUNNING && !needsStart) return;
  if (state === PAUSED && !needsStart) return void (await hypervisor.run('resume', uuid));
  if (!ENDED.includes(state)) await shutDown(hypervisor, uuid);
  const hasSeed = (await hypervisor.volume(hypervisor.pool, seedOf(call.resource))) !== undefined;
  if (hasSeed) await provideSeed(hypervisor, { name: call.resource, uuid, folder });
  await hypervisor.run('start', uuid);
}

/**
 * @param {Work} work
 * @param {Machine} machine
 */
async function growDisk({ hypervisor, call }, { domain, disk }) {
  const bytes = counted('disk', wantedOf(call).disk);
  if (disk === undefined || Number(bytes) <= Number(disk.bytes)) return;
  if (domain?.state === RUNNING) await hypervisor.run('blockresize', domain.uuid, disk.path, `${bytes}B`);
  else await hypervisor.run('vol-resize', diskOf(call.resource), `${bytes}B`, '--pool', hypervisor.pool);
}

/**
 * Returns the description with the call's values, and with the facts of the call. A machine with another disk was not
 * made from the image, so its facts have no image and no size.
 * @param {string} xml
 * @param {Work} work
 * @param {Machine['disk']} disk
 */
function withFacts(xml, { call }, disk) {
  const wanted = wantedOf(call);
  const spec = disk === undefined ? { ...wanted, image: '', disk: '' } : wanted;
  const inUnits = /** @type {Values} */ (
    Object.fromEntries(ASPECTS.map((aspect) => [aspect, counted(aspect, spec[aspect])]))
  );
  return withValues(xml, inUnits, { properties: call.properties, spec });
}

/**
 * @param {Work} work
 * @param {string} xml
 */
async function define({ folder, hypervisor }, xml) {
  const file = join(folder, 'domain.xml');
  writeFileSync(file, xml, { mode: 0o600 });
  await hypervisor.run('define', file);
  rmSync(file);
}

/**
 * Asks the machine to shut down. If it does not, switches it off: unwritten data is lost.
 * @param {Hypervisor} hypervisor
 * @param {string} uuid
 */
async function shutDown(hypervisor, uuid) {
  const seconds = secondsSetting('TREELINE_LIBVIRT_SHUTDOWN_SECONDS', SHUTDOWN_SECONDS);
  // At most half of the remaining time: the start needs the rest.
  const until = Math.min(Date.now() + seconds * 1000, (Date.now() + hypervisor.deadline) / 2);
  await hypervisor.run('shutdown', uuid);
  while (Date.now() < until) {
    if ((await hypervisor.state(uuid)) === OFF) return;
    await sleep(SHUTDOWN_POLL_MS);
  }
  if ((await hypervisor.state(uuid)) !== OFF) await hypervisor.run('destroy', uuid);
}

/**
 * Deletes the disk last: the machine exists while its disk exists.
 * @param {Work} work
 * @returns {Promise<Answer>}
 */
async function deleteMachine({ call, hypervisor }) {
  const { domain, disk } = await hypervisor.look(call.resource);
  if (domain === undefined && disk === undefined) return NOTHING_THERE;
  if (domain !== undefined) {
    if (!ENDED.includes(domain.state)) await hypervisor.run('destroy', domain.uuid);
    if (!domain.isTransient)
      await hypervisor.run('undefine', domain.uuid, '--managed-save', '--snapshots-metadata', '--nvram');
  }
  const { pool } = hypervisor;
  const hasSeed = (await hypervisor.volume(pool, seedOf(call.resource))) !== undefined;
  if (hasSeed) await hypervisor.run('vol-delete', seedOf(call.resource), '--pool', pool);
  if (disk !== undefined) await hypervisor.run('vol-delete', diskOf(call.resource), '--pool', pool);
  const path = domain === undefined ? '' : valuesIn(domain.config).path;
  if (path === '' || path === disk?.path) return { outcome: 'done', message: 'the machine and its disk are deleted' };
  return {
    outcome: 'done',
    message: `the machine is deleted; its disk ${path} is kept, because Treeline did not make it`,
  };
}

/**
 * Returns ids that depend only on place and name: DHCP and cloud-init recognise a machine that is defined again.
 * @param {string} place
 * @param {string} name
 */
function identityOf(place, name) {
  const hash = createHash('sha256').update(`${place}/${name}`).digest('hex');
  const uuid = `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
  return { uuid, mac: `52:54:00:${hash.slice(32, 34)}:${hash.slice(34, 36)}:${hash.slice(36, 38)}` };
}

function workFolder() {
  const folder = requiredSetting('TREELINE_LIBVIRT_DIRECTORY');
  if (isAbsolute(folder)) return folder;
  throw new CallFailure('failed', `TREELINE_LIBVIRT_DIRECTORY is "${folder}", and has to be an absolute path`);
}
