// Returns the records of nodes: computed from the desired state in force, or, for a server that no commit wants any more, as
// recorded last.
import type { DesiredState } from '../desired/desired-state.ts';
import { nodeNames, nodeOf } from '../desired/node-of.ts';
import { explainRecord, explainValue, plainRecord } from '../hiera/explain.ts';
import { buildRecord, lookUp, type NodeFacts, recordOf } from '../hiera/record.ts';
import { fieldOf } from '../model/json.ts';
import { compareNames } from '../model/names.ts';
import type { ExplainedRecord, ExplainedValue, NodeRecord } from '../model/record.ts';
import type { RecordedRows, View } from './recorded-rows.ts';

/** Returns the names of all nodes that have a record, sorted. */
export function recordedNodes({ desired, rows }: View<DesiredState>): string[] {
  const terminating = [...rows.list('server')].filter(([, row]) => row.lastRecord !== null).map(([name]) => name);
  return [...new Set([...nodeNames(desired), ...terminating])].sort(compareNames);
}

/** Returns a node's record, or undefined where there is no such node. */
export function recordOfNode({ desired, rows }: View<DesiredState>, name: string): NodeRecord | undefined {
  const node = nodeOf(desired, name);
  if (node !== undefined) return recordOf(buildRecord(node, factsOf(name, rows)));
  const lastRecord = rows.server(name)?.lastRecord;
  return lastRecord == null ? undefined : plainRecord(lastRecord);
}

/** Returns a node's record with the source of each value, or undefined where there is no such node. */
export function explainedRecordOfNode(
  { desired, rows }: View<DesiredState>,
  name: string,
): ExplainedRecord | undefined {
  const node = nodeOf(desired, name);
  if (node !== undefined) return explainRecord(buildRecord(node, factsOf(name, rows)));
  return rows.server(name)?.lastRecord ?? undefined;
}

/** Returns one value of a node's record with its source, without building the rest; undefined where it has no such key. */
export function explainedValueOfNode(view: View<DesiredState>, name: string, key: string): ExplainedValue | undefined {
  const node = nodeOf(view.desired, name);
  if (node !== undefined) {
    const sourced = lookUp(node, factsOf(name, view.rows), key);
    return sourced === undefined ? undefined : explainValue(sourced);
  }
  const lastRecord = view.rows.server(name)?.lastRecord ?? {};
  return fieldOf(lastRecord, key);
}

function factsOf(name: string, rows: RecordedRows): NodeFacts {
  const server = rows.server(name);
  return { outputs: server?.outputs ?? {}, updated: server?.updated ?? rows.read('node', name)?.updated ?? '' };
}
