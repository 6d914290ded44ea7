// Groups the changed keys of all nodes: the same key with the same values from the same place is one change, however many
// nodes it concerns. The result depends on distinct changes, not on nodes.
import type { Layer } from '../hiera/node.ts';
import type { Entry } from '../model/entry.ts';
import type { Origin } from '../model/expanded.ts';
import type { Json } from '../model/json.ts';
import { compareNames } from '../model/names.ts';
import type { RecordValue } from '../model/record.ts';
import { hidden, type IsSecret } from './changed-properties.ts';
import type { ChangedNode } from './changed-servers.ts';
import { type KeyDifference, type KeyValue, keyDifferences } from './node-differences.ts';
import type { ConfigurationChange, NodeChange } from './plan.ts';

/** How many nodes a change names. */
const EXAMPLES_MAX = 5;

interface RecordChanges {
  readonly configuration: readonly ConfigurationChange[];
  readonly nodes: readonly NodeChange[];
}

/**
 * Returns the changes of records. Those of servers that are new or gone follow from the changes of servers; of
 * hand-written clientcerts that are, the names are returned.
 */
export function recordChanges(changed: readonly ChangedNode[], isSecret: IsSecret): RecordChanges {
  const groups = new ChangeGroups(isSecret);
  const nodes: NodeChange[] = [];
  for (const { name, before, after } of changed) {
    if (before !== undefined && after !== undefined) {
      for (const difference of keyDifferences(before.part, after.part)) groups.add(name, difference);
    } else {
      const unit = (before ?? after)?.unit;
      if (unit?.type !== 'clientcert') continue;
      nodes.push({ action: before === undefined ? 'add' : 'remove', node: name, file: unit.entry.path });
    }
  }
  return { configuration: groups.all(), nodes: nodes.sort((a, b) => compareNames(a.node, b.node)) };
}

interface Group extends Omit<ConfigurationChange, 'nodes' | 'examples'> {
  readonly names: string[];
}

class ChangeGroups {
  readonly #isSecret: IsSecret;
  readonly #groups = new Map<string, Group>();
  readonly #values = new ValueNumbers();
  readonly #places = new WeakMap<Entry<unknown>, Map<string, number>>();

  constructor(isSecret: IsSecret) {
    this.#isSecret = isSecret;
  }

  add(node: string, { key, from, to }: KeyDifference): void {
    const source = this.#sourceOf(key, to ?? from, to !== undefined);
    const values = [from, to].map((side) => (side === undefined ? -1 : this.#values.of(side.value)));
    const id = `${key}\n${values}\n${source.type}/${source.name}\n${source.file}:${source.line}`;
    const known = this.#groups.get(id);
    if (known !== undefined) {
      known.names.push(node);
      return;
    }
    const isSecret = this.#isSecret(key);
    const [before, after] = [from, to].map((side): Json | null => side?.value ?? null);
    const shown = isSecret
      ? { from: hidden(before ?? null), to: hidden(after ?? null) }
      : { from: before ?? null, to: after ?? null };
    this.#groups.set(id, { key, ...shown, isSecret, source, names: [node] });
  }

  all(): readonly ConfigurationChange[] {
    const changes = [...this.#groups.values()].map(({ names, key, from, to, isSecret, source }) => {
      const examples = names.sort(compareNames).slice(0, EXAMPLES_MAX);
      return { key, from, to, isSecret, nodes: names.length, examples, source };
    });
    return changes.sort(compareChanges);
  }

  /** Own properties of a server are told by the file in which they are written: each server would be another source. */
  #sourceOf(key: string, side: KeyValue | undefined, isHere: boolean): ConfigurationChange['source'] {
    const layer = side?.layer ?? null;
    const origin = layer === null ? side?.origin : placeIn(layer, key);
    if (origin === undefined || origin === null) return { type: 'clientcert', name: '', file: null, line: null };
    const { path } = origin.entry;
    return { ...objectOf(origin.entry), file: path, line: isHere ? this.#lineOf(origin) : null };
  }

  #lineOf({ entry, pointer }: Origin): number {
    const lines = this.#places.get(entry) ?? new Map<string, number>();
    this.#places.set(entry, lines);
    const line = lines.get(pointer) ?? entry.locate(pointer, 'key').line;
    lines.set(pointer, line);
    return line;
  }
}

function placeIn(layer: Layer, key: string): Origin | null {
  return layer.blame?.(key) ?? layer.origin(key);
}

/** Returns the type and name of the object in whose file a value is written: every object of the layout has both. */
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

/** Gives equal values equal numbers. The same list is written as text only once, however many nodes have it. */
class ValueNumbers {
  readonly #scalars = new Map<RecordValue, number>();
  readonly #lists = new Map<string, number>();
  readonly #known = new WeakMap<object, number>();
  #count = 0;

  of(value: RecordValue): number {
    if (typeof value !== 'object') return this.#numberIn(this.#scalars, value);
    const number = this.#known.get(value) ?? this.#numberIn(this.#lists, JSON.stringify(value));
    this.#known.set(value, number);
    return number;
  }

  #numberIn<Key>(numbers: Map<Key, number>, key: Key): number {
    const known = numbers.get(key);
    if (known !== undefined) return known;
    this.#count += 1;
    numbers.set(key, this.#count);
    return this.#count;
  }
}
