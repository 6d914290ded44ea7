// Computes the positions of the groups of an instance: each is to the right of its dependencies. Does not use the document.
import { byName } from './words.js';

/** @typedef {{ readonly name: string, readonly group: string, readonly state: string, readonly dependsOn?: readonly string[] }} Node */
/** @typedef {{ readonly key: string, readonly servers: readonly Node[], readonly isForeign: boolean }} Group */
/** @typedef {Group & { readonly x: number, readonly y: number, readonly height: number }} Box */

/** In pixels; `inRow`: the number of squares in a row. */
export const SIZES = { width: 178, gapX: 52, gapY: 16, title: 26, square: 24, inRow: 7 };
const GROUPS_MAX = 60;

/** Returns the boxes and lines of servers; none if there are no dependencies. @param {readonly Node[]} servers */
export function layoutOf(servers) {
  const groupOf = new Map(servers.map(({ name, group }) => [name, group]));
  /** @type {Map<string, Set<string>>} */
  const needs = new Map();
  for (const { group, dependsOn = [] } of servers) {
    const own = needs.get(group) ?? new Set();
    for (const name of dependsOn) if (groupOf.get(name) !== group) own.add(groupOf.get(name) ?? name);
    needs.set(group, own);
  }
  for (const own of [...needs.values()]) for (const key of own) if (!needs.has(key)) needs.set(key, new Set());
  const levels = levelsOf(needs);
  const byGroup = Map.groupBy(servers, ({ group }) => group);
  const groups = [...needs.keys()].sort(byName).slice(0, GROUPS_MAX);
  const columns = Map.groupBy(groups, (key) => levels.get(key) ?? 0);
  const boxes = new Map(
    [...columns].flatMap(([level, keys]) => {
      let y = 0;
      return keys.map((key) => {
        const own = byGroup.get(key) ?? [];
        const height = SIZES.title + Math.max(1, Math.ceil(own.length / SIZES.inRow)) * SIZES.square + 8;
        const box = {
          key,
          servers: own.toSorted((a, b) => byName(a.name, b.name)),
          isForeign: own.length === 0,
          x: level * (SIZES.width + SIZES.gapX),
          y,
          height,
        };
        y += height + SIZES.gapY;
        return /** @type {const} */ ([key, box]);
      });
    }),
  );
  const lines = [...boxes.values()].flatMap((to) =>
    [...(needs.get(to.key) ?? [])].flatMap((key) => boxes.get(key) ?? []).map((from) => ({ from, to })),
  );
  return { boxes: [...boxes.values()], lines };
}

/** Returns the level of each group: the number of groups before it. Groups of a cycle get an arbitrary level. @param {ReadonlyMap<string, ReadonlySet<string>>} needs */
function levelsOf(needs) {
  const levels = new Map([...needs.keys()].map((key) => [key, 0]));
  for (let round = 0; round < Math.min(needs.size, GROUPS_MAX); round += 1) {
    for (const [key, own] of needs)
      for (const before of own)
        levels.set(key, Math.min(needs.size, Math.max(levels.get(key) ?? 0, (levels.get(before) ?? 0) + 1)));
  }
  return levels;
}
