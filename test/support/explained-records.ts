// Records of an estate as `?info=true` answers them, without what only a running server can add.
import type { Estate } from '../../src/estate/estate.ts';
import { nodeNames, nodeOf } from '../../src/estate/node-of.ts';
import { explainRecord } from '../../src/hiera/explain.ts';
import { buildRecord } from '../../src/hiera/record.ts';
import { compareNames } from '../../src/model/names.ts';
import type { ExplainedRecord } from '../../src/model/record.ts';

/** Returns the record of a node; undefined where there is none of that name. Its `last_stack_update` is `updated`. */
export function explainedRecordOf(estate: Estate, name: string, updated = ''): ExplainedRecord | undefined {
  const node = nodeOf(estate, name);
  return node === undefined ? undefined : explainRecord(buildRecord(node, { outputs: {}, updated }));
}

/** Returns the records of all nodes by name, sorted. */
export function explainedRecords(estate: Estate, updated = ''): Readonly<Record<string, ExplainedRecord | undefined>> {
  const names = [...nodeNames(estate)].sort(compareNames);
  return Object.fromEntries(names.map((name) => [name, explainedRecordOf(estate, name, updated)]));
}
