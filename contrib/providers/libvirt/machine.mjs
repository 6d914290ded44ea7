// Compares the wanted values of a machine with its real ones. Runs no programs.
import { CallFailure } from '../exec-call/call-failure.mjs';
import { factsIn, valuesIn } from './domain-xml.mjs';

/**
 * @typedef {import('../exec-call/answer-call.mjs').Call} Call
 * @typedef {import('../exec-call/answer-call.mjs').PropertyValue} PropertyValue
 * @typedef {import('./hypervisor.mjs').Machine} Machine
 * @typedef {'image' | 'disk' | 'memory' | 'vcpus' | 'network'} Aspect
 * @typedef {Readonly<Record<Aspect, string>>} Values as in the call, or in libvirt's units; `''`: none
 * @typedef {{ readonly properties: Readonly<Record<string, PropertyValue>>, readonly spec: Values }} Facts
 *   the last applied values, which are in the machine's description
 */

/** @type {readonly Aspect[]} */
export const ASPECTS = ['image', 'disk', 'memory', 'vcpus', 'network'];
const DEFAULTS = { image: '', disk: '', memory: '1024', vcpus: '1', network: 'default' };
/** Names that are safe in a command line and in a path. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;
const SIZE = /^([1-9][0-9]{0,8})([KMGT]?)$/;
const VCPUS = /^[1-9][0-9]{0,2}$/;
const BYTES = { K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 };
/** The units of sizes without a letter. */
const UNITS = { disk: 'G', memory: 'M' };

/** @param {string} name */
export function isSafeName(name) {
  return NAME.test(name);
}

/**
 * Returns the wanted values as they are written: in the properties, or else in the record, or else in the entry's
 * environment. Throws CallFailure `failed` if a value is invalid.
 * @param {Call} call
 * @returns {Values}
 */
export function wantedOf({ properties, record }) {
  const found = ASPECTS.map((aspect) => {
    const value = properties[aspect] || record[aspect] || process.env[`TREELINE_LIBVIRT_${aspect.toUpperCase()}`];
    const text = String(value || DEFAULTS[aspect]);
    const isRight = { image: NAME, network: NAME, disk: SIZE, memory: SIZE, vcpus: VCPUS }[aspect].test(text);
    if (isRight || text === '') return [aspect, text];
    throw new CallFailure('failed', `${aspect} is ${JSON.stringify(value)}, which is not a ${expected(aspect)}`);
  });
  return Object.fromEntries(found);
}

/** @param {Aspect} aspect */
function expected(aspect) {
  if (aspect === 'disk' || aspect === 'memory') return 'size such as "512M" or "2G"';
  return aspect === 'vcpus' ? 'number of processors' : 'name';
}

/**
 * Returns a value in libvirt's units: memory in KiB, disks in bytes.
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
 * The inverse of {@link counted}, for messages.
 * @param {Aspect} aspect
 * @param {string} value
 */
function written(aspect, value) {
  if (aspect !== 'disk' && aspect !== 'memory') return value;
  const bytes = Number(value) * (aspect === 'disk' ? 1 : BYTES.K);
  const plain = UNITS[aspect] === 'G' ? BYTES.G : BYTES.M;
  if (bytes % plain === 0) return String(bytes / plain);
  return bytes % BYTES.M === 0 ? `${bytes / BYTES.M}M` : `${Math.ceil(bytes / BYTES.K)}K`;
}

/**
 * Returns the values of a machine: as it runs now, if it runs, and as it is defined for its next start. A disk outside
 * the pool has no known size, and its path is given as its image.
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
 * Returns the first known value of an aspect that differs from the wanted one, in libvirt's units; undefined if there
 * is none.
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
 * Returns the real properties of a machine, and its differences from the applied values in words. The property `shape`,
 * or else the first one, also shows differences that belong to no property, such as the shape's memory or a stopped
 * machine.
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
  if (domain?.isTransient) different.push('not defined: it vanishes when it ends');
  if (domain !== undefined && facts === undefined && disk !== undefined) different.push('defined by hand');
  for (const aspect of ASPECTS) {
    const isProperty = typeof properties[aspect] === 'string' && properties[aspect] !== '';
    // A machine that was made by hand has a disk of its own. Only a property asks for another one.
    if (!isProperty && facts === undefined && (aspect === 'image' || aspect === 'disk')) continue;
    const asked = isProperty ? wanted[aspect] : (facts?.spec ?? wanted)[aspect];
    const other = otherValue(machine, aspect, asked);
    const isKnown = valuesOf(machine).some((values) => values[aspect] !== '');
    if (isProperty && isKnown) observed[aspect] = other === undefined ? asked : written(aspect, other);
    else if (other !== undefined) different.push(`${aspect} ${written(aspect, other)}`);
  }
  const [first = ''] = Object.keys(properties);
  const carrier = properties.shape === undefined ? first : 'shape';
  if (different.length > 0 && carrier !== '') {
    observed[carrier] = `${observed[carrier] ?? properties[carrier]} (${different.join(', ')})`;
  }
  return { observed, different };
}

/**
 * Returns why a change needs a new machine; undefined if it does not, or if nothing changes.
 * @param {Machine} machine
 * @param {Call} call
 */
export function reasonToReplace(machine, call) {
  const wanted = wantedOf(call);
  const isForeign = machine.disk === undefined;
  const image = isForeign && !call.properties.image ? undefined : otherValue(machine, 'image', wanted.image);
  if (image !== undefined) return `its disk was made from ${image}, and the call asks for ${wanted.image}`;
  const size = otherValue(machine, 'disk', wanted.disk);
  if (size === undefined || Number(size) < Number(counted('disk', wanted.disk))) return undefined;
  return `its disk has ${written('disk', size)}, and cannot be made smaller`;
}
