// Talks to libvirt by virsh. A command that fails ends the call as `retryable`, with what virsh said. Machines are named by their
// ids only: virsh takes a name of digits for another machine's number.
import { CallFailure } from '../exec-call/call-failure.mjs';
import { findProgram, requiredSetting, USUAL_PATH } from '../exec-call/environment.mjs';
import { runProgram } from '../exec-call/run-program.mjs';
import { isSafeName } from './machine.mjs';

/**
 * @typedef {{ readonly path: string, readonly bytes: string, readonly image: string }} Volume `image`: the file below it
 * @typedef {{ readonly uuid: string, readonly state: string, readonly live: string, readonly config: string,
 *   readonly isTransient: boolean }} Domain `isTransient`: it is gone once it ends, as somebody has undefined it while it runs
 * @typedef {{ readonly domain: Domain | undefined, readonly disk: Volume | undefined }} Machine
 */

const MESSAGE_CHARACTERS = 2_000;

/** The name of the volume that is a machine's disk; a machine whose disk is there is there. */
export const diskOf = (/** @type {string} */ name) => `${name}.qcow2`;
export const seedOf = (/** @type {string} */ name) => `${name}.seed.iso`;

export class Hypervisor {
  /** @param {{ readonly deadline: number, readonly lockFd: number | undefined }} call */
  constructor({ deadline, lockFd }) {
    this.deadline = deadline;
    this.lockFd = lockFd;
    this.pool = poolSetting('TREELINE_LIBVIRT_POOL');
    this.images = poolSetting('TREELINE_LIBVIRT_IMAGES');
    // A machine's disk must never be taken for an image, nor an image be removed with a machine.
    if (this.pool === this.images) throw new CallFailure('failed', 'images and machines need pools of their own');
  }

  /** Returns the identity of this libvirt, which gives each pool one when it is defined. */
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
    // Names of machines that people have made may hold blanks.
    return [...text.matchAll(/^ *(\S+) +(.*?) *$/gm)].find(([, , each]) => each === name)?.[1];
  }

  /** @param {string} uuid */
  async state(uuid) {
    return (await this.run('domstate', uuid)).trim();
  }

  /**
   * Returns the address that a machine got; undefined where it is not known, or not yet.
   * @param {string} uuid
   */
  async address(uuid) {
    const source = process.env.TREELINE_LIBVIRT_ADDRESSES || 'lease';
    // Not every kind of network can tell.
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
   * Returns what virsh printed. Throws CallFailure `retryable` where it fails, or not ends in time.
   * @param {readonly string[]} args
   * @returns {Promise<string>}
   */
  async run(...args) {
    const { end, stdout, stderr, isLate } = await this.#virsh(args);
    if (end === 0) return stdout;
    const said = stderr
      .replaceAll(/^error: /gm, '')
      .trim()
      .slice(0, MESSAGE_CHARACTERS);
    const reason = isLate ? 'did not end in time' : `ended with ${end}`;
    throw new CallFailure('retryable', `virsh ${args[0]} ${reason}: ${said}`);
  }

  /** @param {readonly string[]} args */
  async #virsh(args) {
    const uri = process.env.TREELINE_LIBVIRT_URI || 'qemu:///system';
    // A daemon that virsh starts serves later calls too, and must not end with this one.
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
  throw new CallFailure('failed', `${setting} is "${name}", which is no name of a pool`);
}
