// Computes the values of every server of a stack, by turning columns of properties into rows of servers.
import { invariant } from '../base/invariant.ts';
import { emptyMap } from '../model/json.ts';
import type { StructuralProperty } from '../model/keys.ts';
import type { Properties, PropertyValue } from '../model/objects.ts';
import { hasNoErrors, type Problem } from '../model/problem.ts';
import type { AmendedTemplate } from './amend-template.ts';
import type { Blueprint } from './blueprint.ts';
import { dependencyOrder } from './dependency-order.ts';
import type { Members } from './group-members.ts';
import { type Column, ValueColumns } from './value-columns.ts';
import { allNodes, needsOf, type ValueGraph, valueGraph } from './value-graph.ts';

/** One name in a structural property, and where it is written. */
export interface WrittenName {
  readonly name: string;
  readonly pointer: string;
}

/** The computed values of one server. */
export interface ServerValues {
  readonly index: string | null;
  readonly name: string;
  readonly properties: Properties;
  /** The names in `depends_on`. Servers with the same names share the list; so with the next field. */
  readonly needs: readonly WrittenName[];
  readonly configurationOnly: readonly WrittenName[];
}

/** The computed values of all servers of a resource. */
export interface ResourceValues {
  readonly members: Members;
  readonly servers: readonly ServerValues[];
  /** The resources whose servers' values are read, those included whose values came by way of another one. */
  readonly sources: ReadonlySet<Blueprint>;
}

interface ValuesInput {
  readonly instance: string;
  readonly amended: AmendedTemplate;
  readonly parameters: ReadonlyMap<string, string>;
  /** Of resources that were found to be right. */
  readonly members: readonly Members[];
}

/** Returns the values of every resource in the order of `members`; or, without any, which values are too large. */
export function computeValues({ members, ...input }: ValuesInput): {
  readonly resources: readonly ResourceValues[];
  readonly problems: readonly Problem[];
} {
  const graph = valueGraph(members.map(({ blueprint }) => blueprint));
  const indexes = new Map(members.map((one) => [one.blueprint, one.indexes]));
  const columns = new ValueColumns({ ...input, graph, indexes });
  const { order } = dependencyOrder(allNodes(graph), ({ text }) => needsOf(graph, text));
  for (const node of order) columns.add(node);
  const all = members.map((one) => computeColumns(one, graph, columns));
  const { problems } = columns;
  return { resources: hasNoErrors(problems) ? all.map(toServers) : [], problems };
}

interface ResourceColumns extends Pick<ResourceValues, 'members' | 'sources'> {
  /** By property, `name` always among them. */
  readonly properties: ReadonlyMap<string, Column>;
  /** One for each text of the property. */
  readonly structure: ReadonlyMap<StructuralProperty, readonly StructureColumn[]>;
}

interface StructureColumn {
  readonly pointer: string;
  readonly column: Column;
}

function computeColumns(members: Members, graph: ValueGraph, columns: ValueColumns): ResourceColumns {
  const { blueprint } = members;
  const properties = new Map<string, Column>();
  const sources = new Set<Blueprint>();
  for (const [property, node] of graph.get(blueprint.key) ?? []) {
    properties.set(property, columns.columnOf(node));
    for (const source of columns.sourcesOf(node)) sources.add(source);
  }
  const structure = new Map<StructuralProperty, readonly StructureColumn[]>();
  for (const [property, { texts }] of blueprint.structure) {
    const ofProperty = texts.map((text) => {
      const node = { blueprint, property, text: { pointer: text.pointer, isList: false, texts: [text] } };
      columns.add(node);
      for (const source of columns.sourcesOf(node)) sources.add(source);
      return { pointer: text.pointer, column: columns.columnOf(node) };
    });
    structure.set(property, ofProperty);
  }
  return { members, properties, structure, sources };
}

function toServers({ members, properties, structure, sources }: ResourceColumns): ResourceValues {
  const needsAt = namesAt(structure.get('depends_on') ?? []);
  const configurationOnlyAt = namesAt(structure.get('configuration_only') ?? []);
  const servers = members.indexes.map((index, position): ServerValues => {
    const own = propertiesAt(properties, position);
    invariant(typeof own.name === 'string', 'a name that is a list was refused before');
    const needs = needsAt(position);
    return { index, name: own.name, properties: own, needs, configurationOnly: configurationOnlyAt(position) };
  });
  return { members, servers, sources };
}

function propertiesAt(columns: ReadonlyMap<string, Column>, position: number): Properties {
  const own = emptyMap<PropertyValue>();
  for (const [property, column] of columns) own[property] = valueAt(column, position);
  return own;
}

/** Returns a function that gives the names of one server after the other, the same list as long as they are the same. */
function namesAt(columns: readonly StructureColumn[]): (position: number) => readonly WrittenName[] {
  let last: readonly WrittenName[] = [];
  return (position) => {
    const isSame = position > 0 && columns.every(({ column }) => column[position] === column[position - 1]);
    if (!isSame) {
      last = columns.flatMap(({ pointer, column }) =>
        [valueAt(column, position)].flat().map((name): WrittenName => ({ name, pointer })),
      );
    }
    return last;
  };
}

function valueAt(column: Column, position: number): PropertyValue {
  const value = column[position];
  invariant(value !== undefined, 'every column has a value for every server');
  return value;
}
