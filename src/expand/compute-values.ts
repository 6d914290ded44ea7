// Computes the values of every server of a stack, by turning columns of properties into rows of servers.
import { invariant } from '../base/invariant.ts';
import { emptyMap } from '../model/json.ts';
import type { StructuralProperty } from '../model/keys.ts';
import type { Properties } from '../model/objects.ts';
import { hasNoErrors, type Problem } from '../model/problem.ts';
import type { OutputText, OutputTexts } from '../model/spec.ts';
import type { AmendedTemplate } from './amend-template.ts';
import { type Blueprint, sourcesOf } from './blueprint.ts';
import { dependencyOrder } from './dependency-order.ts';
import type { Members } from './group-members.ts';
import { type Column, ValueColumns } from './value-columns.ts';
import { allNodes, earlierThan, type ValueGraph, valueGraph } from './value-graph.ts';

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
  readonly reads: OutputTexts | undefined;
  /** The names in `depends_on`, and of the resources whose outputs are taken. Servers with the same names share the list; so with the next field. */
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
  const { order } = dependencyOrder(allNodes(graph), (node) => earlierThan(graph, node));
  for (const node of order) columns.add(node);
  const all = members.map((one) => computeColumns(one, graph, columns));
  const { problems } = columns;
  return { resources: hasNoErrors(problems) ? all.map(toServers) : [], problems };
}

interface ResourceColumns extends Pick<ResourceValues, 'members' | 'sources'> {
  /** By property, `name` always among them. */
  readonly properties: ReadonlyMap<string, Column>;
  /** The properties that take outputs. */
  readonly reads: ReadonlyMap<string, readonly OutputText[]>;
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
  const reads = new Map<string, readonly OutputText[]>();
  const sources = new Set<Blueprint>();
  for (const [property, node] of graph.get(blueprint.key) ?? []) {
    const texts = columns.readsOf(node);
    if (texts === undefined) properties.set(property, columns.columnOf(node));
    else reads.set(property, texts);
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
  return { members, properties, reads, structure, sources };
}

function toServers({ members, properties, reads, structure, sources }: ResourceColumns): ResourceValues {
  const outputs = [...sourcesOf(members.blueprint)].map(([name, pointer]): WrittenName => ({ name, pointer }));
  const needsAt = namesAt(structure.get('depends_on') ?? [], outputs);
  const configurationOnlyAt = namesAt(structure.get('configuration_only') ?? []);
  const servers = members.indexes.map((index, position): ServerValues => {
    const own = valuesAt(properties, position);
    invariant(typeof own.name === 'string', 'a name that is a list was refused before');
    const needs = needsAt(position);
    const texts = reads.size === 0 ? undefined : valuesAt(reads, position);
    const values = { index, name: own.name, properties: own, reads: texts };
    return { ...values, needs, configurationOnly: configurationOnlyAt(position) };
  });
  return { members, servers, sources };
}

function valuesAt<Value>(columns: ReadonlyMap<string, readonly Value[]>, position: number): Record<string, Value> {
  const own = emptyMap<Value>();
  for (const [property, column] of columns) own[property] = valueAt(column, position);
  return own;
}

/**
 * Returns a function that gives the names of one server after the other, the same list as long as they are the same. It ends
 * with `others`.
 */
function namesAt(
  columns: readonly StructureColumn[],
  others: readonly WrittenName[] = [],
): (position: number) => readonly WrittenName[] {
  let last: readonly WrittenName[] = [];
  return (position) => {
    const isSame = position > 0 && columns.every(({ column }) => column[position] === column[position - 1]);
    if (!isSame) {
      const written = columns.flatMap(({ pointer, column }) =>
        [valueAt(column, position)].flat().map((name): WrittenName => ({ name, pointer })),
      );
      last = [...written, ...others];
    }
    return last;
  };
}

function valueAt<Value>(column: readonly Value[], position: number): Value {
  const value = column[position];
  invariant(value !== undefined, 'every column has a value for every server');
  return value;
}
