// Computes the records of nodes from the desired state, or, for an unwanted server, returns its last recorded one.

import { didYouMean } from '../base/wording.ts';
import { explainLastRecord, explainNode, explainRecord, explainValue } from '../hiera/explain-node.ts';
import type { HieraNode } from '../hiera/node.ts';
import { buildPlainRecord, type NodeFacts, plainRecord } from '../hiera/record.ts';
import { addressOf } from '../model/address.ts';
import type { FilelessExplanation } from '../model/explanation.ts';
import { fieldOf, isMap } from '../model/json.ts';
import { compareNames } from '../model/names.ts';
import { NO_OUTPUTS } from '../model/outputs.ts';
import type { ExplainedRecord, NodeAtMoment } from '../model/record.ts';
import type { NodeRow, ServerRow } from '../model/rows.ts';
import type { Baseline, DesiredState } from './desired-state.ts';
import { type Unit, unitAddress } from './unit.ts';

/** A desired state, and the rows with outputs and times. */
interface NodeView<Desired = Baseline> {
  readonly desired: Desired;
  readonly rows: {
    server(name: string): ServerRow | undefined;
    read(kind: 'node', name: string): NodeRow | undefined;
    list(kind: 'server'): ReadonlyMap<string, ServerRow>;
  };
}

/** Returns a node of the desired state, a server of a stack or a hand-written clientcert, or undefined. */
export function nodeOf(desired: Baseline, name: string): HieraNode | undefined {
  return unitOfNode(desired, name)?.nodes.get(name);
}

/** Returns the unit of a server or of a hand-written clientcert, or undefined. */
export function unitOfNode({ owners, units }: Baseline, name: string): Unit | undefined {
  return units.get(owners.get(name) ?? addressOf('clientcert', name));
}

/** Yields the names of all nodes of the desired state, unordered. */
export function* nodeNames(desired: Baseline): Generator<string> {
  for (const unit of desired.units.values()) yield* unit.nodes.keys();
}

/** Returns the message for an unknown node. */
export function noSuchNode(name: string, nodes: Iterable<string>): string {
  const advice =
    didYouMean(name, nodes) ?? 'no valid instance makes it, and no clientcert has that name: see "treeline validate"';
  return `there is no node "${name}"; ${advice}`;
}

/** Yields the names of all nodes that have a record, in any order. */
export function* recordedNodes({ desired, rows }: NodeView): Generator<string> {
  yield* nodeNames(desired);
  for (const [name, row] of rows.list('server')) if (row.lastRecord !== null && !nodeOf(desired, name)) yield name;
}

/** Returns all nodes that `isMeant` accepts and that have a record, sorted by name. Each keeps its row as it is now. */
export function nodesAtMoment(
  view: NodeView,
  isMeant: (name: string) => boolean = () => true,
): readonly NodeAtMoment[] {
  const names = [...recordedNodes(view)].filter(isMeant).sort(compareNames);
  return names.flatMap((name) => nodeAtMoment(view, name) ?? []);
}

/** Returns a node, or undefined if there is no such node or its record is not known. */
export function nodeAtMoment({ desired, rows }: NodeView, name: string): NodeAtMoment | undefined {
  const server = rows.server(name);
  const node = nodeOf(desired, name);
  const group = server?.key ?? null;
  if (node !== undefined) return { group, ...presentNode(node, server ?? rows.read('node', name)) };
  return server?.lastRecord == null ? undefined : { group, ...unwantedNode(name, server.lastRecord) };
}

function presentNode(node: HieraNode, row: ServerRow | NodeRow | undefined): Omit<NodeAtMoment, 'group'> {
  const facts = (): NodeFacts => factsOf(row);
  return {
    name: node.name,
    record: () => buildPlainRecord(node, facts()),
    explained: () => explainRecord(node, facts()),
    value: (key) => explainValue(node, facts(), key),
  };
}

/** An unwanted server keeps its last record. */
function unwantedNode(name: string, lastRecord: ExplainedRecord): Omit<NodeAtMoment, 'group'> {
  return {
    name,
    record: () => plainRecord(lastRecord),
    explained: () => lastRecord,
    value: (key) => fieldOf(lastRecord, key),
  };
}

/**
 * Returns all layers of a node with the statements about every key, or about one key; undefined if there is no such
 * node.
 */
export function explanationOfNode(
  { desired, rows }: Pick<NodeView<DesiredState>, 'desired'> & { readonly rows: Omit<NodeView['rows'], 'list'> },
  name: string,
  key?: string,
): FilelessExplanation | undefined {
  const row = rows.server(name);
  const unit = unitOfNode(desired, name);
  const node = unit?.nodes.get(name);
  if (unit !== undefined && node !== undefined) {
    const facts = factsOf(row ?? rows.read('node', name));
    return explainNode(node, { ...facts, root: rootOf(unit), commit: commitOf(unit, desired), key });
  }
  return row?.lastRecord == null ? undefined : explainLastRecord(name, row.instance, { record: row.lastRecord, key });
}

/** Returns the newest commit that has the current version of all files of a unit; null for a directory. */
function commitOf(unit: Unit, { candidates, commit }: DesiredState): string | null {
  const newest = candidates.get(unitAddress(unit)) === unit ? commit : unit.commit;
  return newest === '' ? null : newest;
}

/** Returns the name of the tree's root, which every unit reads. */
function rootOf({ inputs }: Unit): string {
  const tree = inputs.get('tree')?.object;
  return isMap(tree) ? String(tree.name) : '';
}

/** Returns the facts for a record from the row of a node. */
export function factsOf(row: ServerRow | NodeRow | undefined): NodeFacts {
  const updated = row?.updated ?? '';
  if (row === undefined || !('outputs' in row)) return { outputs: NO_OUTPUTS, updated };
  const { outputs, wanted } = row;
  return { outputs, updated, ...(wanted?.reads === undefined ? {} : { properties: wanted.properties }) };
}
