// Computes the record of every server of a newly derived installation: `records-run.ts SERVERS ROUNDS`. Prints one
// line of JSON; see RecordsResult.
import { createHash } from 'node:crypto';
import { nodeOf } from '../src/desired/node-records.ts';
import type { HieraNode } from '../src/hiera/node.ts';
import { buildPlainRecord } from '../src/hiera/record.ts';
import { TextRepository } from '../test/support/text-repository.ts';
import { KEYS, recordsFiles, serversOf } from './records-files.ts';

/** Each round begins with only files. The first round warms up the compiler. */
export interface RecordsResult {
  readonly cpuSeconds: readonly number[];
  /** The digest of the values of all servers, for the comparison. */
  readonly digest: string;
}

const FACTS = { outputs: {}, updated: '2026-11-22T00:00:00Z' };

function cpuSecondsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

const [servers = Number.NaN, rounds = Number.NaN] = process.argv.slice(2).map(Number);
const names = serversOf(servers).flat();
const results: number[] = [];
let records: Readonly<Record<string, unknown>>[] = [];
for (let round = 0; round <= rounds; round += 1) {
  const desired = new TextRepository().commit(recordsFiles(servers));
  const nodes: HieraNode[] = names.flatMap((name) => nodeOf(desired, name) ?? []);
  records = [];
  const computed = cpuSecondsOf(() => {
    records = nodes.map((node) => buildPlainRecord(node, FACTS));
  });
  if (round > 0) results.push(computed);
}
const digest = createHash('sha256');
for (const record of records) digest.update(JSON.stringify(KEYS.map((key) => record[key])));
const result: RecordsResult = { cpuSeconds: results, digest: digest.digest('hex') };
process.stdout.write(`${JSON.stringify(result)}\n`);
