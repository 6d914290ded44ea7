// Evaluates the properties of every server of a stack, one property at a time for all servers of a resource. A value
// without <<index>> is evaluated once. A budget of characters limits work and result, because a file of 1 MiB can
// describe gigabytes.

import { invariant } from '../base/invariant.ts';
import type { ProblemText } from '../model/entry.ts';
import { emptyMap } from '../model/json.ts';
import { TEXT_LENGTH_MAX } from '../model/keys.ts';
import type { Properties, PropertyValue } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';
import type { OutputPiece, OutputText, OutputTexts } from '../model/spec.ts';
import { problemInTemplate } from './amend-template.ts';
import { type Blueprint, sourcesOf, type Text, takesOutputs } from './blueprint.ts';
import { dependencyOrder } from './dependency-order.ts';
import type { Members } from './group-members.ts';
import { MEMBERS_MAX, STACK_CHARACTERS_MAX } from './limits.ts';
import { type ArrayToken, substitute, type Token, type ValueList, valueList } from './placeholders.ts';
import type { StackInput } from './resolve-parameters.ts';
import {
  allNodes,
  earlierThan,
  labelOf,
  needsOf,
  nodeFor,
  pointerOfNode,
  type ValueNode,
  valueGraph,
} from './value-graph.ts';

/** One name in a structural property, and where it is written. */
export interface WrittenName {
  readonly name: string;
  readonly text: Text;
}

/** The values of one server. */
export interface ServerValues {
  readonly index: string | null;
  readonly name: string;
  readonly properties: Properties;
  readonly reads: OutputTexts | undefined;
  /**
   * The names in `depends_on`, and the resources whose outputs are used. Servers with the same names share one list,
   * also in the next field.
   */
  readonly needs: readonly WrittenName[];
  readonly configurationOnly: readonly WrittenName[];
}

/** The values of all servers of a resource. */
export interface ResourceValues {
  readonly members: Members;
  readonly servers: readonly ServerValues[];
  /** The resources whose values these servers use, directly or through another resource. */
  readonly sources: ReadonlySet<Blueprint>;
}

/** Returns the values of every resource in the order of `members`, or no values and the problems of those too large. */
export function evaluate(
  all: readonly Members[],
  input: StackInput,
): { readonly resources: readonly ResourceValues[]; readonly problems: readonly Problem[] } {
  const evaluation = new Evaluation(all, input);
  const { problems } = evaluation;
  const resources = problems.length > 0 ? [] : all.map((members) => evaluation.resource(members));
  return { resources, problems };
}

/** One value for each server of a resource, in the order of the servers. */
type Column<Value> = readonly Value[];

/** The cost of a list item in addition to its characters, and the cost of each resource that a value reads. */
const ITEM_CHARACTERS = 8;
const SOURCE_CHARACTERS = 32;

class Evaluation {
  readonly problems: Problem[] = [];
  readonly #input: StackInput;
  readonly #graph: ReturnType<typeof valueGraph>;
  readonly #indexes: ReadonlyMap<Blueprint, Members['indexes']>;
  readonly #columns = new Map<ValueNode, Column<PropertyValue>>();
  readonly #reads = new Map<ValueNode, Column<OutputText>>();
  readonly #structure = new Map<Text, ValueNode>();
  readonly #lists = new Map<ValueNode, ValueList>();
  readonly #sources = new Map<ValueNode, ReadonlySet<Blueprint>>();
  #left = STACK_CHARACTERS_MAX;

  constructor(members: readonly Members[], input: StackInput) {
    const blueprints = members.map(({ blueprint }) => blueprint);
    this.#input = input;
    this.#graph = valueGraph(blueprints);
    this.#indexes = new Map(members.map(({ blueprint, indexes }) => [blueprint, indexes]));
    const { order } = dependencyOrder(allNodes(this.#graph), (node) => earlierThan(this.#graph, node));
    for (const node of order) this.#add(node);
    for (const blueprint of blueprints) {
      for (const [property, { texts }] of blueprint.structure) {
        for (const text of texts) {
          const node = { blueprint, property, text: { pointer: text.pointer, isList: false, texts: [text] } };
          this.#structure.set(text, node);
          this.#add(node);
        }
      }
    }
  }

  /** Returns the values of a resource's servers. Call it only if there are no problems. */
  resource(members: Members): ResourceValues {
    const { blueprint, indexes } = members;
    const nodes = [...(this.#graph.get(blueprint.key) ?? [])];
    const properties = columnsOf(nodes, this.#columns);
    const reads = columnsOf(nodes, this.#reads);
    const outputs = [...sourcesOf(blueprint)].map(([name, text]): WrittenName => ({ name, text }));
    const dependsOn = blueprint.structure.get('depends_on')?.texts ?? [];
    const configurationOnly = blueprint.structure.get('configuration_only')?.texts ?? [];
    const [needsAt, configurationOnlyAt] = [this.#namesAt(dependsOn, outputs), this.#namesAt(configurationOnly, [])];
    const servers = indexes.map((index, position): ServerValues => {
      const own = valuesAt(properties, position);
      invariant(typeof own.name === 'string', 'a name that is a list was refused before');
      return {
        index,
        name: own.name,
        properties: own,
        reads: reads.length === 0 ? undefined : valuesAt(reads, position),
        needs: needsAt(position),
        configurationOnly: configurationOnlyAt(position),
      };
    });
    const structural = [...dependsOn, ...configurationOnly].map((text) => this.#nodeOf(text));
    const all = [...nodes.map(([, node]) => node), ...structural];
    return { members, servers, sources: new Set(all.flatMap((node) => [...this.#sourcesOf(node)])) };
  }

  #nodeOf(text: Text): ValueNode {
    const node = this.#structure.get(text);
    invariant(node !== undefined, 'every structural text was added');
    return node;
  }

  /** Returns a function that returns the names of each server in turn, and the same list while the names are equal. */
  #namesAt(texts: readonly Text[], others: readonly WrittenName[]): (position: number) => readonly WrittenName[] {
    const columns = texts.map((text) => ({ text, column: this.#columns.get(this.#nodeOf(text)) ?? [] }));
    let last: readonly WrittenName[] = [];
    return (position) => {
      const isSame = position > 0 && columns.every(({ column }) => column[position] === column[position - 1]);
      if (!isSame) {
        const written = columns.flatMap(({ text, column }) =>
          [column[position] ?? []].flat().map((name): WrittenName => ({ name, text })),
        );
        last = [...written, ...others];
      }
      return last;
    };
  }

  /** A node whose value is too large gets an empty column, so that nodes that list it cause no further problem. */
  #add(node: ValueNode): void {
    if (this.#left < 0) return;
    const sources = new Set<Blueprint>();
    for (const need of needsOf(this.#graph, node.text)) {
      sources.add(need.blueprint);
      for (const source of this.#sourcesOf(need)) sources.add(source);
    }
    this.#sources.set(node, sources);
    if (!this.#charge(node, sources.size * SOURCE_CHARACTERS)) return;
    if (takesOutputs(node.text)) this.#reads.set(node, this.#column(node, this.#outputText));
    else this.#columns.set(node, this.#column(node, this.#value));
  }

  #sourcesOf(node: ValueNode): ReadonlySet<Blueprint> {
    return this.#sources.get(node) ?? new Set();
  }

  /** Calls `evaluate` for each server, or once if all share the value. It returns null if the value is too large. */
  #column<Value extends PropertyValue | OutputText>(
    node: ValueNode,
    evaluate: (node: ValueNode, index: string | null) => Value | null,
  ): Column<Value> {
    const column: Value[] = [];
    const isShared = !variesByIndex(node);
    const written = (node.text?.texts ?? []).reduce((sum, { raw }) => sum + raw.length, 0);
    for (const index of this.#indexes.get(node.blueprint) ?? []) {
      const known = isShared ? column[0] : undefined;
      if (known === undefined && !this.#charge(node, written)) return [];
      const value = known ?? evaluate.call(this, node, index);
      if (value === null) this.problems.push(this.#problem(node, tooLong(node)));
      if (value === null || !this.#charge(node, charactersOf(value))) return [];
      column.push(value);
    }
    return column;
  }

  #value({ blueprint, text }: ValueNode, index: string | null): PropertyValue | null {
    if (text === null) return [this.#input.instance, blueprint.key, ...(index === null ? [] : [index])].join('-');
    const items: string[] = [];
    for (const { tokens } of text.texts) {
      const value = substitute(tokens, this.#scopeOf(index));
      if (value === null || (typeof value !== 'string' && value.length > MEMBERS_MAX)) return null;
      if (!text.isList) return value;
      items.push(...(typeof value === 'string' ? [value] : value));
      if (items.length > MEMBERS_MAX) return null;
    }
    return items;
  }

  #outputText({ text }: ValueNode, index: string | null): OutputText | null {
    const texts: (readonly OutputPiece[])[] = [];
    for (const { tokens } of text?.texts ?? []) {
      const [only] = tokens;
      // In a list, an item that is only an Array placeholder contributes all its items.
      if (tokens.length === 1 && only?.kind === 'array')
        for (const item of this.#listOf(only).items) texts.push([item]);
      else {
        const pieces = this.#piecesOf(tokens, index);
        if (pieces === null) return null;
        texts.push(pieces);
      }
    }
    return { isList: text?.isList === true, texts };
  }

  /** Returns a text as known strings and outputs; null if the strings are too large. */
  #piecesOf(tokens: readonly Token[], index: string | null): readonly OutputPiece[] | null {
    const pieces: OutputPiece[] = [];
    let known: Token[] = [NO_TEXT];
    for (const token of [...tokens, null]) {
      if (token !== null && token.kind !== 'output') {
        known.push(token);
        continue;
      }
      const value = substitute(known, this.#scopeOf(index));
      if (typeof value !== 'string') return null;
      if (value !== '') pieces.push(value);
      known = [NO_TEXT];
      if (token !== null) pieces.push({ output: token.name, of: this.#serversOf(token.resource) });
    }
    // An output next to an empty parameter is still part of a longer text, in which lists are joined.
    return tokens.length > 1 && pieces.length === 1 ? [...pieces, ''] : pieces;
  }

  /** Returns the name of a single server, or the names of a group, always as the same list. */
  #serversOf(resource: string): string | readonly string[] {
    const node = this.#graph.get(resource)?.get('name');
    invariant(node !== undefined, 'a placeholder that names nothing was refused before');
    const { items } = this.#valuesOf(node);
    if (node.blueprint.group !== null) return items;
    const [name] = items;
    invariant(name !== undefined, 'a server has a name');
    return name;
  }

  #scopeOf(index: string | null): Parameters<typeof substitute>[1] {
    const listOf = (token: ArrayToken): ValueList => this.#listOf(token);
    return { parameters: this.#input.parameters.values, index: index ?? '', listOf };
  }

  #listOf(token: ArrayToken): ValueList {
    const node = nodeFor(this.#graph, token);
    invariant(node !== undefined, 'a placeholder that names nothing was refused before');
    return this.#valuesOf(node);
  }

  /** Lists do not nest: a property that is a list contributes all its items. */
  #valuesOf(node: ValueNode): ValueList {
    const list = this.#lists.get(node) ?? valueList((this.#columns.get(node) ?? []).flat());
    this.#lists.set(node, list);
    return list;
  }

  /** Returns false if the stack has become too large, and reports that once. Evaluation then stops. */
  #charge(node: ValueNode, characters: number): boolean {
    if (this.#left < 0) return false;
    this.#left -= characters;
    if (this.#left >= 0) return true;
    const message = `with ${labelOf(node)} the servers of this stack have more than 64 MiB of values together`;
    const hint = 'list fewer servers, or divide the stack';
    this.problems.push(this.#problem(node, { code: 'stack_too_large', message, hint }));
    return false;
  }

  #problem(node: ValueNode, fault: ProblemText): Problem {
    return problemInTemplate(this.#input.amended, pointerOfNode(node), fault);
  }
}

/** An empty literal next to a placeholder makes `substitute` join lists. */
const NO_TEXT: Token = { kind: 'literal', text: '' };

function variesByIndex({ text }: ValueNode): boolean {
  return text === null || text.texts.some(({ tokens }) => tokens.some(({ kind }) => kind === 'index'));
}

/** Returns the size of a value in characters. */
function charactersOf(value: PropertyValue | OutputText): number {
  if (typeof value === 'string') return value.length;
  const items = 'texts' in value ? value.texts.flat() : value;
  return items.reduce((sum, item) => sum + (typeof item === 'string' ? item.length : 0) + ITEM_CHARACTERS, 0);
}

type NamedColumn<Value> = readonly [property: string, column: Column<Value>];

function columnsOf<Value>(
  nodes: readonly (readonly [property: string, node: ValueNode])[],
  columns: ReadonlyMap<ValueNode, Column<Value>>,
): readonly NamedColumn<Value>[] {
  return nodes.flatMap(([property, node]) => {
    const column = columns.get(node);
    return column === undefined ? [] : [[property, column] as const];
  });
}

function valuesAt<Value>(columns: readonly NamedColumn<Value>[], position: number): Record<string, Value> {
  const own = emptyMap<Value>();
  for (const [property, column] of columns) {
    const value = column[position];
    invariant(value !== undefined, 'every column has a value for every server');
    own[property] = value;
  }
  return own;
}

function tooLong(node: ValueNode): ProblemText {
  const isJoined = node.text?.texts.some(({ tokens }) => tokens.some(({ kind }) => kind === 'array')) === true;
  const most = `${TEXT_LENGTH_MAX.toLocaleString('en-US')} characters or ${MEMBERS_MAX.toLocaleString('en-US')} items`;
  const hint = 'let the Array placeholder be the whole value: a list may be longer than a text';
  return {
    code: 'value_too_large',
    message: `${labelOf(node)} becomes longer than ${most}`,
    hint: isJoined ? hint : 'shorten it',
  };
}
