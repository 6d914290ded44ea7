// What is asked of a machine, against what is there. Starts nothing.
import { CallFailure } from '../exec-call/call-failure.mjs';
import { factsIn, valuesIn } from './domain-xml.mjs';

/**
 * @typedef {import('../exec-call/answer-call.mjs').Call} Call
 * @typedef {import('../exec-call/answer-call.mjs').PropertyValue} PropertyValue
 * @typedef {import('./hypervisor.mjs').Machine} Machine
 * @typedef {'image' | 'disk' | 'memory' | 'vcpus' | 'network'} Aspect
 * @typedef {Readonly<Record<Aspect, string>>} Values as they are asked for, or in the units that libvirt counts in; `''`: none
 * @typedef {{ readonly properties: Readonly<Record<string, PropertyValue>>, readonly spec: Values }} Facts
 *   what was applied last, as the machine's own description keeps it
 */

/** @type {readonly Aspect[]} */
export const ASPECTS = ['image', 'disk', 'memory', 'vcpus', 'network'];
const DEFAULTS = { image: '', disk: '', memory: '1024', vcpus: '1', network: 'default' };
/** Names that are safe in a command line and in a path. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;
const SIZE = /^([1-9][0-9]{0,8})([KMGT]?)$/;
const VCPUS = /^[1-9][0-9]{0,2}$/;
const BYTES = { K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 };
/** What a size without a letter counts. */
const UNITS = { disk: 'G', memory: 'M' };

/** @param {string} name */
export function isSafeName(name) {
  return NAME.test(name);
}

/**
 * Returns what a call asks for, in its own spelling: of the server's properties, else of its record, else of the entry's
 * environment. Throws CallFailure `failed` where a value cannot be meant.
 * @param {Call} call
 * @returns {Values}
 */
export function wantedOf({ properties, record }) {
  const found = ASPECTS.map((aspect) => {
    const value = properties[aspect] || record[aspect] || process.env[`TREELINE_LIBVIRT_${aspect.toUpperCase()}`];
    const text = String(value || DEFAULTS[aspect]);
    const isRight = { image: NAME, network: NAME, disk: SIZE, memory: SIZE, vcpus: VCPUS }[aspect].test(text);
    if (isRight || text === '') return [aspect, text];
    throw new CallFailure('failed', `${aspect} is ${JSON.stringify(value)}, which is no ${expected(aspect)}`);
  });
  return Object.fromEntries(found);
}

/** @param {Aspect} aspect */
function expected(aspect) {
  if (aspect === 'disk' || aspect === 'memory') return 'size such as "512M" or "2G"';
  return aspect === 'vcpus' ? 'number of processors' : 'name';
}

/**
 * Returns a value as libvirt counts it: memory in KiB, disks in bytes.
 * @param {Aspect} aspect
 * @param {string} text
 */
export function counted(aspect, text) {
  const [, digits = '', letter = ''] = SIZE.exec(text) ?? [];
  if ((aspect !== 'disk' && aspect !== 'memory') || digits === '') return text;
  const unit = /** @type {keyof typeof BYTES} */ (letter || UNITS[aspect]);
  const bytes = Number(digits) * BYTES[unit];
  return String(aspect === 'disk' ? bytes : Math.ceil(bytes / BYTES.K));
}

/**
 * The opposite of {@link counted}, for people.
 * @param {Aspect} aspect
 * @param {string} value
 */
function told(aspect, value) {
  if (aspect !== 'disk' && aspect !== 'memory') return value;
  const bytes = Number(value) * (aspect === 'disk' ? 1 : BYTES.K);
  const plain = UNITS[aspect] === 'G' ? BYTES.G : BYTES.M;
  if (bytes % plain === 0) return String(bytes / plain);
  return bytes % BYTES.M === 0 ? `${bytes / BYTES.M}M` : `${Math.ceil(bytes / BYTES.K)}K`;
}

/**
 * Returns what a machine has: as it runs, and as it is defined for its next start where that is something else. A disk of
 * which nothing is known has no image and no size.
 * @param {Machine} machine
 * @returns {readonly Values[]}
 */
function valuesOf({ disk, domain }) {
  if (domain === undefined) return disk === undefined ? [] : [{ ...EMPTY, image: disk.image, disk: disk.bytes }];
  const descriptions = domain.state === 'running' ? [domain.live, domain.config] : [domain.config];
  return descriptions.map((xml) => {
    const { path, ...values } = valuesIn(xml);
    const isOwn = disk !== undefined && path === disk.path;
    return { ...values, image: isOwn ? disk.image : path, disk: isOwn ? disk.bytes : '' };
  });
}

const EMPTY = { image: '', disk: '', memory: '', vcpus: '', network: '' };

/**
 * Returns the first value of an aspect that is not the asked one, in the units of libvirt; undefined where there is none, or none
 * is known.
 * @param {Machine} machine
 * @param {Aspect} aspect
 * @param {string} asked
 */
export function otherValue(machine, aspect, asked) {
  const wanted = counted(aspect, asked);
  return valuesOf(machine).find((values) => wanted !== '' && values[aspect] !== '' && values[aspect] !== wanted)?.[
    aspect
  ];
}

/**
 * Returns the properties that the machine has, and in words what differs from what was applied. What is no property of the server, such as
 * the memory that its shape tells, or that it does not run, is told at the property `shape`, else at the first one.
 * @param {Machine} machine
 * @param {Call} call
 */
export function observedIn(machine, call) {
  const { domain, disk } = machine;
  const { properties } = call;
  const facts = domain && factsIn(domain.config);
  const wanted = wantedOf(call);
  /** @type {Record<string, PropertyValue>} */
  const observed = { ...facts?.properties };
  const different = [];
  if (domain === undefined) different.push('not defined: only its disk is there');
  else if (domain.state !== 'running') different.push(domain.state);
  if (domain?.isTransient) different.push('not defined: it ends with its run');
  if (domain !== undefined && facts === undefined && disk !== undefined) different.push('defined by hand');
  for (const aspect of ASPECTS) {
    const isProperty = typeof properties[aspect] === 'string' && properties[aspect] !== '';
    // What was there before has a disk of its own: nobody has asked for another.
    if (!isProperty && facts === undefined && (aspect === 'image' || aspect === 'disk')) continue;
    const asked = isProperty ? wanted[aspect] : (facts?.spec ?? wanted)[aspect];
    const other = otherValue(machine, aspect, asked);
    const isKnown = valuesOf(machine).some((values) => values[aspect] !== '');
    if (isProperty && isKnown) observed[aspect] = other === undefined ? asked : told(aspect, other);
    else if (other !== undefined) different.push(`${aspect} ${told(aspect, other)}`);
  }
  const [first = ''] = Object.keys(properties);
  const carrier = properties.shape === undefined ? first : 'shape';
  if (different.length > 0 && carrier !== '') {
    observed[carrier] = `${observed[carrier] ?? properties[carrier]} (${different.join(', ')})`;
  }
  return { observed, different };
}

/**
 * Returns why a machine can only be changed by making it anew; undefined where it can be changed, or is not to be.
 * @param {Machine} machine
 * @param {Call} call
 */
export function reasonToReplace(machine, call) {
  const wanted = wantedOf(call);
  const isForeign = machine.disk === undefined;
  const image = isForeign && !call.properties.image ? undefined : otherValue(machine, 'image', wanted.image);
  if (image !== undefined) return `its disk was made of ${image}, and ${wanted.image} is asked for`;
  const size = otherValue(machine, 'disk', wanted.disk);
  if (size === undefined || Number(size) < Number(counted('disk', wanted.disk))) return undefined;
  return `its disk has ${told('disk', size)}, and cannot be made smaller`;
}
