// The benchmark `line`: whether what a desired state costs grows in line with its size. docs/benchmarks.md says how to read it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Measured, type ReportFacts, reportOf } from './line-report.ts';
import { type LineRun, measureLine } from './line-run.ts';
import { machineOf, say, wholeNumber } from './machine.ts';
import { measureTerraform, type TerraformRuns, terraformVersion } from './terraform.ts';

const SERVERS_MAX = 100_000;
const REPEATS_MAX = 20;

interface Options {
  readonly sizes: readonly number[];
  readonly repeats: number;
  readonly isTerraformWanted: boolean;
}

/**
 * Prints a report in Markdown, with progress on standard error. Returns whether what must hold did: a restart acts on
 * nothing, and memory stays within its limit. Time is for the reader to judge, who knows how busy the machine is.
 */
export async function benchLine(args: readonly string[]): Promise<boolean> {
  if (process.platform !== 'linux')
    throw new Error('what a process costs is read from /proc, so this runs on Linux only');
  const { sizes, repeats, isTerraformWanted } = optionsOf(args);
  const terraform = terraformOf(isTerraformWanted);
  const folder = mkdtempSync(join(tmpdir(), 'treeline-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  const measured: Measured[] = [];
  for (const servers of sizes) {
    const runs = await repeated(folder, servers, repeats);
    measured.push({ servers, runs, terraform: 'version' in terraform ? await beside(folder, servers) : undefined });
  }
  const { text, failures } = reportOf(measured, { machine: machineOf(), terraform });
  process.stdout.write(`${text}\n`);
  return failures.length === 0;
}

async function repeated(folder: string, servers: number, repeats: number): Promise<readonly LineRun[]> {
  const runs: LineRun[] = [];
  for (let repeat = 1; repeat <= repeats; repeat++) {
    const at = join(folder, `${servers}-${repeat}`);
    runs.push(
      await measureLine(at, servers, (text) => say(`${servers} servers, run ${repeat} of ${repeats}: ${text}`)),
    );
    rmSync(at, { recursive: true });
  }
  return runs;
}

async function beside(folder: string, resources: number): Promise<TerraformRuns> {
  say(`terraform, ${resources} resources: apply, then plan`);
  const runs = await measureTerraform(join(folder, `terraform-${resources}`), resources);
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

function optionsOf(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      servers: { type: 'string', default: '1000,5000,10000' },
      repeat: { type: 'string', default: '1' },
      'no-terraform': { type: 'boolean', default: false },
    },
  });
  return {
    sizes: values.servers.split(',').map((text) => wholeNumber(text, { option: '--servers', max: SERVERS_MAX })),
    repeats: wholeNumber(values.repeat, { option: '--repeat', max: REPEATS_MAX }),
    isTerraformWanted: !values['no-terraform'],
  };
}
