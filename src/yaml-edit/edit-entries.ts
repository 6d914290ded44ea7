// Compares a value in a file with the wanted value, and changes the smallest parts that differ.
import { fieldOf, isMap, isSame, type Json, type JsonMap } from '../model/json.ts';
import { alignLists } from './align-lists.ts';
import { changeBlock, emptyBlock } from './edit-block.ts';
import { changeFlow, emptyFlow } from './edit-flow.ts';
import { replaceValue } from './replace-value.ts';
import { type NewEntry, refuse, type Site, type TextEdit } from './text-edit.ts';
import type { CollectionNode, LayoutNode } from './yaml-layout.ts';

/** An entry that stays, with its value before and after. */
interface KeptEntry {
  readonly index: number;
  readonly old: Json;
  readonly wanted: Json;
}

/** Notes how the value at `site`, which is `old`, becomes `wanted`. */
export function changeValue(edit: TextEdit, site: Site, { old, wanted }: Omit<KeptEntry, 'index'>): void {
  if (isSame(old, wanted)) return;
  const { node } = site.entry;
  if (node !== null && !isReadAlike(node, old))
    refuse(edit, node.start, 'it is not clear how the keys here are to be read');
  if (node?.kind === 'map' && node.entries.length > 0 && isMap(old) && isMap(wanted)) {
    changeMap(edit, site, { node, old, wanted });
  } else if (node?.kind === 'list' && node.entries.length > 0 && Array.isArray(old) && Array.isArray(wanted)) {
    changeList(edit, site, { node, old, wanted });
  } else replaceValue(edit, site, wanted);
}

/** Tells that the places found in the text are those of the value that was read from it: these are two parsers. */
function isReadAlike(node: LayoutNode, value: Json): boolean {
  if (node.kind === 'scalar') return typeof value !== 'object' || value === null;
  if (node.kind === 'list') return Array.isArray(value) && value.length === node.entries.length;
  const keys = new Set(node.entries.map(({ key }) => key));
  return isMap(value) && keys.size === node.entries.length && isSame([...keys].sort(), Object.keys(value).sort());
}

interface ValueChange<Value> {
  readonly node: CollectionNode;
  readonly old: Value;
  readonly wanted: Value;
}

function changeMap(edit: TextEdit, site: Site, { node, old, wanted }: ValueChange<JsonMap>): void {
  const kept = node.entries.flatMap(({ key }, index): KeptEntry[] => {
    const [before, after] = [fieldOf(old, key), fieldOf(wanted, key)];
    return before === undefined || after === undefined ? [] : [{ index, old: before, wanted: after }];
  });
  const last = kept.at(-1)?.index ?? -1;
  const added = Object.entries(wanted)
    .filter(([key]) => !Object.hasOwn(old, key))
    .map(([key, value]) => ({ after: last, key, value }));
  changeEntries(edit, site, { node, wanted, kept, added });
}

function changeList(edit: TextEdit, site: Site, { node, old, wanted }: ValueChange<readonly Json[]>): void {
  const aligned = alignLists(old, wanted);
  const kept: KeptEntry[] = [];
  const added: NewEntry[] = [];
  for (const [position, value] of wanted.entries()) {
    const index = aligned[position] ?? -1;
    const before = old[index];
    if (before === undefined) added.push({ after: kept.at(-1)?.index ?? -1, key: null, value });
    else kept.push({ index, old: before, wanted: value });
  }
  changeEntries(edit, site, { node, wanted, kept, added });
}

interface Changes {
  readonly node: CollectionNode;
  readonly wanted: Json;
  readonly kept: readonly KeptEntry[];
  readonly added: readonly NewEntry[];
}

function changeEntries(edit: TextEdit, site: Site, { node, wanted, kept, added }: Changes): void {
  const { slot } = site.entry;
  if (kept.length === 0 && added.length > 0) replaceValue(edit, site, wanted);
  else if (kept.length === 0 && node.isFlow) emptyFlow(edit, node);
  else if (kept.length === 0) emptyBlock(edit, { node, slot });
  else {
    const removed = new Set(node.entries.keys());
    for (const { index, old, wanted: value } of kept) {
      removed.delete(index);
      const entry = node.entries[index];
      if (entry !== undefined) changeValue(edit, { parent: node, entry }, { old, wanted: value });
    }
    if (removed.size === 0 && added.length === 0) return;
    if (node.isFlow) changeFlow(edit, node, { removed, added });
    else changeBlock(edit, { node, slot }, { removed, added });
  }
}
