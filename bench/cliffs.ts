// The benchmark `cliffs`: whether the work grows in line with the servers concerned, where it once did not.
// docs/benchmarks.md says how to read it.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CLIFF_CASES, type CliffCase } from './cliff-cases.ts';
import { type Cost, cliffReport, type MeasuredCase } from './cliff-report.ts';
import { machineOf, say, wholeNumber } from './machine.ts';
import { OwnedProcess } from './owned-process.ts';

const RUN = join(import.meta.dirname, 'cliff-run.ts');
const LIMIT_SECONDS_MAX = 3_600;
const DIVIDE_MAX = 1_000;

interface Options {
  readonly cases: readonly (readonly [name: string, measured: CliffCase])[];
  readonly limitSeconds: number;
  readonly isJson: boolean;
}

/** Prints a report, with progress on standard error. Returns whether every step grew in line with its size. */
export async function benchCliffs(args: readonly string[]): Promise<boolean> {
  const { cases, limitSeconds, isJson } = optionsOf(args);
  const folder = mkdtempSync(join(tmpdir(), 'treeline-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  const measured: MeasuredCase[] = [];
  for (const [name, each] of cases) measured.push(await measureCase([name, each], { folder, limitSeconds }));
  const { text, isLinear } = cliffReport(measured, { machine: machineOf(), limitSeconds });
  process.stdout.write(isJson ? `${JSON.stringify({ isLinear, cases: measured }, null, 2)}\n` : `${text}\n`);
  return isLinear;
}

interface Running {
  readonly folder: string;
  readonly limitSeconds: number;
}

async function measureCase([name, found]: readonly [string, CliffCase], running: Running): Promise<MeasuredCase> {
  const runs = [
    await runCase([name, found.sizes[0]], running),
    await runCase([name, found.sizes[1]], running),
  ] as const;
  const steps = [...new Set(runs.flatMap(({ costs }) => [...costs.keys()]))].map((step) => {
    return { step, costs: [runs[0].costs.get(step), runs[1].costs.get(step)] as const };
  });
  const { title, unit, sizes } = found;
  return { name, title, unit, sizes, steps, failures: runs.flatMap(({ failures }) => failures) };
}

interface Run {
  /** By step, in their order; undefined: it did not get through. */
  readonly costs: ReadonlyMap<string, Cost | undefined>;
  readonly failures: readonly string[];
}

async function runCase(
  [name, size]: readonly [name: string, size: number],
  { folder, limitSeconds }: Running,
): Promise<Run> {
  const output = join(folder, `${name}-${size}.jsonl`);
  const child = new OwnedProcess({ file: process.execPath, args: [RUN, name, `${size}`], cwd: folder, output });
  const code = await child.exit(limitSeconds * 1000);
  const lines = readFileSync(output, 'utf8').trim().split('\n');
  const costs = costsOf(lines);
  const peakMib = Math.round(child.usage().peakBytes / 2 ** 20);
  const seconds = [...costs].map(([step, cost]) => `${step} ${cost?.seconds.toFixed(2) ?? `over ${limitSeconds}`} s`);
  say(`${name}, ${size}: ${seconds.join(', ') || 'not begun'}; ${peakMib} MiB`);
  if (code === 0) return { costs, failures: [] };
  if (code !== undefined) return { costs, failures: [`at ${size} it failed: ${lines.slice(-8).join(' ')}`] };
  return { costs, failures: costs.size > 0 ? [] : [`at ${size} it was not built within ${limitSeconds} s`] };
}

/** A step is named when it begins, and told with its cost when it ends. */
function costsOf(lines: readonly string[]): ReadonlyMap<string, Cost | undefined> {
  const costs = new Map<string, Cost | undefined>();
  for (const line of lines.filter((each) => each.startsWith('{"step"'))) {
    const { step, ...cost } = JSON.parse(line) as { step: string } & Partial<Cost>;
    costs.set(step, cost.seconds === undefined ? undefined : (cost as Cost));
  }
  return costs;
}

function optionsOf(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      limit: { type: 'string', default: '120' },
      divide: { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
    },
  });
  const divide = wholeNumber(values.divide, { option: '--divide', max: DIVIDE_MAX });
  const names = values.only?.split(',') ?? Object.keys(CLIFF_CASES);
  return {
    cases: names.map((name) => [name, caseNamed(name, divide)]),
    limitSeconds: wholeNumber(values.limit, { option: '--limit', max: LIMIT_SECONDS_MAX }),
    isJson: values.json,
  };
}

function caseNamed(name: string, divide: number): CliffCase {
  const found = CLIFF_CASES[name];
  if (found === undefined) {
    throw new Error(`--only: there is no case "${name}"; say some of: ${Object.keys(CLIFF_CASES).join(', ')}`);
  }
  const first = Math.round(found.sizes[0] / divide);
  return { ...found, sizes: [first, 2 * first] };
}
