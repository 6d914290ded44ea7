// Builds the last records of servers that no commit wants any more; rows keep them until the servers are gone. A record may
// be as large as the files that it is merged from, so those of one commit have a common limit.
import type { Baseline } from '../desired/desired-state.ts';
import { nodeOf } from '../desired/node-records.ts';
import { buildRecord, explainRecord } from '../hiera/record.ts';
import type { ExplainedRecord } from '../model/record.ts';
import type { ServerRow } from '../model/rows.ts';

/** Characters of JSON. */
const FAREWELLS_LENGTH_MAX = 64 * 1024 * 1024;

/**
 * Returns a function that gives the record of a server as the desired state `before` had it, or null where it is not known. Once
 * `lengthMax` characters are given, it leaves out what the layers of a record hold, and gives the computed keys only.
 */
export function lastRecordsOf(
  before: Baseline | undefined,
  lengthMax = FAREWELLS_LENGTH_MAX,
): (name: string, row: ServerRow) => ExplainedRecord | null {
  let left = lengthMax;
  return (name, { outputs, updated }) => {
    const node = before === undefined ? undefined : nodeOf(before, name);
    if (node === undefined) return null;
    const computed = explainRecord(buildRecord({ ...node, shared: [], own: [] }, { outputs: {}, updated }));
    if (left <= 0) return computed;
    const whole = explainRecord(buildRecord(node, { outputs, updated }));
    left -= JSON.stringify(whole).length;
    return left < 0 ? computed : whole;
  };
}
