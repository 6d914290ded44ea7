// Checks what a schema cannot express about a single object: that it agrees with its path, and that its keys are
// allowed.
import { below, type Entry, type ProblemText, problemAt } from '../model/entry.ts';
import type { JsonMap } from '../model/json.ts';
import { SELECTORS } from '../model/keys.ts';
import type { Problem } from '../model/problem.ts';
import { quote } from '../model/quote.ts';
import { canonicalFingerprint, canonicalSerial } from '../model/serial.ts';
import type { NamedType } from './read-object.ts';

type Report = (pointer: string, fault: ProblemText) => void;

/** A placeholder as expansion knows it; `<<<` before one stands for a plain `<<`. */
const PLACEHOLDER = /(?<!<)<<(?:\w[\w.-]*|\(Array\)\['[^'<>]*'\]\['[^'<>]*'\])>>/;

/** Types whose objects are layers that many nodes share; a clientcert may be a node of its own. */
const SHARED_LAYERS: ReadonlySet<string> = new Set(['common', ...SELECTORS]);

interface NamedPath {
  readonly type: NamedType;
  readonly name: string;
}

/** Returns the mistakes of an object that its schema let pass. `written` is the file's own map, before defaults. */
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
    const meant = canonicalSerial(value);
    if (meant === serial) continue;
    const ownName = `write "${serial}" or leave the field out`;
    report(`/${field}`, {
      code: 'name_mismatch',
      message: `the ${field} ${quote(value)} is not the serial number that the file is named after`,
      hint: meant === undefined ? ownName : `rename the file to ${meant}.yaml; or, where its name is right, ${ownName}`,
    });
  }
  const { fingerprint } = written;
  if (typeof fingerprint !== 'string' || fingerprint === '' || canonicalFingerprint(fingerprint) !== undefined) return;
  report('/fingerprint', {
    code: 'wrong_value',
    message: `${quote(fingerprint)} is no SHA-256 fingerprint, which has 64 hexadecimal digits`,
    hint: 'it is shown by: openssl x509 -noout -fingerprint -sha256 -in client.crt',
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
      hint: 'parameters hold plain text; put the placeholder into the property',
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
