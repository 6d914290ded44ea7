// Defines a blueprint: a resource of a template with typed properties, tokenized texts and known places.
// read-blueprints.ts makes blueprints.
import type { StructuralProperty } from '../model/keys.ts';
import type { GroupField } from './group-fields.ts';
import type { Token } from './placeholders.ts';

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

/** Returns all texts of a resource. `scope` tells where `<<index>>` and Array placeholders have a meaning. */
export function* textsOf(blueprint: Blueprint): Generator<{ readonly text: Text; readonly scope: 'group' | 'server' }> {
  for (const text of blueprint.group?.values() ?? []) yield { text, scope: 'group' };
  for (const property of [...blueprint.properties.values(), ...blueprint.structure.values()]) {
    for (const text of property.texts) yield { text, scope: 'server' };
  }
}
