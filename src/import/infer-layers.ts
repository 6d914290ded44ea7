// Finds the smallest layers that give every server its values: where most servers of an environment, a role or all have the same
// value, it stands in that layer once, and the others override it; a server that does not have the key takes it away with null.
import { SELECTORS } from '../model/keys.ts';
import { compareNames } from '../model/names.ts';
import type { RecordValue } from '../model/record.ts';
import { SELECTOR_TYPES, type SelectingNode } from './infer-selectors.ts';
import type { SourceValue } from './inventory.ts';

/** The keys of each object, by `<type>/<name>`. Null takes a key away that a more general layer gives. */
export type LayerObjects = ReadonlyMap<string, ReadonlyMap<string, RecordValue | null>>;

/** A server as it takes part in its layers. */
export interface LayeredNode extends SelectingNode {
  /** The keys that its properties hold. */
  readonly written: Readonly<Record<string, unknown>>;
}

/** A level of the hierarchy: the object of each server, by index, and the servers of each object. */
interface Level {
  readonly type: string;
  readonly objects: readonly (string | undefined)[];
  readonly members: ReadonlyMap<string, readonly number[]>;
}

/** A server, by index, that has a key, or that is given one which it does not have. */
interface Holder {
  readonly index: number;
  /** Undefined: it does not have the key. */
  readonly value: SourceValue | undefined;
  /** As in the value; '' for none, here and below. */
  readonly text: string;
  /** What the layers so far give it. */
  inherited: string;
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
  const objects = new Map<string, Map<string, RecordValue | null>>();
  const put = (object: string, key: string, value: SourceValue | undefined): void => {
    const keys = objects.get(object) ?? new Map<string, RecordValue | null>();
    objects.set(object, keys.set(key, value?.value ?? null));
  };
  // Properties win over layers, and a server's own file over them: what some have as a property is taken away from none.
  const written = new Set(nodes.flatMap((node) => Object.keys(node.written)));
  for (const [key, holders] of holdersByKey(nodes)) {
    const own = levels.filter(({ type }) => type === facets.get(key));
    const among = { levels: own.length > 0 ? own : levels, isStrict: written.has(key) };
    for (const [object, value] of key === 'description' ? [] : sharedValues(holders, among)) put(object, key, value);
    for (const { index, value, text, inherited } of holders) {
      if (inherited !== text) put(`clientcert/${nodes[index]?.node.name}`, key, value);
    }
  }
  return objects;
}

function levelOf(type: string, objects: Level['objects']): Level {
  const members = new Map<string, number[]>();
  for (const [index, object] of objects.entries()) {
    if (object === undefined) continue;
    const found = members.get(object) ?? [];
    found.push(index);
    members.set(object, found);
  }
  return { type, objects, members };
}

function holdersByKey(nodes: readonly LayeredNode[]): readonly (readonly [string, Holder[]])[] {
  const found = new Map<string, Holder[]>();
  for (const [index, { node, written }] of nodes.entries()) {
    for (const [key, value] of node.values) {
      if (SELECTORS.has(key) || Object.hasOwn(written, key)) continue;
      const holders = found.get(key) ?? [];
      holders.push({ index, value, text: value.text, inherited: '' });
      found.set(key, holders);
    }
  }
  return [...found].sort(([a], [b]) => compareNames(a, b));
}

interface Among {
  readonly levels: readonly Level[];
  /** No server is given the key that does not have it. */
  readonly isStrict: boolean;
}

/**
 * Yields the values that layers give of one key. The level that spares the most lines is first, counted with the best one below it:
 * a value of all servers is worth it if an environment overrides it at once. Then the next, until none spares any. Servers that are
 * given a key which they do not have become holders.
 */
function* sharedValues(
  holders: Holder[],
  { levels, isStrict }: Among,
): Generator<readonly [object: string, value: SourceValue | undefined]> {
  for (let from = 0; from < levels.length; ) {
    const best = bestLevel(holders, { levels, isStrict }, { from, countsBelow: true });
    if (best === undefined) return;
    for (const [object, value] of best.values) yield [`${best.level.type}/${object}`, value];
    give(holders, best);
    from = levels.indexOf(best.level) + 1;
  }
}

interface Chosen extends Sparing {
  readonly level: Level;
}

function bestLevel(
  holders: Holder[],
  { levels, isStrict }: Among,
  { from, countsBelow }: { readonly from: number; readonly countsBelow: boolean },
): Chosen | undefined {
  let best: { readonly chosen: Chosen; readonly total: number } | undefined;
  for (const [at, level] of levels.entries()) {
    const found = at < from ? undefined : sparingValues(holders, level, isStrict);
    if (found === undefined || found.spared <= 0) continue;
    const chosen = { ...found, level };
    const total = found.spared + (countsBelow ? sparedBelow(holders, { levels, isStrict }, chosen) : 0);
    if (total > (best?.total ?? 0)) best = { chosen, total };
    // Nothing is better than one line that leaves none to write.
    if (found.values.size === 1 && found.leaves === 0) break;
  }
  return best?.chosen;
}

/** Returns what the best level below spares once `chosen` is written, and leaves the holders as they were. */
function sparedBelow(holders: Holder[], among: Among, chosen: Chosen): number {
  const before = holders.map(({ inherited }) => inherited);
  give(holders, chosen);
  const isLeft = holders.some(({ inherited, text }) => inherited !== text);
  const from = among.levels.indexOf(chosen.level) + 1;
  const spared = isLeft ? (bestLevel(holders, among, { from, countsBelow: false })?.spared ?? 0) : 0;
  holders.length = before.length;
  for (const [index, holder] of holders.entries()) holder.inherited = before[index] ?? '';
  return spared;
}

/** Gives the holders, and all other servers of the objects, what these say. */
function give(holders: Holder[], { level, values }: Chosen): void {
  const present = new Set(holders.map(({ index }) => index));
  for (const object of values.keys()) {
    for (const index of level.members.get(object) ?? []) {
      if (!present.has(index)) holders.push({ index, value: undefined, text: '', inherited: '' });
    }
  }
  for (const holder of holders) {
    const object = level.objects[holder.index];
    if (object !== undefined && values.has(object)) holder.inherited = values.get(object)?.text ?? '';
  }
}

/** A value that overrides another one is harder to read than one that stands alone, and null is the hardest. */
const OVERRIDE = 1.5;
const TAKEN_AWAY = 6;

interface Tally {
  count: number;
  /** The lines for those whose value would have to be written for the server itself. */
  wrong: number;
  all: number;
  /** The lines for the object itself. */
  line: number;
  readonly byText: Map<string, { cost: number; readonly value: SourceValue | undefined }>;
}

/** The value of each object that spares lines, and how many all together. */
interface Sparing {
  readonly values: ReadonlyMap<string, SourceValue | undefined>;
  readonly spared: number;
  /** The lines that are left to write. */
  readonly leaves: number;
}

/** Returns which objects of a level spare lines. */
function sparingValues(holders: readonly Holder[], { objects, members }: Level, isStrict: boolean): Sparing {
  const tallies = new Map<string, Tally>();
  for (const { index, value, text, inherited } of holders) {
    const object = objects[index];
    if (object === undefined) continue;
    const tally = tallies.get(object) ?? { count: 0, wrong: 0, all: 0, line: 1, byText: new Map() };
    tallies.set(object, tally);
    // What was written for a group of servers is worth a layer also where only one is left of it.
    const cost = value === undefined ? TAKEN_AWAY / OVERRIDE : value.isOwn ? 1 : 2;
    tally.count += 1;
    tally.all += cost;
    if (inherited !== '') tally.line = OVERRIDE;
    if (inherited !== text) tally.wrong += inherited === '' ? cost : cost * OVERRIDE;
    const same = tally.byText.get(text) ?? { cost: 0, value };
    same.cost += cost;
    tally.byText.set(text, same);
  }
  const values = new Map<string, SourceValue | undefined>();
  let [spared, leaves] = [0, 0];
  for (const [object, { count, wrong, all, line, byText }] of tallies) {
    leaves += wrong;
    const absent = (members.get(object)?.length ?? 0) - count;
    if (isStrict && absent > 0) continue;
    const most = [...byText.values()].reduce((best, one) => (one.cost > best.cost ? one : best));
    const given = most.value === undefined ? 0 : absent * TAKEN_AWAY;
    const gain = wrong - (all - most.cost) * OVERRIDE - given - line;
    if (gain <= 0) continue;
    values.set(object, most.value);
    spared += gain;
    leaves -= gain + line;
  }
  // Holders without an object of this level are not counted.
  return { values, spared, leaves: tallies.size === 1 ? leaves : Number.POSITIVE_INFINITY };
}
