// Reads the resources of an amended template as blueprints: typed properties, tokenized texts, and their places.
// Additions may contain anything, so the amended template is checked against the schema of templates.

import { checkValue, type ShapeFault } from '../catalog/schemas.ts';
import { below, problemAt } from '../model/entry.ts';
import { emptyMap, isMap, type Json, type JsonMap } from '../model/json.ts';
import { isStructural, type StructuralProperty } from '../model/keys.ts';
import { compareNames, SERVER } from '../model/names.ts';
import type { Problem } from '../model/problem.ts';
import { type AmendedTemplate, problemInTemplate } from './amend-template.ts';
import { outputTokensIn, type Token, tokenize } from './placeholders.ts';

/** The properties of a group itself, which are strings, in the order in which they are documented. */
export const GROUP_FIELDS = ['count', 'index_start', 'max_unavailable', 'pause_seconds'] as const;
/** A property of a group itself, such as `count`. */
export type GroupField = (typeof GROUP_FIELDS)[number];

/** One string as it is written. */
export interface Text {
  /** Its pointer in the template's document. */
  readonly pointer: string;
  readonly raw: string;
  readonly tokens: readonly Token[];
}

/** A property as it is written: one string, or a list of them. */
export interface PropertyText {
  readonly pointer: string;
  readonly isList: boolean;
  readonly texts: readonly Text[];
}

/** The properties of the group itself, without those that are left out. */
type GroupText = ReadonlyMap<GroupField, Text>;

/** A resource of a template, before any value is computed. */
export interface Blueprint {
  /** The resource key. */
  readonly key: string;
  readonly pointer: string;
  /** Null for a single server. */
  readonly group: GroupText | null;
  /** The pointer of the servers' properties. */
  readonly propertiesPointer: string;
  /** The servers' properties, sorted by name, without structural ones. */
  readonly properties: ReadonlyMap<string, PropertyText>;
  /** The structural properties that are written. */
  readonly structure: ReadonlyMap<StructuralProperty, PropertyText>;
}

/** Returns all texts of a resource, each with its server property; null for a text of the group itself. */
export function* textsOf(blueprint: Blueprint): Generator<{ readonly text: Text; readonly property: string | null }> {
  for (const text of blueprint.group?.values() ?? []) yield { text, property: null };
  for (const [property, { texts }] of [...blueprint.properties, ...blueprint.structure]) {
    for (const text of texts) yield { text, property };
  }
}

/** Returns the keys of the resources whose outputs a blueprint uses, each with the first text that does. */
export function sourcesOf({ properties }: Blueprint): ReadonlyMap<string, Text> {
  const sources = new Map<string, Text>();
  for (const text of [...properties.values()].flatMap(({ texts }) => texts)) {
    for (const { resource } of outputTokensIn(text.tokens)) if (!sources.has(resource)) sources.set(resource, text);
  }
  return sources;
}

/** Returns true if a property uses outputs, so that expansion does not know its value. */
export function takesOutputs(property: PropertyText | null | undefined): boolean {
  return property?.texts.some(({ tokens }) => outputTokensIn(tokens).length > 0) ?? false;
}

/** Returns the pointer of a property; for a generated name, that of the resource. */
export function pointerOf({ properties, pointer }: Blueprint, property: string): string {
  return properties.get(property)?.pointer ?? pointer;
}

/** Returns every well-formed resource, in order, and the mistakes of the others. */
export function readBlueprints(amended: AmendedTemplate): {
  readonly blueprints: readonly Blueprint[];
  readonly problems: readonly Problem[];
} {
  const { parameters, resources } = amended;
  // The catalog has checked the template's file by the same schema.
  const faults = amended.isAmended ? checkValue('stack-template', { parameters, resources }) : [];
  const wrong = new Set(faults.map(({ pointer }) => pointer.split('/', 3).join('/')));
  const blueprints = Object.entries(resources).flatMap(([key, definition]) =>
    wrong.has(below('/resources', key)) ? [] : readBlueprint(key, definition),
  );
  return { blueprints, problems: faults.map((fault) => shapeProblem(amended, fault)) };
}

/**
 * Reports the mistake at the amendment that causes it: a substraction, or an added type that needs other properties.
 */
function shapeProblem(amended: AmendedTemplate, { pointer, missing, value, fault }: ShapeFault): Problem {
  const removal = amended.removedBy(missing ?? pointer);
  if (removal !== null) return problemAt(removal.entry, removal.pointer, { ...fault, part: 'value' });
  const type = `${pointer.split('/', 3).join('/')}/type`;
  if (!amended.isAdded(pointer) && amended.isAdded(type)) {
    const hint = 'this type asks for other properties than the template has: change both';
    return problemInTemplate(amended, type, { ...fault, hint, part: 'value' });
  }
  const hint = value === null ? `${fault.hint}; to take it away, name it in stackTemplateSubstractions` : fault.hint;
  return problemInTemplate(amended, pointer, { ...fault, hint: hint ?? null });
}

function readBlueprint(key: string, definition: Json): Blueprint {
  const pointer = below('/resources', key);
  const written = mapIn(definition, 'properties');
  const at = below(pointer, 'properties');
  if (!isMap(definition) || definition.type === SERVER)
    return { key, pointer, group: null, propertiesPointer: at, ...readProperties(written, at) };
  const group = new Map<GroupField, Text>();
  for (const field of GROUP_FIELDS) {
    const value = written[field];
    if (typeof value === 'string') group.set(field, textAt(below(at, field), value));
  }
  const own = mapIn(written.resource_def, 'properties');
  const ownAt = below(at, 'resource_def', 'properties');
  return { key, pointer, group, propertiesPointer: ownAt, ...readProperties(own, ownAt) };
}

function mapIn(value: Json | undefined, field: string): JsonMap {
  const map = isMap(value) ? value[field] : undefined;
  return isMap(map) ? map : emptyMap();
}

function readProperties(written: JsonMap, pointer: string): Pick<Blueprint, 'properties' | 'structure'> {
  const properties = new Map<string, PropertyText>();
  const structure = new Map<StructuralProperty, PropertyText>();
  for (const [name, value] of Object.entries(written).sort(([a], [b]) => compareNames(a, b))) {
    const property = readProperty(value, below(pointer, name));
    if (isStructural(name)) structure.set(name, property);
    else properties.set(name, property);
  }
  return { properties, structure };
}

function readProperty(value: Json, pointer: string): PropertyText {
  if (!Array.isArray(value)) return { pointer, isList: false, texts: [textAt(pointer, String(value))] };
  const texts = value.map((item: Json, position) => textAt(below(pointer, position), String(item)));
  return { pointer, isList: true, texts };
}

function textAt(pointer: string, raw: string): Text {
  return { pointer, raw, tokens: tokenize(raw) };
}
