// Computes the records of nodes from the desired state, or, for an unwanted server, returns its last recorded one.
import { explainRecord, explainValue, plainRecord } from '../hiera/explain.ts';
import type { HieraNode } from '../hiera/node.ts';
import { buildRecord, lookup, type NodeFacts, recordOf } from '../hiera/record.ts';
import { addressOf } from '../model/address.ts';
import { fieldOf } from '../model/json.ts';
import { compareNames } from '../model/names.ts';
import type { ExplainedRecord, NodeAtMoment } from '../model/record.ts';
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
export function recordedNodes({ desired, rows }: NodeView): readonly string[] {
  const present = sortedNames(desired);
  const terminating = [...rows.list('server')].filter(
    ([name, row]) => row.lastRecord !== null && !nodeOf(desired, name),
  );
  if (terminating.length === 0) return present;
  return [...present, ...terminating.map(([name]) => name)].sort(compareNames);
}

/** Sorted once a desired state: to sort ten thousand names takes longer than to find that no record changed. */
const sorted = new WeakMap<Baseline, readonly string[]>();

function sortedNames(desired: Baseline): readonly string[] {
  const known = sorted.get(desired);
  if (known !== undefined) return known;
  const names = [...nodeNames(desired)].sort(compareNames);
  sorted.set(desired, names);
  return names;
}

/** Returns a node, or undefined if there is none of that name, or its record is not known. */
export function nodeAtMoment({ desired, rows }: NodeView, name: string): NodeAtMoment | undefined {
  const server = rows.server(name);
  const node = nodeOf(desired, name);
  if (node !== undefined) return presentNode(node, server ?? rows.read('node', name));
  return server?.lastRecord == null ? undefined : unwantedNode(name, server, server.lastRecord);
}

function presentNode(node: HieraNode, row: ServerRow | NodeRow | undefined): NodeAtMoment {
  const facts = (): NodeFacts => ({
    outputs: row !== undefined && 'outputs' in row ? row.outputs : {},
    updated: row?.updated ?? '',
  });
  return {
    name: node.name,
    sources: [node, row],
    record: () => recordOf(node, facts()),
    explained: () => explainRecord(buildRecord(node, facts())),
    value(key) {
      const sourced = lookup(node, facts(), key);
      return sourced === undefined ? undefined : explainValue(sourced);
    },
  };
}

/** A server that no commit wants any more keeps the record that it had. */
function unwantedNode(name: string, row: ServerRow, lastRecord: ExplainedRecord): NodeAtMoment {
  return {
    name,
    sources: [undefined, row],
    record: () => plainRecord(lastRecord),
    explained: () => lastRecord,
    value: (key) => fieldOf(lastRecord, key),
  };
}
