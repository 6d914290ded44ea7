// Returns the records of nodes: computed from the estate in force, or, for a server that no commit wants any more, as
// recorded last.
import type { Estate } from '../estate/estate.ts';
import { nodeNames, nodeOf } from '../estate/node-of.ts';
import { explainRecord, explainValue, plainRecord } from '../hiera/explain.ts';
import { buildRecord, lookUp, type NodeFacts, recordOf } from '../hiera/record.ts';
import { fieldOf } from '../model/json.ts';
import { compareNames } from '../model/names.ts';
import type { ExplainedRecord, ExplainedValue, NodeRecord } from '../model/record.ts';
import type { RecordedRows, View } from './recorded-rows.ts';

/** Returns the names of all nodes that have a record, sorted. */
export function recordedNodes({ estate, rows }: View<Estate>): string[] {
  const leaving = [...rows.list('server')].filter(([, row]) => row.farewell !== null).map(([name]) => name);
  return [...new Set([...nodeNames(estate), ...leaving])].sort(compareNames);
}

/** Returns a node's record, or undefined where there is no such node. */
export function recordOfNode({ estate, rows }: View<Estate>, name: string): NodeRecord | undefined {
  const node = nodeOf(estate, name);
  if (node !== undefined) return recordOf(buildRecord(node, factsOf(name, rows)));
  const farewell = rows.server(name)?.farewell;
  return farewell == null ? undefined : plainRecord(farewell);
}

/** Returns a node's record with the source of each value, or undefined where there is no such node. */
export function explainedRecordOfNode({ estate, rows }: View<Estate>, name: string): ExplainedRecord | undefined {
  const node = nodeOf(estate, name);
  if (node !== undefined) return explainRecord(buildRecord(node, factsOf(name, rows)));
  return rows.server(name)?.farewell ?? undefined;
}

/** Returns one value of a node's record with its source, without building the rest; undefined where it has no such key. */
export function explainedValueOfNode(view: View<Estate>, name: string, key: string): ExplainedValue | undefined {
  const node = nodeOf(view.estate, name);
  if (node !== undefined) {
    const sourced = lookUp(node, factsOf(name, view.rows), key);
    return sourced === undefined ? undefined : explainValue(sourced);
  }
  const farewell = view.rows.server(name)?.farewell ?? {};
  return fieldOf(farewell, key);
}

function factsOf(name: string, rows: RecordedRows): NodeFacts {
  const server = rows.server(name);
  return { outputs: server?.outputs ?? {}, updated: server?.updated ?? rows.read('node', name)?.updated ?? '' };
}
