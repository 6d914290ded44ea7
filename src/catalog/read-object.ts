// Converts a value that fits its schema to an object of the model. Adds the name and type from the path, and defaults.
import { invariant } from '../base/invariant.ts';
import { emptyMap, isMap, type Json, type JsonMap } from '../model/json.ts';
import { type PlainTypeName, ROLES } from '../model/names.ts';
import {
  type Client,
  type DriftPolicy,
  READ_SCOPES,
  type ResourceDefinition,
  type StackInstance,
  type StackTemplate,
  type TypedObject,
  WRITE_SCOPES,
} from '../model/objects.ts';
import { canonicalFingerprint } from '../model/serial.ts';
import type { FileType } from './catalog.ts';

const DRIFT_POLICIES: readonly DriftPolicy[] = ['report', 'heal', 'off'];
const DELETIONS = ['delete', 'retain'] as const;

/** Types whose objects are named by their files. */
export type NamedType = Exclude<FileType, 'tree' | 'hierarchy'>;

/** Returns the object from a map that fits the schema. */
export function readObject(
  type: NamedType,
  name: string,
  value: JsonMap,
): StackTemplate | StackInstance | Client | TypedObject {
  if (type === 'stack-template') return readTemplate(name, value);
  if (type === 'stack-instance') return readInstance(name, value);
  if (type === 'client') return readClient(name, value);
  return readTyped(type, name, value);
}

function readTemplate(name: string, value: JsonMap): StackTemplate {
  const resources = emptyMap<ResourceDefinition>();
  for (const [key, resource] of Object.entries(mapIn(value.resources))) {
    const { type, properties } = mapIn(resource);
    resources[key] = { type: textIn(type), properties: mapIn(properties) };
  }
  return {
    name,
    type: 'stack-template',
    description: textIn(value.description),
    parameters: textsIn(value.parameters),
    resources,
  };
}

function readInstance(name: string, value: JsonMap): StackInstance {
  const deletion = oneOf(DELETIONS, value.deletion);
  const drift = oneOf(DRIFT_POLICIES, value.drift);
  return {
    name,
    type: 'stack-instance',
    description: textIn(value.description),
    stackTemplate: textIn(value.stackTemplate),
    stackTemplateAdditions: mapIn(value.stackTemplateAdditions),
    stackTemplateSubstractions: mapIn(value.stackTemplateSubstractions),
    parameters: textsIn(value.parameters),
    ...(typeof value.protected === 'boolean' ? { protected: value.protected } : {}),
    ...(deletion === undefined ? {} : { deletion }),
    ...(drift === undefined ? {} : { drift }),
    ...(typeof value.adopt === 'boolean' ? { adopt: value.adopt } : {}),
    ...(typeof value.tenant === 'string' ? { tenant: value.tenant } : {}),
  };
}

function readClient(serial: string, value: JsonMap): Client {
  const role = oneOf(ROLES, value.role);
  invariant(role !== undefined, 'the schema of a client requires a role');
  const [node, reads, writes] = [
    textIn(value.node),
    oneOf(READ_SCOPES, value.reads),
    oneOf(WRITE_SCOPES, value.writes),
  ];
  return {
    name: serial,
    type: 'client',
    description: textIn(value.description),
    role,
    fingerprint: canonicalFingerprint(textIn(value.fingerprint)) ?? '',
    serial,
    tenant: textIn(value.tenant),
    ...(Array.isArray(value.tags) ? { tags: value.tags.filter((tag) => typeof tag === 'string') } : {}),
    ...(node === '' ? {} : { node }),
    ...(reads === undefined ? {} : { reads }),
    ...(writes === undefined ? {} : { writes }),
  };
}

function readTyped(type: PlainTypeName, name: string, value: JsonMap): TypedObject {
  const object = { name, type, description: textIn(value.description) };
  return Object.assign(emptyMap(), object, value, object);
}

function textIn(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

function mapIn(value: Json | undefined): JsonMap {
  return isMap(value) ? value : emptyMap();
}

function textsIn(value: Json | undefined): Record<string, string> {
  const texts = emptyMap<string>();
  for (const [key, text] of Object.entries(mapIn(value))) texts[key] = textIn(text);
  return texts;
}

function oneOf<Choice extends Json>(choices: readonly Choice[], value: Json | undefined): Choice | undefined {
  return choices.find((choice) => choice === value);
}
