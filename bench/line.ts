// The benchmark `line`: whether the cost of a desired state grows linearly with its size. docs/benchmarks.md explains
// the results.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { PostgresServer } from '../test/support/postgres-server.ts';
import type { BenchContext, BenchPart, PartReport } from './bench-row.ts';
import { createStore, measureStandbyReads, type StandbyReads, startDatabase } from './line-on-postgres.ts';
import { failuresOf, lineRows, type Measured, standbyRows } from './line-rows.ts';
import { measureLine } from './line-run.ts';
import { hasTerraform, measureTerraform, type TerraformRuns } from './terraform.ts';

/** The largest size for terraform, which takes longer than an hour for more. */
const TERRAFORM_SERVERS_MAX = 5_000;
/** The size for reads of a standby while the leader creates all servers. */
const STANDBY_SERVERS = 10_000;

/** The part `line` of the table. It fails if a restart without a change acts on a server. */
export const LINE: BenchPart = {
  name: 'line',
  summary: 'start, restart and one change of installations of several sizes, beside terraform',
  run: benchLine,
};

async function benchLine(context: BenchContext): Promise<PartReport> {
  const isThere = hasTerraform();
  const database = context.isQuick ? undefined : await startDatabase();
  const measured: Measured[] = [];
  let standby: StandbyReads | undefined;
  try {
    for (const servers of context.isQuick ? [1_000] : [1_000, 5_000, 10_000, 100_000]) {
      const runs = await measureRuns(context, servers, database);
      const isCompared = isThere && servers <= TERRAFORM_SERVERS_MAX;
      measured.push({ servers, ...runs, terraform: isCompared ? await beside(context, servers) : undefined });
      if (servers === STANDBY_SERVERS && database !== undefined)
        standby = await measureStandbyReads(join(context.folder, 'standby'), servers, await createStore(database));
    }
  } finally {
    await database?.remove();
  }
  const rows = [...lineRows(measured), ...(standby === undefined ? [] : standbyRows(standby))];
  return { rows, failures: measured.flatMap(failuresOf) };
}

async function measureRuns(
  { folder, say }: BenchContext,
  servers: number,
  database: PostgresServer | undefined,
): Promise<Pick<Measured, 'run' | 'onPostgres'>> {
  const at = join(folder, `${servers}`);
  const sayOf = (store: string) => (text: string) => say(`${servers} servers, ${store}: ${text}`);
  const run = await measureLine(at, { servers }, sayOf('embedded store'));
  rmSync(at, { recursive: true });
  if (database === undefined) return { run, onPostgres: undefined };
  const onPostgres = await measureLine(at, { servers, store: await createStore(database) }, sayOf('PostgreSQL'));
  rmSync(at, { recursive: true });
  return { run, onPostgres };
}

async function beside({ folder, say }: BenchContext, resources: number): Promise<TerraformRuns> {
  say(`terraform, ${resources} resources: apply, then plan`);
  return await measureTerraform(join(folder, `terraform-${resources}`), resources);
}
