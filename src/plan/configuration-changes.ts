// Groups the changed keys of all nodes: the same key with the same values from the same place is one change, however
// many nodes it affects. Merges only keys of layers that differ as objects, so that one changed line costs little on
// each of thousands of nodes. Omits outputs of providers, which are equal on both sides, and `last_stack_update`,
// which follows from the changes of servers.

import { withRead } from '../hiera/layers.ts';
import { mergeKey, type Sourced } from '../hiera/merge.ts';
import type { HieraNode, Layer } from '../hiera/node.ts';
import { type OutputFacts, readValues } from '../machine/read-outputs.ts';
import type { Entry } from '../model/entry.ts';
import type { Origin } from '../model/expanded.ts';
import { isSame } from '../model/json.ts';
import { compareNames } from '../model/names.ts';
import { serversRead } from '../model/outputs.ts';
import type { RecordValue } from '../model/record.ts';
import { hidden, type IsSecret } from './changed-properties.ts';
import type { ChangedNode } from './changed-servers.ts';
import { type ConfigurationChange, knownAfterText, type NodeChange } from './plan.ts';

/** The number of nodes that a change names. */
const EXAMPLES_MAX = 5;

interface RecordChanges {
  readonly configuration: readonly ConfigurationChange[];
  readonly nodes: readonly NodeChange[];
}

/**
 * Returns the changes of records. Omits records of created and deleted servers. For created and deleted hand-written
 * clientcerts, returns only the names.
 */
export function recordChanges(
  changed: readonly ChangedNode[],
  { isSecret, outputs }: { readonly isSecret: IsSecret; readonly outputs: OutputFacts },
): RecordChanges {
  const groups = new ChangeGroups(isSecret);
  const nodes: NodeChange[] = [];
  for (const { name, before, after } of changed) {
    if (before !== undefined && after !== undefined) {
      for (const difference of keyDifferences(before.part, after.part, outputs)) groups.add(name, difference);
    } else {
      const unit = (before ?? after)?.unit;
      if (unit?.type !== 'clientcert') continue;
      nodes.push({ action: before === undefined ? 'add' : 'remove', node: name, file: unit.entry.path });
    }
  }
  return { nodes: nodes.sort((a, b) => compareNames(a.node, b.node)), configuration: groups.all() };
}

interface Group extends Omit<ConfigurationChange, 'nodes' | 'examples'> {
  readonly names: string[];
}

class ChangeGroups {
  readonly #isSecret: IsSecret;
  readonly #groups = new Map<string, Group>();

  constructor(isSecret: IsSecret) {
    this.#isSecret = isSecret;
  }

  add(node: string, { key, from, to }: KeyDifference): void {
    const source = sourceOf(key, to ?? from, to !== undefined);
    const [before, after] = [from?.value ?? null, to?.value ?? null];
    const id = JSON.stringify([key, before, after, source]);
    const known = this.#groups.get(id);
    if (known !== undefined) {
      known.names.push(node);
      return;
    }
    const isSecret = this.#isSecret(key);
    const shown = isSecret ? { from: hidden(before), to: hidden(after) } : { from: before, to: after };
    this.#groups.set(id, { key, ...shown, isSecret, source, names: [node] });
  }

  all(): readonly ConfigurationChange[] {
    const changes = [...this.#groups.values()].map(({ names, key, from, to, isSecret, source }) => {
      const examples = names.sort(compareNames).slice(0, EXAMPLES_MAX);
      return { key, from, to, isSecret, nodes: names.length, examples, source };
    });
    return changes.sort(compareChanges);
  }
}

/** Own properties of a server have the file in which they are written as source: otherwise each server would be one. */
function sourceOf(key: string, side: KeyValue | undefined, isHere: boolean): ConfigurationChange['source'] {
  const layer = side?.layer ?? null;
  const origin = layer === null ? side?.origin : placeIn(layer, key);
  if (origin === undefined || origin === null) return { type: 'clientcert', name: '', file: null, line: null };
  const { entry, pointer } = origin;
  return { ...objectOf(entry), file: entry.path, line: isHere ? entry.locate(pointer, 'key').line : null };
}

function placeIn(layer: Layer, key: string): Origin | null {
  return layer.blame?.(key) ?? layer.origin(key);
}

/** Returns the type and name of the object in whose file a value is written. Every object of the layout has both. */
function objectOf({ object }: Entry<unknown>): { readonly type: string; readonly name: string } {
  const { type, name } = object as { readonly type: string; readonly name: string };
  return { type, name };
}

function compareChanges(a: ConfigurationChange, b: ConfigurationChange): number {
  const places = compareNames(a.source.file ?? '', b.source.file ?? '') || (a.source.line ?? 0) - (b.source.line ?? 0);
  return compareNames(a.key, b.key) || b.nodes - a.nodes || places || compareNames(textOf(a), textOf(b));
}

function textOf({ from, to }: ConfigurationChange): string {
  return JSON.stringify([from, to]);
}

/** The value of a key on one side, and its layer; null for a computed key. */
interface KeyValue {
  readonly value: RecordValue;
  readonly layer: Layer | null;
  /** The place of a computed key in a file; undefined if there is none. */
  readonly origin?: Origin | undefined;
}

/** A key of one node whose value differs, or that is only on one side. */
interface KeyDifference {
  readonly key: string;
  readonly from: KeyValue | undefined;
  readonly to: KeyValue | undefined;
}

const NO_OUTPUTS: OutputFacts = { outputsOf: () => undefined };

/** Returns true if the records of a node have the same values, apart from outputs of providers. */
export function isSameRecord(before: HieraNode, after: HieraNode): boolean {
  return before === after || keyDifferences(before, after, NO_OUTPUTS).next().done === true;
}

/** Yields the keys in which the records of a node differ. */
function* keyDifferences(before: HieraNode, after: HieraNode, outputs: OutputFacts): Generator<KeyDifference> {
  yield* computedDifferences(before, after);
  const [old, now] = [layersOf(before, outputs), layersOf(after, outputs)];
  for (const key of candidateKeys(before, after, { old, now })) {
    const from = mergeKey(key, old, before.hierarchy.merge);
    const to = mergeKey(key, now, after.hierarchy.merge);
    if (from?.value === to?.value || isSame(from?.value, to?.value)) continue;
    yield { key, from: valueIn(from), to: valueIn(to) };
  }
}

function valueIn(sourced: Sourced | undefined): KeyValue | undefined {
  return sourced && { value: sourced.value, layer: sourced.layer };
}

function* computedDifferences(before: HieraNode, after: HieraNode): Generator<KeyDifference> {
  if (before.description !== after.description) {
    const [from, to] = [before, after].map(({ description, descriptionOrigin }) => {
      return { value: description, layer: null, origin: descriptionOrigin };
    });
    yield { key: 'description', from, to };
  }
  const [from, to] = [before, after].map(({ stackInstance }) => ({ value: stackInstance, layer: null }));
  if (!isSame(before.stackInstance, after.stackInstance)) yield { key: 'stackInstance', from, to };
}

interface LayerLists {
  readonly old: readonly Layer[];
  readonly now: readonly Layer[];
}

/** Returns the keys whose value may differ. */
function candidateKeys(before: HieraNode, after: HieraNode, { old, now }: LayerLists): ReadonlySet<string> {
  const isSameOrder = old.length === now.length && old.every((layer, at) => isSameObject(layer, now[at]));
  if (isSameOrder && before.hierarchy === after.hierarchy) {
    return new Set(old.flatMap((layer, at) => differingKeys(layer, now[at] ?? layer)));
  }
  return new Set([...old, ...now].flatMap(({ values }) => Object.keys(values)));
}

function isSameObject(a: Layer, b: Layer | undefined): boolean {
  return b !== undefined && a.type === b.type && a.name === b.name;
}

const compared = new WeakMap<Layer, { readonly now: Layer; readonly keys: readonly string[] }>();

/** Cached, because thousands of nodes share the layer of an object. */
function differingKeys(old: Layer, now: Layer): readonly string[] {
  const known = compared.get(old);
  if (known?.now === now) return known.keys;
  const names = old.values === now.values ? [] : Object.keys({ ...old.values, ...now.values });
  const keys = names.filter(
    (key) =>
      Object.hasOwn(old.values, key) !== Object.hasOwn(now.values, key) || !isSame(old.values[key], now.values[key]),
  );
  compared.set(old, { now, keys });
  return keys;
}

/** Returns the layers, with a placeholder text for values from unknown outputs. */
function layersOf({ shared, own }: HieraNode, outputs: OutputFacts): readonly Layer[] {
  return [...shared, ...own].map((layer) => {
    const { reads } = layer;
    if (reads === undefined) return layer;
    const texts = Object.entries(reads).map(([key, text]) => [key, knownAfterText(serversRead(text))] as const);
    return withRead(layer, reads, { ...Object.fromEntries(texts), ...readValues(reads, outputs) });
  });
}
