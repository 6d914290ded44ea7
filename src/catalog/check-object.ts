// Checks the rules of a single file that a schema cannot express: that the object agrees with its path, that its keys
// are allowed, and that no value is a word that other YAML readers take for true or false.

import { quote } from '../base/wording.ts';
import { below, type Entry, type ProblemText, problemAt, problemFrom } from '../model/entry.ts';
import type { JsonMap } from '../model/json.ts';
import { SELECTORS } from '../model/keys.ts';
import { isPlainTypeName, nameFault } from '../model/names.ts';
import type { Problem } from '../model/problem.ts';
import { canonicalFingerprint, canonicalSerial } from '../model/serial.ts';
import type { NamedType } from './read-object.ts';
import type { YamlDocument } from './yaml.ts';

type Report = (pointer: string, fault: ProblemText) => void;

/** A placeholder as expansion reads it; `<<<` is an escaped `<<`. */
const PLACEHOLDER = /(?<!<)<<(?:\w[\w.-]*|\((?:Array|Output)\)\['[^'<>]*'\]\['[^'<>]*'\])>>/;

/** Types whose objects are layers that many nodes share. A clientcert is not one: it may be a node itself. */
const SHARED_LAYERS: ReadonlySet<string> = new Set(['common', ...SELECTORS]);

interface NamedPath {
  readonly type: NamedType;
  readonly name: string;
}

/** Returns the mistakes of an object that fits its schema. `written` is the map in the file, without defaults. */
export function checkObject(entry: Entry<unknown>, placed: NamedPath, written: JsonMap): readonly Problem[] {
  const problems: Problem[] = [];
  const report: Report = (pointer, fault) => problems.push(problemAt(entry, pointer, fault));
  const { type, name } = placed;
  if (type === 'client') checkClient(name, written, report);
  else checkName(name, written.name, report);
  if (type === 'stack-instance') checkInstance(written, report);
  if (SHARED_LAYERS.has(type)) checkLayer(type, written, report);
  return problems;
}

function checkName(name: string, written: unknown, report: Report): void {
  if (typeof written !== 'string' || written === name) return;
  report('/name', {
    code: 'name_mismatch',
    message: `the name ${quote(written)} is not the file's name "${name}"`,
    hint: `write "${name}" or leave the field out; to rename the object, rename the file`,
  });
}

function checkClient(serial: string, written: JsonMap, report: Report): void {
  for (const field of ['name', 'serial']) {
    const value = written[field];
    if (typeof value !== 'string') continue;
    const given = canonicalSerial(value);
    if (given === serial) continue;
    const ownName = `write "${serial}" or leave the field out`;
    report(`/${field}`, {
      code: 'name_mismatch',
      message: `the ${field} ${quote(value)} is not the serial number that the file is named after`,
      hint: given === undefined ? ownName : `rename the file to ${given}.yaml; or, if its name is right, ${ownName}`,
    });
  }
  checkNode(written, report);
  const { fingerprint } = written;
  if (typeof fingerprint !== 'string' || fingerprint === '' || canonicalFingerprint(fingerprint) !== undefined) return;
  report('/fingerprint', {
    code: 'wrong_value',
    message: `${quote(fingerprint)} is not a SHA-256 fingerprint, which has 64 hexadecimal digits`,
    hint: 'it is shown by: openssl x509 -noout -fingerprint -sha256 -in client.crt',
  });
}

/** The named node need not exist: a certificate is often registered before its server is created. */
function checkNode({ node, role }: JsonMap, report: Report): void {
  if (typeof node !== 'string' || node === '') return;
  const fault = node === 'all' ? 'is the name of a view of all nodes' : nameFault(node);
  if (fault !== undefined) {
    report('/node', {
      code: 'wrong_value',
      message: `${quote(node)} cannot be the name of a node: it ${fault}`,
      hint: "write the node's clientcert name, as in /hiera/<clientcert>/",
    });
  }
  if (role !== 'administrator') return;
  report('/role', {
    code: 'ignored_field',
    severity: 'warning',
    message: 'a client with "node" reads and confirms one record: the role "administrator" gives it nothing',
    hint: 'write "role: proxy"; or, for an administrator, leave "node" out',
  });
}

function checkInstance(written: JsonMap, report: Report): void {
  if (Object.hasOwn(written, 'resources')) {
    report('/resources', {
      code: 'ignored_field',
      severity: 'warning',
      message: '"resources" of an instance is not read: it is what Treeline reports',
      hint: 'leave it out; to change what the stack consists of, use stackTemplateAdditions',
      part: 'key',
    });
  }
  for (const [name, value] of Object.entries(written.parameters ?? {})) {
    if (typeof value !== 'string' || !PLACEHOLDER.test(value)) continue;
    report(below('/parameters', name), {
      code: 'placeholder_in_parameter',
      message: `the placeholder in ${quote(value)} would never be replaced`,
      hint: 'parameters contain plain text; put the placeholder into the property',
    });
  }
}

function checkLayer(type: string, written: JsonMap, report: Report): void {
  for (const key of Object.keys(written)) {
    if (!SELECTORS.has(key)) continue;
    report(below('', key), {
      code: 'selector_in_layer',
      message: `"${key}" selects a layer, and an object of the type "${type}" is one: it cannot select another`,
      hint: `set "${key}" in the server's properties, or in a clientcert that no stack makes`,
      part: 'key',
    });
  }
}

const BOOLEANS: ReadonlyMap<string, string> = new Map([
  ['yes', 'true'],
  ['no', 'false'],
]);

/**
 * Returns a warning for each value of a typed object that is `yes` or `no` without quotes: YAML 1.2 reads it as text,
 * older readers as true or false. Values of templates and instances are always texts, so they are not checked.
 */
export function checkBooleanWords(
  { path, type }: { readonly path: string; readonly type: string },
  document: YamlDocument,
  written: JsonMap,
): readonly Problem[] {
  if (!isPlainTypeName(type)) return [];
  return Object.entries(written).flatMap(([key, value]) => {
    const suggested = typeof value === 'string' ? BOOLEANS.get(value.toLowerCase()) : undefined;
    const pointer = below('', key);
    if (suggested === undefined || document.writtenAt(pointer) === null) return [];
    const fault = {
      code: 'boolean_spelling',
      severity: 'warning',
      message: `${value} is read as the text "${value}"`,
      hint: `write ${suggested}, or put it in quotes if the text is meant: "${value}"`,
    } as const;
    return [problemFrom(fault, { ...document.locate(pointer), file: path, pointer })];
  });
}
