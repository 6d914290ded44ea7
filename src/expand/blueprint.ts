// Reads blueprints, which are resources with typed properties, tokenized texts and known places, from the resources of
// an amended template, and reports resources of a wrong shape. The catalog has
// checked the shape in the template's file; additions may contain anything.

import { didYouMean, quote } from '../base/wording.ts';
import { below, lastStep, type ProblemText, problemAt } from '../model/entry.ts';
import { emptyMap, isMap, type Json, type JsonMap } from '../model/json.ts';
import { isStructural, type StructuralProperty } from '../model/keys.ts';
import { compareNames, RESOURCE_GROUP, SERVER } from '../model/names.ts';
import type { Problem } from '../model/problem.ts';
import { type AmendedTemplate, problemInTemplate } from './amend-template.ts';
import { GROUP_FIELDS, type GroupField, groupFieldDefault } from './group-fields.ts';
import { outputTokensIn, type Token, tokenize } from './placeholders.ts';

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

/** The properties of a group itself; those that are left out are missing. */
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
  /** The servers' properties by name, sorted; structural ones are not among them. */
  readonly properties: ReadonlyMap<string, PropertyText>;
  /** The structural properties that are written. */
  readonly structure: ReadonlyMap<StructuralProperty, PropertyText>;
}

/** A text of a resource, and the property of the servers that it stands in; null: one of the group itself. */
interface PlacedText {
  readonly text: Text;
  readonly property: string | null;
}

/** Returns all texts of a resource. */
export function* textsOf(blueprint: Blueprint): Generator<PlacedText> {
  for (const text of blueprint.group?.values() ?? []) yield { text, property: null };
  for (const [property, { texts }] of [...blueprint.properties, ...blueprint.structure]) {
    for (const text of texts) yield { text, property };
  }
}

/** Returns the keys of the resources whose outputs a blueprint takes, each with the pointer of the first text that does. */
export function sourcesOf({ properties }: Blueprint): ReadonlyMap<string, string> {
  const sources = new Map<string, string>();
  for (const { tokens, pointer } of [...properties.values()].flatMap(({ texts }) => texts)) {
    for (const { resource } of outputTokensIn(tokens)) if (!sources.has(resource)) sources.set(resource, pointer);
  }
  return sources;
}

/** Returns true if a property takes outputs, so that its value is not known here. */
export function takesOutputs(property: PropertyText | null | undefined): boolean {
  return property?.texts.some(({ tokens }) => outputTokensIn(tokens).length > 0) ?? false;
}

const KINDS = [SERVER, RESOURCE_GROUP];

interface Blueprints {
  /** In the order of the amended template, without those that are no resources. */
  readonly blueprints: readonly Blueprint[];
  readonly problems: readonly Problem[];
}

/** Reports a mistake in the shape of the resource that is being read. */
type Report = (pointer: string, text: ProblemText) => void;

/** Returns every resource that has the shape of one, and what is wrong with the others. */
export function readBlueprints(amended: AmendedTemplate): Blueprints {
  const problems: Problem[] = [];
  const blueprints: Blueprint[] = [];
  for (const [key, definition] of Object.entries(amended.resources)) {
    const pointer = below('/resources', key);
    const blueprint = readBlueprint({ key, pointer, definition }, (at, text) => {
      problems.push(shapeProblem(amended, { resource: pointer, at, text }));
    });
    if (blueprint !== null) blueprints.push(blueprint);
  }
  return { blueprints, problems };
}

interface WrittenResource {
  readonly key: string;
  readonly pointer: string;
  readonly definition: Json;
}

/** The mistake is in the amendment: the substraction that left a hole, or the type that asks for another shape. */
function shapeProblem(
  amended: AmendedTemplate,
  { resource, at, text }: { readonly resource: string; readonly at: string; readonly text: ProblemText },
): Problem {
  const type = below(resource, 'type');
  const removal = amended.removedBy(at);
  if (removal !== null) return problemAt(removal.entry, removal.pointer, text);
  if (amended.isAdded(at) || !amended.isAdded(type)) return problemInTemplate(amended, at, text);
  const hint = 'this type asks for other properties than the template has: change both';
  return problemInTemplate(amended, type, { ...text, hint });
}

function readBlueprint({ key, pointer, definition }: WrittenResource, report: Report): Blueprint | null {
  const resource = readMap(definition, pointer, report);
  if (resource === null) return null;
  refuseUnknown(
    resource,
    { pointer, known: ['type', 'properties'], advice: 'a resource has "type" and "properties"' },
    report,
  );
  const properties = readMap(resource.properties, below(pointer, 'properties'), report);
  if (resource.type === SERVER) return readServer({ key, pointer }, properties, report);
  if (resource.type === RESOURCE_GROUP) return readGroup({ key, pointer }, properties, report);
  report(below(pointer, 'type'), unknownKind(key, resource.type));
  return null;
}

type At = Pick<WrittenResource, 'key' | 'pointer'>;

function readServer(at: At, properties: JsonMap | null, report: Report): Blueprint | null {
  if (properties === null) return null;
  const propertiesPointer = below(at.pointer, 'properties');
  return { ...at, group: null, propertiesPointer, ...readProperties(properties, propertiesPointer, report) };
}

function readGroup(at: At, properties: JsonMap | null, report: Report): Blueprint | null {
  if (properties === null) return null;
  const pointer = below(at.pointer, 'properties');
  const advice = 'properties of the members stand in resource_def.properties';
  refuseUnknown(properties, { pointer, known: [...GROUP_FIELDS, 'resource_def'], advice }, report);
  const group = new Map<GroupField, Text>();
  for (const field of GROUP_FIELDS) {
    const value = properties[field];
    if (value === undefined && groupFieldDefault(field) === null) report(below(pointer, field), missing(at.key, field));
    if (value === undefined) continue;
    if (typeof value === 'string') group.set(field, textAt(below(pointer, field), value));
    else report(below(pointer, field), notAString(field, value));
  }
  const memberPointer = below(pointer, 'resource_def');
  if (properties.resource_def === undefined) report(memberPointer, missing(at.key, 'resource_def'));
  const member = readMap(properties.resource_def, memberPointer, report);
  if (member === null) return null;
  refuseUnknown(
    member,
    { pointer: memberPointer, known: ['properties'], advice: 'resource_def has "properties"' },
    report,
  );
  const propertiesPointer = below(memberPointer, 'properties');
  const own = readMap(member.properties, propertiesPointer, report);
  return own === null ? null : { ...at, group, propertiesPointer, ...readProperties(own, propertiesPointer, report) };
}

function readProperties(
  written: JsonMap,
  pointer: string,
  report: Report,
): Pick<Blueprint, 'properties' | 'structure'> {
  const properties = new Map<string, PropertyText>();
  const structure = new Map<StructuralProperty, PropertyText>();
  for (const name of Object.keys(written).sort(compareNames)) {
    const at = below(pointer, name);
    const property = readProperty(written[name] ?? null, at, report);
    if (isStructural(name)) structure.set(name, property);
    else properties.set(name, property);
  }
  return { properties, structure };
}

function readProperty(value: Json, pointer: string, report: Report): PropertyText {
  if (typeof value === 'string') return { pointer, isList: false, texts: [textAt(pointer, value)] };
  if (!Array.isArray(value)) {
    report(pointer, notAString(lastStep(pointer), value));
    return { pointer, isList: false, texts: [] };
  }
  const texts: Text[] = [];
  value.forEach((item: Json, position) => {
    const at = below(pointer, position);
    if (typeof item === 'string') texts.push(textAt(at, item));
    else report(at, notAString('an item of the list', item));
  });
  return { pointer, isList: true, texts };
}

function textAt(pointer: string, raw: string): Text {
  return { pointer, raw, tokens: tokenize(raw) };
}

/** Returns an empty map for a missing value, and null for a value that is no map. */
function readMap(value: Json | undefined, pointer: string, report: Report): JsonMap | null {
  if (value === undefined) return emptyMap();
  if (isMap(value)) return value;
  const hint = value === null ? 'to take something away, name it in stackTemplateSubstractions' : null;
  report(pointer, { code: 'wrong_type', message: `${lastStep(pointer)} must be a map, and not ${quote(value)}`, hint });
  return null;
}

function refuseUnknown(
  map: JsonMap,
  { pointer, known, advice }: { readonly pointer: string; readonly known: readonly string[]; readonly advice: string },
  report: Report,
): void {
  for (const field of Object.keys(map)) {
    if (known.includes(field)) continue;
    const hint = didYouMean(field, known) ?? advice;
    report(below(pointer, field), {
      code: 'unknown_field',
      message: `unknown field ${quote(field)}`,
      hint,
      part: 'key',
    });
  }
}

function unknownKind(key: string, kind: Json | undefined): ProblemText {
  const code = 'unknown_kind';
  const expected = `a resource is of type ${KINDS.join(' or ')}`;
  if (kind === undefined) return { code, message: `the resource "${key}" has no type`, hint: expected };
  const suggestion = typeof kind === 'string' ? didYouMean(kind, KINDS) : null;
  return { code, message: `${quote(kind)} is no kind of resource`, hint: suggestion ?? expected };
}

function missing(key: string, field: string): ProblemText {
  return {
    code: 'missing_field',
    message: `the group "${key}" has no ${field}`,
    hint:
      field === 'count' ? 'write how many members it has, such as count: "2"' : 'add resource_def: { properties: {} }',
  };
}

function notAString(what: string, value: Json): ProblemText {
  const isPlain = typeof value === 'number' || typeof value === 'boolean';
  return {
    code: 'wrong_type',
    message: `${what} must be a string, and not ${quote(value)}`,
    hint: isPlain ? `write it in quotes: "${value}"` : nullHint(value),
  };
}

function nullHint(value: Json): string {
  return value === null
    ? 'write "" for an empty value, or take it away in stackTemplateSubstractions'
    : 'values are strings or lists of strings';
}
