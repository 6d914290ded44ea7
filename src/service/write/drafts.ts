// Turns write requests into drafts, which change files. See docs/rest.md, writes.

import { quote } from '../../base/wording.ts';
import type { DesiredState } from '../../desired/desired-state.ts';
import { nodeOf } from '../../desired/node-records.ts';
import type { Unit } from '../../desired/unit.ts';
import { addressOf, instanceAddress, nameAt } from '../../model/address.ts';
import { emptyMap, fieldOf, isMap, isSame, type Json, type JsonMap } from '../../model/json.ts';
import { isFullAdministrator } from '../../model/least-rights.ts';
import { isPlainTypeName, kindOf, nameFault, type PlainTypeName, ROLES } from '../../model/names.ts';
import type { Client } from '../../model/objects.ts';
import { canonicalFingerprint, canonicalSerial, serialFault } from '../../model/serial.ts';
import { ServiceError } from '../../model/service-error.ts';
import type { Draft, FileEdit } from './draft.ts';
import { editObjectFile, fileOf, writtenIn } from './object-file.ts';

/** Fields of an instance's body that only reads have, or that control the write. */
const NOT_IN_FILES: ReadonlySet<string> = new Set(['resources', 'force']);

/** Returns the draft that creates an instance, or replaces it if `force` is set. */
export function putInstanceDraft(name: string, body: JsonMap, { force }: { readonly force: boolean }): Draft {
  requireName(name, 'a stack instance');
  requireAgreement(body, { name, type: 'stack-instance' });
  const address = instanceAddress(name);
  const fields = without(body, NOT_IN_FILES);
  return {
    address,
    subject: `Set stack instance ${name}`,
    isRemoval: false,
    edits({ catalog }) {
      if (!force && catalog.instances.has(name)) {
        throw new ServiceError('conflict', `The stack instance "${name}" exists already; force=true updates it`);
      }
      return editObjectFile(catalog, {
        address,
        type: 'stack-instance',
        newPath: `stacks/instances/${name}.yaml`,
        fields,
      });
    },
  };
}

/**
 * Returns the draft that deletes an instance by removing its file. `isTerminating` returns whether its servers are
 * being deleted already; then there is nothing to commit.
 */
export function deleteInstanceDraft(name: string, isTerminating: () => boolean): Draft {
  const address = instanceAddress(name);
  const notThere = `There is no stack instance "${name}"`;
  return {
    address,
    subject: `Delete stack instance ${name}`,
    isRemoval: true,
    notThere,
    edits(desired) {
      const unit = desired.units.get(address);
      if (isProtected(unit)) {
        const message = `The stack instance "${name}" is protected; set protected: false in a commit of its own first`;
        throw new ServiceError('conflict', message);
      }
      // The file is gone, but servers still wait for capacity or for an approval.
      if (!desired.catalog.instances.has(name) && (unit !== undefined || isTerminating())) return [];
      return removal(desired, address, notThere);
    },
  };
}

/** Returns the draft that creates or replaces a template or an object below `types/`. */
export function putObjectDraft(type: PlainTypeName | 'stack-template', body: JsonMap): Draft {
  const name = requiredText(body, 'name');
  requireName(name, `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${kindOf(type)}`);
  requireAgreement(body, { name, type });
  const address = addressOf(type, name);
  const newPath = type === 'stack-template' ? `stacks/templates/${name}.yaml` : `types/${type}/${name}.yaml`;
  return {
    address,
    subject: `Set ${type} ${name}`,
    isRemoval: false,
    edits(desired) {
      const { catalog } = desired;
      const fields = type === 'clientcert' ? withoutProperties(desired, name, body) : body;
      if (fields !== body && isBlank(fields) && fileOf(catalog, address) === undefined) return [];
      return editObjectFile(catalog, { address, type, newPath, fields });
    },
  };
}

/** Returns the draft that removes a template or an object below `types/`. */
export function deleteObjectDraft(type: PlainTypeName | 'stack-template', name: string): Draft {
  const address = addressOf(type, name);
  const notThere = `There is no ${kindOf(type)} "${name}"`;
  return {
    address,
    subject: `Delete ${type} ${name}`,
    isRemoval: true,
    notThere,
    edits(desired) {
      const owner = type === 'clientcert' ? desired.owners.get(name) : undefined;
      if (owner !== undefined) {
        const instance = nameAt(owner);
        throw new ServiceError('conflict', `The clientcert "${name}" is made by the stack instance "${instance}"`);
      }
      return removal(desired, address, notThere);
    },
  };
}

/** Returns the draft by which `by` registers a client, or changes the given fields of one. */
export function putClientDraft(body: JsonMap, by?: Client): Draft {
  const given = requiredText(body, 'serial');
  const serial = serialOf(given);
  const name = textField(body, 'name');
  if (name !== undefined && canonicalSerial(name) !== serial) {
    throw invalid('name', `"${name}" is not the serial; leave it out, or write "${serial}"`);
  }
  requireAgreement(body, { type: 'client' });
  const address = addressOf('client', serial);
  return {
    address,
    subject: `Register client ${serial}`,
    isRemoval: false,
    edits(desired) {
      const { catalog } = desired;
      const isOwn = serial === by?.serial;
      const losesRole = Object.hasOwn(body, 'role') && body.role !== 'administrator';
      if (isOwn && losesRole) refuseOwnEnd(desired, by, 'take away its own role');
      const losesRights = !isFullAdministrator({ ...by, ...body } as Client);
      if (isOwn && isFullAdministrator(by) && losesRights) refuseOwnEnd(desired, by, 'limit itself');
      const file = fileOf(catalog, address);
      if (file === undefined) requireRole(body);
      const kept = file === undefined ? undefined : isMap(file.object) ? file.object : writtenIn(file);
      const fields = { ...kept, ...canonical(body), serial };
      return editObjectFile(catalog, { address, type: 'client', newPath: `clients/${serial}.yaml`, fields });
    },
  };
}

/** Returns the draft by which `by` removes a client. */
export function deleteClientDraft(given: string, by?: Client): Draft {
  const serial = serialOf(given);
  const address = addressOf('client', serial);
  const notThere = `There is no client "${serial}"`;
  return {
    address,
    subject: `Remove client ${serial}`,
    isRemoval: true,
    notThere,
    edits(desired) {
      if (serial === by?.serial) refuseOwnEnd(desired, by, 'remove its own record');
      return removal(desired, address, notThere);
    },
  };
}

/** Returns the draft that replaces the tree. */
export function putTreeDraft(body: JsonMap): Draft {
  return {
    address: 'tree',
    subject: 'Set the tree',
    isRemoval: false,
    edits: ({ catalog }) =>
      editObjectFile(catalog, { address: 'tree', type: 'tree', newPath: 'tree.yaml', fields: body }),
  };
}

/** Returns the type if each of its objects has its own file. Throws ServiceError `not_found` otherwise. */
export function writableType(type: string): PlainTypeName | 'stack-template' {
  if (type === 'stack-template' || isPlainTypeName(type)) return type;
  throw new ServiceError('not_found', `There is no type "${type}" that can be written`);
}

function serialOf(given: string): string {
  const serial = canonicalSerial(given);
  if (serial !== undefined) return serial;
  throw invalid('serial', `${quote(given)} is not a certificate serial: ${serialFault(given)}`);
}

/**
 * A client's file does not show whether its certificate works. The requesting client has a working one, so an
 * administrator may only be removed by another: then one remains who can connect. If there is no other, the problem
 * `last_administrator` refuses the write.
 */
function refuseOwnEnd({ clients }: DesiredState, by: Client, what: string): void {
  const others = [...clients.values()].filter(({ entry: { object } }) => {
    return isFullAdministrator(object) && object?.serial !== by.serial;
  });
  if (by.role !== 'administrator' || others.length === 0) return;
  const message = `An administrator cannot ${what}: ask another administrator to do it, so that one who can still connect remains`;
  throw new ServiceError('conflict', message);
}

function isProtected(unit: Unit | undefined): boolean {
  const object = unit?.entry.object;
  return isMap(object) && object.protected === true;
}

function removal({ catalog }: DesiredState, address: string, notThere: string): readonly FileEdit[] {
  const file = fileOf(catalog, address);
  if (file === undefined) throw new ServiceError('not_found', notThere);
  if (catalog.unreadable.has(address)) {
    const message = `${file.path} is in the place of the file of ${address}, and perhaps of other files. Remove it by hand, with git`;
    throw new ServiceError('edit_by_hand', message);
  }
  return [{ path: file.path, text: null }];
}

/**
 * Returns the fields to write to a clientcert's file. A read of a stack's server also returns the server's own
 * properties. A field with such a value is omitted unless the file already has it.
 */
function withoutProperties(desired: DesiredState, name: string, body: JsonMap): JsonMap {
  const node = desired.owners.has(name) ? nodeOf(desired, name) : undefined;
  const [properties] = node?.own ?? [];
  if (node === undefined || properties === undefined) return body;
  const file = fileOf(desired.catalog, addressOf('clientcert', name));
  const written = (file && writtenIn(file)) ?? {};
  const own: JsonMap = { ...properties.values, description: node.description };
  const said = Object.keys(body).filter((key) => !Object.hasOwn(written, key) && isSame(own[key], body[key]));
  return said.length === 0 ? body : without(body, new Set(said));
}

function isBlank(fields: JsonMap): boolean {
  return Object.keys(fields).every((key) => key === 'name' || key === 'type');
}

/** Gives the fingerprint its canonical spelling. */
function canonical(body: JsonMap): JsonMap {
  const fingerprint = textField(body, 'fingerprint');
  if (fingerprint === undefined || fingerprint === '') return body;
  return { ...body, fingerprint: canonicalFingerprint(fingerprint) ?? fingerprint };
}

function requireRole(body: JsonMap): void {
  if (textField(body, 'role') === undefined) throw invalid('role', `a new client needs a role: ${ROLES.join(', ')}`);
}

function requireName(name: string, what: string): void {
  const fault = nameFault(name);
  if (fault !== undefined) throw invalid('name', `"${name}" cannot be the name of ${what}: it ${fault}`);
}

/** Throws if path and body disagree. */
function requireAgreement(body: JsonMap, given: Readonly<Record<string, string>>): void {
  for (const [field, value] of Object.entries(given)) {
    const said = textField(body, field);
    if (said !== undefined && said !== value) throw invalid(field, `the body says "${said}", the path "${value}"`);
  }
}

/** Returns a text of the body. Throws `invalid_input` if there is none of that name. */
export function requiredText(body: JsonMap, name: string): string {
  const text = textField(body, name);
  if (text === undefined) throw invalid(name, 'is missing');
  return text;
}

function textField(body: JsonMap, name: string): string | undefined {
  const value = fieldOf(body, name);
  if (value === undefined || typeof value === 'string') return value;
  throw invalid(name, 'has to be a string');
}

function invalid(field: string, message: string): ServiceError {
  return new ServiceError('invalid_input', `${field}: ${message}`, [{ pointer: `/${field}`, message }]);
}

function without(body: JsonMap, names: ReadonlySet<string>): JsonMap {
  const kept = emptyMap<Json>();
  for (const [name, value] of Object.entries(body)) if (!names.has(name)) kept[name] = value;
  return kept;
}
