// Reads and changes the description of a machine as `virsh dumpxml` prints it, and fills templates. libvirt prints
// every description in one form: an element a line, attributes in single quotes, memory in KiB.
import { CallFailure } from '../exec-call/call-failure.mjs';

/**
 * @typedef {import('./machine.mjs').Values} Values
 * @typedef {import('./machine.mjs').Facts} Facts
 */

const NAMESPACE = 'urn:treeline:libvirt:1';
const METADATA = /<metadata>(.*?)<\/metadata>/s;
const FACTS = /<treeline:server[^>]*>(.*?)<\/treeline:server>/s;
const MEMORY = /(?<=<(?:memory|currentMemory) unit='KiB'>)\d+(?=<)/g;
const VCPUS = /<vcpu([^>]*)>(\d+)<\/vcpu>/;
const INTERFACE = /<interface .*?<\/interface>/s;
/** The type of an interface decides how the attribute of its source is called. */
const SOURCE = /(?<=<source (?:network|bridge|dev)=')[^']*(?=')/;
const DISK = /<disk [^>]*device='disk'.*?<\/disk>/s;
const PLACEHOLDER = /@([a-z]+)@/g;
const ENTITIES = { amp: '&', lt: '<', gt: '>', apos: "'", quot: '"' };

/**
 * Returns the values of a description in libvirt's units, and the path of its first disk; `''` for a missing value.
 * @param {string} xml
 * @returns {Pick<Values, 'memory' | 'vcpus' | 'network'> & { readonly path: string }}
 */
export function valuesIn(xml) {
  const { body } = parts(xml);
  const [, attributes = '', count = ''] = VCPUS.exec(body) ?? [];
  const [network = ''] = SOURCE.exec(INTERFACE.exec(body)?.[0] ?? '') ?? [];
  const [, path = ''] = /<source (?:file|dev)='([^']*)'/.exec(DISK.exec(body)?.[0] ?? '') ?? [];
  return {
    memory: body.match(MEMORY)?.[0] ?? '',
    vcpus: /current='(\d+)'/.exec(attributes)?.[1] ?? count,
    network: decode(network),
    path: decode(path),
  };
}

/**
 * Returns the last applied values; undefined if this program did not write the description.
 * @param {string} xml
 * @returns {Facts | undefined}
 */
export function factsIn(xml) {
  const [, text] = FACTS.exec(parts(xml).metadata) ?? [];
  return text === undefined ? undefined : JSON.parse(decode(text));
}

/**
 * Returns the description with new values and facts. Additions of an operator stay.
 * @param {string} xml
 * @param {Pick<Values, 'memory' | 'vcpus' | 'network'>} values in the units of libvirt
 * @param {Facts} facts
 */
export function withValues(xml, values, facts) {
  const before = valuesIn(xml);
  const { head, metadata, body } = parts(xml);
  let changed = body;
  if (values.memory !== before.memory) changed = changed.replaceAll(MEMORY, values.memory);
  if (values.vcpus !== before.vcpus) changed = changed.replace(VCPUS, withVcpus(values.vcpus));
  if (values.network !== before.network && before.network !== '') {
    changed = changed.replace(INTERFACE, (text) => text.replace(SOURCE, () => encode(values.network)));
  }
  const element = `<treeline:server xmlns:treeline='${NAMESPACE}'>${encode(asciiJson(facts))}</treeline:server>`;
  return `${head}<metadata>${metadata.replace(FACTS, '')}${element}</metadata>${changed}`;
}

/** @param {string} count */
function withVcpus(count) {
  return (/** @type {string} */ _, /** @type {string} */ attributes) =>
    `<vcpu${attributes.replace(/ current='\d+'/, '')}>${count}</vcpu>`;
}

/**
 * Separates the metadata, which other programs write: it must not be searched for values.
 * @param {string} xml
 */
function parts(xml) {
  const [all = '', metadata = ''] = METADATA.exec(xml) ?? [];
  const at = all === '' ? xml.indexOf('</name>') + '</name>'.length : xml.indexOf(all);
  return { head: xml.slice(0, at), metadata, body: xml.slice(at + all.length) };
}

/**
 * Replaces `@name@` and the like in a template. Throws CallFailure `failed` if a placeholder is unknown.
 * @param {string} template
 * @param {Readonly<Record<string, string>>} values
 * @param {(text: string) => string} write escapes a value for that file
 */
export function fill(template, values, write) {
  return template.replaceAll(PLACEHOLDER, (placeholder, name) => {
    if (Object.hasOwn(values, name)) return write(values[name] ?? '');
    const known = Object.keys(values).map((each) => `@${each}@`);
    throw new CallFailure('failed', `the template has ${placeholder}, which is none of ${known.join(', ')}`);
  });
}

/** @param {string} text */
export function encode(text) {
  const named = Object.entries(ENTITIES);
  return named.reduce((escaped, [name, character]) => escaped.replaceAll(character, `&${name};`), text);
}

/** @param {string} text */
function decode(text) {
  return text.replaceAll(/&(\w+);/g, (entity, name) => ENTITIES[/** @type {'amp'} */ (name)] ?? entity);
}

/**
 * XML does not allow every character that JSON may contain.
 * @param {unknown} value
 */
function asciiJson(value) {
  const code = (/** @type {string} */ character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value).replaceAll(/[^ -~]/g, code);
}
