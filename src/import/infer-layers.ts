// Finds the smallest layers that give every server its values: where most servers of an environment, a role or all have the same
// value, it stands in that layer once, and the others override it. No layer gives a server a key that it does not have.
import { SELECTORS } from '../model/keys.ts';
import { compareNames } from '../model/names.ts';
import type { RecordValue } from '../model/record.ts';
import { SELECTOR_TYPES, type SelectingNode } from './infer-selectors.ts';
import type { SourceValue } from './inventory.ts';

/** The keys of each object, by `<type>/<name>`. */
export type LayerObjects = ReadonlyMap<string, ReadonlyMap<string, RecordValue>>;

/** A server as it takes part in its layers. */
export interface LayeredNode extends SelectingNode {
  /** The keys that its properties hold. */
  readonly written: Readonly<Record<string, unknown>>;
}

/** A level of the hierarchy: the object of each server, by index, and how many servers each object has. */
interface Level {
  readonly type: string;
  readonly objects: readonly (string | undefined)[];
  readonly sizes: ReadonlyMap<string, number>;
}

/** A server that has a key: its index, and the value. */
interface Holder {
  readonly index: number;
  readonly value: SourceValue;
  /** What the layers so far give it. */
  inherited: string | undefined;
}

/** The name of the object of `common`, and the root of the tree. */
export const ROOT_NAME = 'global';

/**
 * Returns the objects of all layers. Keys that select layers are properties, and in none; `facets` are other keys by which servers
 * select, and stand in the objects that they select, such as `instance_type` in a shape.
 */
export function inferLayers(nodes: readonly LayeredNode[], facets: ReadonlyMap<string, string>): LayerObjects {
  const levels = [
    levelOf(
      'common',
      nodes.map(() => ROOT_NAME),
    ),
    ...SELECTOR_TYPES.map((type) =>
      levelOf(
        type,
        nodes.map(({ selection }) => selection.get(type) || undefined),
      ),
    ),
  ];
  const objects = new Map<string, Map<string, RecordValue>>();
  const put = (object: string, key: string, { value }: SourceValue): void => {
    const keys = objects.get(object) ?? new Map<string, RecordValue>();
    objects.set(object, keys.set(key, value));
  };
  for (const [key, holders] of holdersByKey(nodes)) {
    const own = levels.filter(({ type }) => type === facets.get(key));
    for (const [object, value] of key === 'description' ? [] : sharedValues(holders, own.length > 0 ? own : levels)) {
      put(object, key, value);
    }
    for (const { index, value, inherited } of holders) {
      if (inherited !== value.text) put(`clientcert/${nodes[index]?.node.name}`, key, value);
    }
  }
  return objects;
}

function levelOf(type: string, objects: Level['objects']): Level {
  const sizes = new Map<string, number>();
  for (const object of objects) if (object !== undefined) sizes.set(object, (sizes.get(object) ?? 0) + 1);
  return { type, objects, sizes };
}

function holdersByKey(nodes: readonly LayeredNode[]): readonly (readonly [string, readonly Holder[]])[] {
  const found = new Map<string, Holder[]>();
  for (const [index, { node, written }] of nodes.entries()) {
    for (const [key, value] of node.values) {
      if (SELECTORS.has(key) || Object.hasOwn(written, key)) continue;
      const holders = found.get(key) ?? [];
      holders.push({ index, value, inherited: undefined });
      found.set(key, holders);
    }
  }
  return [...found].sort(([a], [b]) => compareNames(a, b));
}

/**
 * Yields the values that layers give of one key. The level that spares the most lines is first, then the one below it that spares
 * the most of what is left, until none spares any.
 */
function* sharedValues(
  holders: readonly Holder[],
  levels: readonly Level[],
): Generator<readonly [object: string, value: SourceValue]> {
  for (let from = 0; from < levels.length; ) {
    let best:
      | { readonly values: ReadonlyMap<string, SourceValue>; readonly spared: number; readonly at: number }
      | undefined;
    for (let at = from; at < levels.length; at++) {
      const level = levels[at];
      const found = level && sparingValues(holders, level);
      if (found !== undefined && found.spared > (best?.spared ?? 0)) best = { ...found, at };
    }
    const chosen = best && levels[best.at];
    if (best === undefined || chosen === undefined) return;
    for (const [object, value] of best.values) yield [`${chosen.type}/${object}`, value];
    for (const holder of holders) {
      holder.inherited = best.values.get(chosen.objects[holder.index] ?? '')?.text ?? holder.inherited;
    }
    from = best.at + 1;
  }
}

/** A value that overrides another one is harder to read than one that stands alone. */
const OVERRIDE = 1.5;

interface Tally {
  count: number;
  /** The lines for those whose value would have to be written for the server itself. */
  wrong: number;
  readonly byText: Map<string, { cost: number; readonly value: SourceValue }>;
}

/** Returns the value of each object of a level that spares lines, and how many. All servers of the object have the key. */
function sparingValues(
  holders: readonly Holder[],
  { objects, sizes }: Level,
): { values: ReadonlyMap<string, SourceValue>; spared: number } {
  const tallies = new Map<string, Tally>();
  for (const { index, value, inherited } of holders) {
    const object = objects[index];
    if (object === undefined) continue;
    const tally = tallies.get(object) ?? { count: 0, wrong: 0, byText: new Map() };
    tallies.set(object, tally);
    // What was written for a group of servers is worth a layer also where only one is left of it.
    const cost = value.isOwn ? 1 : 2;
    tally.count += 1;
    if (inherited !== value.text) tally.wrong += inherited === undefined ? cost : cost * OVERRIDE;
    const same = tally.byText.get(value.text) ?? { cost: 0, value };
    same.cost += cost;
    tally.byText.set(value.text, same);
  }
  const values = new Map<string, SourceValue>();
  let spared = 0;
  for (const [object, { count, wrong, byText }] of tallies) {
    if (count < (sizes.get(object) ?? 0)) continue;
    const all = [...byText.values()];
    const most = all.reduce((best, one) => (one.cost > best.cost ? one : best));
    const others = all.reduce((sum, { cost }) => sum + cost, 0) - most.cost;
    const gain = wrong - others * OVERRIDE - 1;
    if (gain <= 0) continue;
    values.set(object, most.value);
    spared += gain;
  }
  return { values, spared };
}
