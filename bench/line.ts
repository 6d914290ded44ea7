// The benchmark `line`: whether what a desired state costs grows in line with its size. docs/benchmarks.md says how to read it.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type BenchContext, definePart, type PartReport } from './bench-part.ts';
import { type LineOnPostgres, type StandbyReads, startLineOnPostgres } from './line-on-postgres.ts';
import { type Measured, type ReportFacts, reportOf } from './line-report.ts';
import { lineRows, standbyRows } from './line-rows.ts';
import { type LineRun, measureLine } from './line-run.ts';
import { measureTerraform, type TerraformRuns, terraformVersion } from './terraform.ts';

const SERVERS_MAX = 100_000;
const REPEATS_MAX = 20;
const SECONDS_MAX = 3_600;
/** The size at which a standby is read while the leader makes all servers. */
const STANDBY_SERVERS = 10_000;

interface LineOptions {
  readonly servers: readonly number[];
  readonly repeat: number;
  readonly terraform: readonly number[];
  readonly 'terraform-seconds': number;
  readonly store: readonly string[];
  readonly 'no-terraform': boolean;
}

/** Returns the part `line` of the table. It fails where a restart without a change acts on a server. */
export const LINE = definePart({
  name: 'line',
  summary: 'start, restart and one change of installations of several sizes, beside terraform',
  options: {
    servers: {
      ...{ kind: 'numbers', default: [1_000, 5_000, 10_000, 100_000], quick: [1_000], max: SERVERS_MAX },
      help: 'sizes, in servers',
    },
    repeat: { kind: 'number', default: 1, max: REPEATS_MAX, help: 'runs of each size' },
    terraform: {
      ...{ kind: 'numbers', default: [1_000, 5_000, 10_000], quick: [1_000], max: SERVERS_MAX },
      help: 'those sizes at which terraform runs too',
    },
    'terraform-seconds': {
      kind: 'number',
      default: 1_500,
      max: SECONDS_MAX,
      help: 'the seconds that one command of it may take',
    },
    store: {
      ...{ kind: 'names', of: ['embedded', 'postgres'], quick: ['embedded'] },
      help: 'where the state is kept; PostgreSQL is measured beside the embedded store',
    },
    'no-terraform': { kind: 'flag', help: 'leaves terraform out, which takes by far the longest' },
  },
  run: benchLine,
});

async function benchLine(options: LineOptions, context: BenchContext): Promise<PartReport> {
  const limitSeconds = options['terraform-seconds'];
  const terraform = terraformOf(!options['no-terraform']);
  const database = options.store.includes('postgres') ? await startLineOnPostgres() : undefined;
  const measured: Measured[] = [];
  let standby: StandbyReads | undefined;
  try {
    for (const servers of options.servers) {
      const { runs, onPostgres } = await measureRuns(context, { servers, repeats: options.repeat, database });
      const isCompared = 'version' in terraform && options.terraform.includes(servers);
      const compared = isCompared ? await beside(context, servers, limitSeconds) : undefined;
      measured.push({ servers, runs, onPostgres, terraform: compared });
      if (servers === STANDBY_SERVERS)
        standby = await database?.measureStandbyReads(join(context.folder, 'standby'), servers);
    }
  } finally {
    await database?.stop();
  }
  const facts = { terraform, limitSeconds, postgres: database?.version };
  const rows = [...lineRows(measured, facts), ...(standby === undefined ? [] : standbyRows(standby))];
  return { rows, ...reportOf(measured, facts) };
}

interface RunOptions {
  readonly servers: number;
  readonly repeats: number;
  readonly database: LineOnPostgres | undefined;
}

async function measureRuns(
  { folder, say }: BenchContext,
  { servers, repeats, database }: RunOptions,
): Promise<Pick<Measured, 'runs' | 'onPostgres'>> {
  const runs: LineRun[] = [];
  const onPostgres: LineRun[] = [];
  for (let repeat = 1; repeat <= repeats; repeat++) {
    const at = join(folder, `${servers}-${repeat}`);
    const sayOf = (store: string) => (text: string) =>
      say(`${servers} servers, ${store}, run ${repeat} of ${repeats}: ${text}`);
    runs.push(await measureLine(at, { servers }, sayOf('embedded store')));
    rmSync(at, { recursive: true });
    if (database === undefined) continue;
    onPostgres.push(await database.measureLine(at, servers, sayOf('PostgreSQL')));
    rmSync(at, { recursive: true });
  }
  return { runs, onPostgres };
}

async function beside({ folder, say }: BenchContext, resources: number, limitSeconds: number): Promise<TerraformRuns> {
  say(`terraform, ${resources} resources: apply, then plan`);
  const runs = await measureTerraform(join(folder, `terraform-${resources}`), resources, limitSeconds);
  const [apply, plan] = [runs.apply, runs.plan].map((run) => run?.seconds);
  if (apply === undefined || plan === undefined) say(`terraform, ${resources} resources: ended, it took too long`);
  else say(`terraform, ${resources} resources: apply ${apply.toFixed(1)} s, plan ${plan.toFixed(1)} s`);
  return runs;
}

function terraformOf(isWanted: boolean): ReportFacts['terraform'] {
  if (!isWanted) return { absence: '--no-terraform' };
  const version = terraformVersion();
  return version === undefined ? { absence: 'there is no terraform on this machine' } : { version };
}
