// Computes the records of nodes from the desired state, or, for an unwanted server, returns its last recorded one.
import { explainRecord, explainValue, plainRecord } from '../hiera/explain.ts';
import type { HieraNode } from '../hiera/node.ts';
import { buildRecord, lookup, type NodeFacts, recordOf } from '../hiera/record.ts';
import { addressOf } from '../model/address.ts';
import { fieldOf } from '../model/json.ts';
import { compareNames } from '../model/names.ts';
import type { ExplainedRecord, ExplainedValue, NodeRecord } from '../model/record.ts';
import type { NodeRow, ServerRow } from '../model/rows.ts';
import type { Baseline } from './desired-state.ts';

/** A desired state, and the rows that hold outputs and times. */
interface NodeView {
  readonly desired: Baseline;
  readonly rows: {
    server(name: string): ServerRow | undefined;
    read(kind: 'node', name: string): NodeRow | undefined;
    list(kind: 'server'): ReadonlyMap<string, ServerRow>;
  };
}

/**
 * Returns a node of the desired state: a server of a stack, or a hand-written clientcert; undefined if neither has the
 * name.
 */
export function nodeOf(desired: Baseline, name: string): HieraNode | undefined {
  const key = desired.owners.get(name) ?? addressOf('clientcert', name);
  return desired.units.get(key)?.nodes.get(name);
}

/** Yields the names of all nodes of the desired state, unordered. */
export function* nodeNames(desired: Baseline): Generator<string> {
  for (const unit of desired.units.values()) yield* unit.nodes.keys();
}

/** Returns the names of all nodes that have a record, sorted. */
export function recordedNodes({ desired, rows }: NodeView): string[] {
  const terminating = [...rows.list('server')].filter(([, row]) => row.lastRecord !== null).map(([name]) => name);
  return [...new Set([...nodeNames(desired), ...terminating])].sort(compareNames);
}

/** Returns a node's record, or undefined if there is no such node. */
export function recordOfNode({ desired, rows }: NodeView, name: string): NodeRecord | undefined {
  const node = nodeOf(desired, name);
  if (node !== undefined) return recordOf(buildRecord(node, factsOf(name, rows)));
  const lastRecord = rows.server(name)?.lastRecord;
  return lastRecord == null ? undefined : plainRecord(lastRecord);
}

/** Returns the immutable objects that a node's record is made of; undefined if there is no such node. */
export function recordSourcesOf({ desired, rows }: NodeView, name: string): readonly [unknown, unknown] | undefined {
  const node = nodeOf(desired, name);
  const row = rows.server(name) ?? rows.read('node', name);
  return node === undefined && row === undefined ? undefined : [node, row];
}

/** Returns a node's record with the source of each value, or undefined if there is no such node. */
export function explainedRecordOfNode({ desired, rows }: NodeView, name: string): ExplainedRecord | undefined {
  const node = nodeOf(desired, name);
  if (node !== undefined) return explainRecord(buildRecord(node, factsOf(name, rows)));
  return rows.server(name)?.lastRecord ?? undefined;
}

/**
 * Returns one value of a node's record with its source, without computing the rest; undefined if it has no such key.
 */
export function explainedValueOfNode(view: NodeView, name: string, key: string): ExplainedValue | undefined {
  const node = nodeOf(view.desired, name);
  if (node !== undefined) {
    const sourced = lookup(node, factsOf(name, view.rows), key);
    return sourced === undefined ? undefined : explainValue(sourced);
  }
  const lastRecord = view.rows.server(name)?.lastRecord ?? {};
  return fieldOf(lastRecord, key);
}

function factsOf(name: string, rows: NodeView['rows']): NodeFacts {
  const server = rows.server(name);
  return { outputs: server?.outputs ?? {}, updated: server?.updated ?? rows.read('node', name)?.updated ?? '' };
}
