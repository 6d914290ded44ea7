// Talks to libvirt with virsh. A failed command ends the call as `retryable`, with virsh's error. Commands name a
// machine by its UUID: virsh takes a name of digits for the number of another machine.
import { CallFailure } from '../exec-call/call-failure.mjs';
import { findProgram, requiredSetting, USUAL_PATH } from '../exec-call/environment.mjs';
import { runProgram } from '../exec-call/run-program.mjs';
import { isSafeName } from './machine.mjs';

/**
 * @typedef {{ readonly path: string, readonly bytes: string, readonly image: string }} Volume `image`: its base image
 * @typedef {{ readonly uuid: string, readonly state: string, readonly live: string, readonly config: string,
 *   readonly isTransient: boolean }} Domain `isTransient`: it vanishes when it ends, because somebody undefined it
 * @typedef {{ readonly domain: Domain | undefined, readonly disk: Volume | undefined }} Machine
 */

const MESSAGE_CHARACTERS = 2_000;

/** Returns the name of a machine's disk in the pool. A machine exists while its disk exists. */
export const diskOf = (/** @type {string} */ name) => `${name}.qcow2`;
export const seedOf = (/** @type {string} */ name) => `${name}.seed.iso`;

export class Hypervisor {
  /** @param {{ readonly deadline: number, readonly lockFd: number | undefined }} call */
  constructor({ deadline, lockFd }) {
    this.deadline = deadline;
    this.lockFd = lockFd;
    this.pool = poolSetting('TREELINE_LIBVIRT_POOL');
    this.images = poolSetting('TREELINE_LIBVIRT_IMAGES');
    // A machine's disk must never become an image, and an image must never be deleted with a machine.
    if (this.pool === this.images) throw new CallFailure('failed', 'images and machines need separate pools');
  }

  /** Returns the id of the pool of machines, which libvirt gives it when it is defined. */
  async place() {
    return (await this.run('pool-uuid', this.pool)).trim();
  }

  /**
   * @param {string} name
   * @returns {Promise<Machine>}
   */
  async look(name) {
    const [domain, disk] = await Promise.all([this.#domain(name), this.volume(this.pool, diskOf(name))]);
    return { domain, disk };
  }

  /**
   * @param {string} name
   * @returns {Promise<Domain | undefined>}
   */
  async #domain(name) {
    const persistent = await this.#find(name, '--persistent');
    const uuid = persistent ?? (await this.#find(name, '--transient'));
    if (uuid === undefined) return undefined;
    const [state, live, config] = await Promise.all([
      this.state(uuid),
      this.run('dumpxml', uuid),
      this.run('dumpxml', '--inactive', uuid),
    ]);
    return { uuid, state, live, config, isTransient: persistent === undefined };
  }

  /**
   * @param {string} name
   * @param {string} which
   */
  async #find(name, which) {
    const text = await this.run('list', '--all', which, '--uuid', '--name');
    // Names of machines that were made by hand may contain blanks.
    return [...text.matchAll(/^ *(\S+) +(.*?) *$/gm)].find(([, , each]) => each === name)?.[1];
  }

  /** @param {string} uuid */
  async state(uuid) {
    return (await this.run('domstate', uuid)).trim();
  }

  /**
   * Returns the address of a machine; undefined if it is not known, or not yet.
   * @param {string} uuid
   */
  async address(uuid) {
    const source = process.env.TREELINE_LIBVIRT_ADDRESSES || 'lease';
    // virsh fails for kinds of network that do not know addresses.
    const { end, stdout } = await this.#virsh(['domifaddr', uuid, '--source', source]);
    return end === 0 ? /(?:ipv4|ipv6)\s+([0-9a-f.:]+)\//.exec(stdout)?.[1] : undefined;
  }

  /**
   * @param {string} pool
   * @param {string} name
   * @returns {Promise<Volume | undefined>}
   */
  async volume(pool, name) {
    const text = await this.run('vol-list', pool);
    if (![...text.matchAll(/^ *(.*?) +\//gm)].some(([, each]) => each === name)) return undefined;
    const xml = await this.run('vol-dumpxml', name, '--pool', pool);
    const [, backing = ''] = /<backingStore>\s*<path>(.*?)<\/path>/.exec(xml) ?? [];
    return {
      path: /<target>\s*<path>(.*?)<\/path>/.exec(xml)?.[1] ?? '',
      bytes: /<capacity unit='bytes'>(\d+)</.exec(xml)?.[1] ?? '',
      image: backing.slice(backing.lastIndexOf('/') + 1),
    };
  }

  /**
   * Returns the output of virsh. Throws CallFailure `retryable` if it fails or does not end in time.
   * @param {readonly string[]} args
   * @returns {Promise<string>}
   */
  async run(...args) {
    const { end, stdout, stderr, isLate } = await this.#virsh(args);
    if (end === 0) return stdout;
    const detail = stderr
      .replaceAll(/^error: /gm, '')
      .trim()
      .slice(0, MESSAGE_CHARACTERS);
    const reason = isLate ? 'did not end in time' : `ended with ${end}`;
    throw new CallFailure('retryable', `virsh ${args[0]} ${reason}: ${detail}`);
  }

  /** @param {readonly string[]} args */
  async #virsh(args) {
    const uri = process.env.TREELINE_LIBVIRT_URI || 'qemu:///system';
    // A daemon that virsh starts also serves later calls. Without TREELINE_CALL it does not end with this call.
    const { TREELINE_CALL: _, ...environment } = process.env;
    return await runProgram(findProgram('virsh'), ['--quiet', '--connect', uri, ...args], {
      ...this,
      environment: { PATH: USUAL_PATH, ...environment, LC_ALL: 'C' },
    });
  }
}

/**
 * @param {string} setting
 * @returns {string}
 */
function poolSetting(setting) {
  const name = requiredSetting(setting);
  if (isSafeName(name)) return name;
  throw new CallFailure('failed', `${setting} is "${name}", which is not a pool name`);
}
