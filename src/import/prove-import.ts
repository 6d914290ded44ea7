// Compares the record of every server, computed from the written repository, with the data of the sources.
import type { Derivation } from '../derive.ts';
import { nodeOf } from '../desired/node-records.ts';
import { buildPlainRecord } from '../hiera/record.ts';
import type { RecordValue } from '../model/record.ts';
import { SELECTOR_TYPES, type SelectedNames } from './infer-selectors.ts';
import type { Inventory, SourceNode } from './inventory.ts';

/** A key whose value in the record differs from the source; null if it has no value there. */
interface DifferingKey {
  readonly node: string;
  readonly key: string;
  /** The file of the source; null if the source does not have the key. */
  readonly file: string | null;
  readonly line: number | null;
  readonly source: RecordValue | null;
  readonly record: RecordValue | null;
}

/** The result of a comparison. */
export interface Proof {
  readonly nodes: number;
  /** Servers and keys of the sources that are not imported. */
  readonly missingNodes: number;
  readonly missingKeys: number;
  /** The number of compared keys of all nodes. */
  readonly keys: number;
  /** The first of them. */
  readonly differences: readonly DifferingKey[];
  readonly differing: number;
}

const DIFFERENCES_MAX = 10_000;
/** Keys of every record that no file sets. */
const COMPUTED = ['name', 'type', 'stackInstance', 'last_stack_update'];

/**
 * Returns the differences between records and sources. Only computed keys and selectors may be in the record without
 * being in the source. If the derivation is not followed, every key differs.
 */
export function proveImport(
  inventory: Inventory,
  selections: ReadonlyMap<string, SelectedNames>,
  derivation: Derivation,
): Proof {
  const differences: DifferingKey[] = [];
  let [keys, differing] = [0, 0];
  for (const node of inventory.nodes.values()) {
    const record = recordOf(derivation, node.name);
    const expected = expectedKeys(node, selections.get(node.name) ?? new Map());
    for (const key of new Set([...node.values.keys(), ...Object.keys(record)])) {
      const source = node.values.get(key);
      const value = Object.hasOwn(record, key) ? record[key] : undefined;
      if (source === undefined && expected.has(key)) continue;
      keys += 1;
      if (source !== undefined && value !== undefined && JSON.stringify(value) === source.text) continue;
      differing += 1;
      if (differences.length >= DIFFERENCES_MAX) continue;
      const { file = null, line = null } = source ?? {};
      differences.push({ node: node.name, key, file, line, source: source?.value ?? null, record: value ?? null });
    }
  }
  return { nodes: inventory.nodes.size, ...countMissing(inventory), keys, differences, differing };
}

function countMissing({ leftOut }: Inventory): Pick<Proof, 'missingNodes' | 'missingKeys'> {
  let [missingNodes, missingKeys] = [0, 0];
  for (const { key, servers } of leftOut) {
    if (key === '') missingNodes += servers.length;
    else missingKeys += Math.max(1, servers.length);
  }
  return { missingNodes, missingKeys };
}

function recordOf(derivation: Derivation, name: string): Readonly<Record<string, RecordValue>> {
  const node = derivation.isFollowed ? nodeOf(derivation.desired, name) : undefined;
  // A node with only a clientcert file is not a server of a stack.
  if (node === undefined || node.stackInstance.length === 0) return {};
  return buildPlainRecord(node, { outputs: {}, updated: '' });
}

function expectedKeys(node: SourceNode, selection: SelectedNames): ReadonlySet<string> {
  const selected = SELECTOR_TYPES.filter((type) => selection.has(type) || type === 'configuration');
  return new Set([...COMPUTED, ...selected, ...(node.values.has('description') ? [] : ['description'])]);
}
