// Records of a desired state as `?info=true` answers them, without what only a running server can add.
import type { DesiredState } from '../../src/desired/desired-state.ts';
import { nodeNames, nodeOf } from '../../src/desired/node-records.ts';
import { explainRecord } from '../../src/hiera/explain-node.ts';
import { compareNames } from '../../src/model/names.ts';
import type { ExplainedRecord } from '../../src/model/record.ts';

/** Returns the record of a node; undefined where there is none of that name. Its `last_stack_update` is `updated`. */
export function explainedRecordOf(desired: DesiredState, name: string, updated = ''): ExplainedRecord | undefined {
  const node = nodeOf(desired, name);
  return node === undefined ? undefined : explainRecord(node, { outputs: {}, updated });
}

/** Returns the records of all nodes by name, sorted. */
export function explainedRecords(
  desired: DesiredState,
  updated = '',
): Readonly<Record<string, ExplainedRecord | undefined>> {
  const names = [...nodeNames(desired)].sort(compareNames);
  return Object.fromEntries(names.map((name) => [name, explainedRecordOf(desired, name, updated)]));
}
