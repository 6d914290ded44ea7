// Reads hierarchy.yaml: its defaults, and the rules that a schema cannot express. See docs/concepts.md, hierarchy.

import { type PatternRefusal, patternRefusal, patternRefusals } from '../base/pattern.ts';
import { didYouMean, quote } from '../base/wording.ts';
import { type Entry, type Fault, type ProblemText, problemAt, type ValidEntry } from '../model/entry.ts';
import { emptyMap, isMap, type Json, type JsonMap } from '../model/json.ts';
import { SELECTORS } from '../model/keys.ts';
import { isPlainTypeName, nameFault, type PlainTypeName } from '../model/names.ts';
import type { Hierarchy, HierarchyLevel, MergeRule } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';

const LEVEL_TYPES = ['common', 'environment', 'location', 'zone', 'shape', 'role', 'configuration'] as const;

/** The levels of the tree. An order may leave some out but must keep their sequence. */
const TREE_TYPES: readonly PlainTypeName[] = ['environment', 'location', 'zone'];

/** The hierarchy without a hierarchy.yaml, and the default of each field that it leaves out. */
export const DEFAULT_HIERARCHY: Hierarchy = {
  order: LEVEL_TYPES.map((type) => ({ type })),
  merge: emptyMap<MergeRule>(),
  provisioning: ['shape'],
};

/** Returns the hierarchy from a map that fits the schema. */
export function readHierarchy(value: JsonMap): Hierarchy {
  const order = Array.isArray(value.order) ? value.order.flatMap(readLevel) : DEFAULT_HIERARCHY.order;
  const provisioning = Array.isArray(value.provisioning)
    ? typesIn(value.provisioning)
    : DEFAULT_HIERARCHY.provisioning.filter((type) => order.some((level) => level.type === type));
  const merge = emptyMap<MergeRule>();
  for (const [key, rule] of Object.entries(isMap(value.merge) ? value.merge : {})) {
    merge[key] = rule === 'unique' ? 'unique' : 'first';
  }
  const { secrets } = value;
  if (!isMap(secrets) || !Array.isArray(secrets.keys)) return { order, merge, provisioning };
  const keys = secrets.keys.filter((key) => typeof key === 'string');
  return { order, merge, provisioning, secrets: { keys, reference: String(secrets.reference) } };
}

function readLevel(level: Json): HierarchyLevel[] {
  const { type, name } = isMap(level) ? level : { type: level };
  return typesIn([type]).map((known) => (typeof name === 'string' ? { type: known, name } : { type: known }));
}

function typesIn(values: readonly (Json | undefined)[]): PlainTypeName[] {
  return values.filter((value) => typeof value === 'string').filter(isPlainTypeName);
}

/** Returns the mistakes of a hierarchy that its schema cannot find. */
export function checkHierarchy(entry: ValidEntry<Hierarchy>): readonly Problem[] {
  const { order, provisioning, secrets } = entry.object;
  return [
    ...order.flatMap((level, index) => {
      const fault = levelFault(order, index, level);
      return at(entry, `/order/${index}${fault?.code === 'hierarchy_name' ? '/name' : ''}`, fault);
    }),
    ...provisioning.flatMap((type, index) => {
      const isRepeated = provisioning.indexOf(type) !== index;
      const isLevel = order.some((level) => level.type === type);
      const fault = isRepeated ? repeatFault(`"${type}"`) : isLevel ? undefined : noLevel(type);
      return at(entry, `/provisioning/${index}`, fault);
    }),
    ...patternFaults(secrets?.keys ?? []).flatMap(([index, fault]) =>
      at(entry, index === null ? '/secrets/keys' : `/secrets/keys/${index}`, fault),
    ),
    ...at(entry, '/secrets/reference', secrets === undefined ? undefined : patternFault(secrets.reference)),
  ];
}

function at(entry: Entry<unknown>, pointer: string, fault: ProblemText | undefined): readonly Problem[] {
  return fault === undefined ? [] : [problemAt(entry, pointer, fault)];
}

function noLevel(type: string): ProblemText {
  return {
    code: 'hierarchy_provisioning',
    message: `"${type}" is not a layer of the order`,
    hint: 'provisioning lists types that are in "order"',
  };
}

function repeatFault(what: string): ProblemText {
  return {
    code: 'hierarchy_repeated',
    message: `${what} is listed twice`,
    hint: 'remove one of the two',
  };
}

/** Returns the fault of one level of the order; it may depend on the levels before it. */
function levelFault(order: readonly HierarchyLevel[], index: number, level: HierarchyLevel): ProblemText | undefined {
  const before = order.slice(0, index);
  if (before.some(({ type, name }) => type === level.type && name === level.name)) {
    return repeatFault(`the layer ${quote(level.name ?? level.type)}`);
  }
  if (level.name !== undefined) return compoundFault(level.name);
  const misordered = before.find(({ type, name }) => name === undefined && isReversed(type, level.type));
  if (misordered === undefined) return undefined;
  return {
    code: 'hierarchy_order',
    message: `"${level.type}" comes after "${misordered.type}"`,
    hint: `the tree's levels keep their order: ${TREE_TYPES.join(', ')}`,
  };
}

function isReversed(earlier: PlainTypeName, later: PlainTypeName): boolean {
  const place = TREE_TYPES.indexOf(later);
  return place !== -1 && TREE_TYPES.indexOf(earlier) > place;
}

const LEVEL_PLACEHOLDER = /<<([^<>]*)>>/g;

/** Returns the fault of a compound layer's name. */
function compoundFault(name: string): ProblemText | undefined {
  const code = 'hierarchy_name';
  const selectors = [...SELECTORS];
  const named = [...name.matchAll(LEVEL_PLACEHOLDER)].map(([, type = '']) => type);
  const unknown = named.find((type) => !SELECTORS.has(type));
  if (unknown !== undefined) {
    const hint = didYouMean(unknown, selectors) ?? `one of: ${selectors.join(', ')}`;
    return { code, message: `${quote(`<<${unknown}>>`)} in the layer's name is not a type that a node selects`, hint };
  }
  if (named.length === 0) {
    const hint = 'such as <<environment>>-<<location>>; an object for all nodes belongs into "common"';
    return { code, message: `the layer's name ${quote(name)} contains no placeholder`, hint };
  }
  const fault = nameFault(name.replaceAll(LEVEL_PLACEHOLDER, 'x'));
  if (fault === undefined) return undefined;
  return {
    code,
    message: `no object can have the name ${quote(name)}: it ${fault}`,
    hint: 'join placeholders with "-"',
  };
}

/** Returns the fault of a pattern, or undefined. The schema limits its length. */
export function patternFault(pattern: string): Fault | undefined {
  const refusal = patternRefusal(pattern);
  return refusal === undefined ? undefined : patternFaultOf(quote(pattern), refusal);
}

/**
 * Returns the faults of patterns that are searched for together, by index; null is the index of a fault of the whole
 * list.
 */
export function patternFaults(patterns: readonly string[]): readonly (readonly [index: number | null, fault: Fault])[] {
  return [...patternRefusals(patterns)].map(([index, refusal]) => {
    return [index, patternFaultOf(index === null ? 'the list' : quote(patterns[index] ?? ''), refusal)];
  });
}

function patternFaultOf(what: string, { reason, hint }: PatternRefusal): Fault {
  return { code: 'bad_pattern', message: `${what} ${reason}`, hint };
}
