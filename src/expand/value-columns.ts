// Computes the values of properties in columns: one property for all servers of a resource. A value that all members of
// a group share is computed once. It stops at limits, since a file of 1 MiB can ask for gigabytes.

import { invariant } from '../base/invariant.ts';
import type { ProblemText } from '../model/entry.ts';
import { TEXT_LENGTH_MAX } from '../model/keys.ts';
import type { PropertyValue } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';
import type { OutputPiece, OutputText } from '../model/spec.ts';
import { type AmendedTemplate, problemInTemplate } from './amend-template.ts';
import { type Blueprint, type PropertyText, takesOutputs } from './blueprint.ts';
import type { Members } from './group-members.ts';
import { MEMBERS_MAX, STACK_WEIGHT_MAX } from './limits.ts';
import { type ArrayToken, substitute, type Token, type ValueList, valueList } from './placeholders.ts';
import { labelOf, needsOf, nodeFor, type ValueGraph, type ValueNode } from './value-graph.ts';

/** The weight of an item of a list, a substituted placeholder or literal, or a resource that another one reads. */
const ITEM_WEIGHT = 8;
const TOKEN_WEIGHT = 16;
const SOURCE_WEIGHT = 32;

/** One value for each server of a resource, in their order. */
export type Column = readonly PropertyValue[];

interface ColumnsInput {
  readonly instance: string;
  readonly amended: AmendedTemplate;
  readonly parameters: ReadonlyMap<string, string>;
  readonly graph: ValueGraph;
  /** The indexes of each resource's servers. */
  readonly indexes: ReadonlyMap<Blueprint, Members['indexes']>;
}

/** A text of one member. */
interface MemberText {
  readonly tokens: readonly Token[];
  readonly index: string | null;
}

/** The values that are known so far. Nodes are added in the order of their needs. */
export class ValueColumns {
  readonly problems: Problem[] = [];
  readonly #input: ColumnsInput;
  readonly #columns = new Map<ValueNode, Column>();
  readonly #lists = new Map<ValueNode, ValueList>();
  readonly #sources = new Map<ValueNode, ReadonlySet<Blueprint>>();
  readonly #reads = new Map<ValueNode, readonly OutputText[]>();
  #weightLeft = STACK_WEIGHT_MAX;

  constructor(input: ColumnsInput) {
    this.#input = input;
  }

  /** A node whose value is too large has an empty column: what lists it has no further mistake by that. */
  add(node: ValueNode): void {
    if (this.#weightLeft < 0) return;
    const sources = this.#sourcesOfNeeds(node);
    this.#sources.set(node, sources);
    if (!this.#charge(node, sources.size * SOURCE_WEIGHT)) return;
    if (takesOutputs(node.text)) this.#reads.set(node, this.#computeReads(node));
    else this.#columns.set(node, this.#compute(node));
  }

  columnOf(node: ValueNode): Column {
    return this.#columns.get(node) ?? [];
  }

  /** Returns the text of a property that takes outputs, for each server of its resource; undefined for any other. */
  readsOf(node: ValueNode): readonly OutputText[] | undefined {
    return this.#reads.get(node);
  }

  sourcesOf(node: ValueNode): ReadonlySet<Blueprint> {
    return this.#sources.get(node) ?? NO_SOURCES;
  }

  #compute(node: ValueNode): Column {
    const column: PropertyValue[] = [];
    const isShared = !variesByIndex(node);
    const needs = needsOf(this.#input.graph, node.text);
    const listed = needs.reduce((sum, need) => sum + this.columnOf(need).length, 0);
    let weight = 0;
    for (const index of this.#input.indexes.get(node.blueprint) ?? []) {
      const [first] = column;
      const value = isShared && first !== undefined ? first : this.#evaluate(node, index);
      if (value === null) return [];
      if (value !== column.at(-1)) weight = weigh(value, listed);
      if (!this.#charge(node, weight)) return [];
      column.push(value);
    }
    return column;
  }

  #computeReads(node: ValueNode): readonly OutputText[] {
    const { text, blueprint } = node;
    const isShared = !variesByIndex(node);
    const column: OutputText[] = [];
    for (const index of this.#input.indexes.get(blueprint) ?? []) {
      const known = isShared ? column[0] : undefined;
      const texts = known?.texts ?? text?.texts.flatMap(({ tokens }) => this.#itemsOf(node, { tokens, index })) ?? [];
      if (this.#weightLeft < 0) return [];
      column.push(known ?? { isList: text?.isList ?? false, texts });
    }
    return column;
  }

  /** In a list, an Array placeholder alone brings all its items. */
  #itemsOf(node: ValueNode, text: MemberText): OutputText['texts'] {
    const [only] = text.tokens;
    if (text.tokens.length > 1 || only?.kind !== 'array') return [this.#piecesOf(node, text)];
    const { items, length } = this.#shareList(only);
    return this.#charge(node, length + items.length * ITEM_WEIGHT) ? items.map((item) => [item]) : [];
  }

  /** Returns a text with everything in it that is known; nothing where that is too large, which is reported. */
  #piecesOf(node: ValueNode, { tokens, index }: MemberText): readonly OutputPiece[] {
    const pieces: OutputPiece[] = [];
    let known: Token[] = [NO_TEXT];
    for (const token of [...tokens, null]) {
      if (token !== null && !this.#charge(node, TOKEN_WEIGHT)) return [];
      if (token !== null && token.kind !== 'output') known.push(token);
      else {
        const value = substitute(known, this.#scopeOf(index));
        if (typeof value !== 'string') this.#report(node, tooLong(node));
        else if (value !== '' && this.#charge(node, value.length)) pieces.push(value);
        known = [NO_TEXT];
        if (token !== null) pieces.push({ output: token.name, of: this.#serversOf(token.resource) });
      }
    }
    // Beside a parameter that is empty, an output is a part of a longer text all the same, in which lists are joined.
    return tokens.length > 1 && pieces.length === 1 ? [...pieces, ''] : pieces;
  }

  /** Returns the name of a single server, or those of a group, the same list each time. */
  #serversOf(resource: string): string | readonly string[] {
    const name = this.#input.graph.get(resource)?.get('name');
    invariant(name !== undefined, 'a placeholder that names nothing was refused before');
    const { items } = this.#listOf(name);
    return name.blueprint.group === null ? (items[0] ?? '') : items;
  }

  /** Null: the value or the stack is too large, and that is reported. */
  #evaluate(node: ValueNode, index: string | null): PropertyValue | null {
    if (!this.#charge(node, tokenCount(node) * TOKEN_WEIGHT)) return null;
    const value = this.#substituteValue(node, index);
    if (value === null) this.#report(node, tooLong(node));
    return value;
  }

  /** Null: the value is too large. */
  #substituteValue({ blueprint, text }: ValueNode, index: string | null): PropertyValue | null {
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

  #scopeOf(index: string | null): Parameters<typeof substitute>[1] {
    return {
      parameters: this.#input.parameters,
      index: index ?? '',
      listOf: (token) => this.#shareList(token),
    };
  }

  #shareList(token: ArrayToken): ValueList {
    const node = nodeFor(this.#input.graph, token);
    invariant(node !== undefined, 'a placeholder that names nothing was refused before');
    return this.#listOf(node);
  }

  #listOf(node: ValueNode): ValueList {
    // Lists do not nest: a property that is a list brings all its items.
    const list = this.#lists.get(node) ?? valueList(this.columnOf(node).flat());
    this.#lists.set(node, list);
    return list;
  }

  #sourcesOfNeeds({ text }: ValueNode): ReadonlySet<Blueprint> {
    const needs = needsOf(this.#input.graph, text);
    if (needs.length === 0) return NO_SOURCES;
    const sources = new Set<Blueprint>();
    for (const need of needs) {
      sources.add(need.blueprint);
      for (const source of this.sourcesOf(need)) sources.add(source);
    }
    return sources;
  }

  /** Returns false, and reports it once, where the stack has become too large: nothing more is computed then. */
  #charge(node: ValueNode, weight: number): boolean {
    this.#weightLeft -= weight;
    if (this.#weightLeft < 0) this.#report(node, stackTooLarge(node));
    return this.#weightLeft >= 0;
  }

  #report({ blueprint, text }: ValueNode, problem: ProblemText): void {
    this.problems.push(problemInTemplate(this.#input.amended, text?.pointer ?? blueprint.pointer, problem));
  }
}

const NO_SOURCES: ReadonlySet<Blueprint> = new Set();
/** Beside it, the values of a placeholder are joined. */
const NO_TEXT: Token = { kind: 'literal', text: '' };

function variesByIndex({ text }: ValueNode): boolean {
  return text === null || text.texts.some(({ tokens }) => tokens.some(({ kind }) => kind === 'index'));
}

/** Work is limited too: a text of many placeholders may come to nothing. */
function tokenCount({ text }: ValueNode): number {
  return (text?.texts ?? []).reduce((sum, { tokens }) => sum + tokens.length, 0);
}

/** `listed`: how many servers' values went into it. */
function weigh(value: PropertyValue, listed: number): number {
  if (typeof value === 'string') return value.length + listed * ITEM_WEIGHT;
  return value.reduce((sum, item) => sum + item.length + ITEM_WEIGHT, 0);
}

function tooLong(node: ValueNode): ProblemText {
  return {
    code: 'value_too_large',
    message: `${labelOf(node)} becomes longer than ${count(TEXT_LENGTH_MAX)} characters or ${count(MEMBERS_MAX)} items`,
    hint: listsOthers(node.text)
      ? 'let the Array placeholder be the whole value: a list may be longer than a text'
      : 'shorten it',
  };
}

function stackTooLarge(node: ValueNode): ProblemText {
  return {
    code: 'stack_too_large',
    message: `with ${labelOf(node)} the servers of this stack have more than 64 MiB of values together`,
    hint: 'list fewer servers, or divide the stack',
  };
}

function listsOthers(text: PropertyText | null): boolean {
  return (text?.texts ?? []).some(({ tokens }) => tokens.some(({ kind }) => kind === 'array'));
}

function count(number: number): string {
  return number.toLocaleString('en-US');
}
