// The benchmark `cliffs`: whether the work grows in line with the servers concerned, where it once did not.
// docs/benchmarks.md says how to read it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BenchContext, definePart, type PartReport } from './bench-part.ts';
import { absentRow, rowOf } from './bench-row.ts';
import { CLIFF_CASES } from './cliff-cases.ts';
import type { CliffCase } from './cliff-parts.ts';
import { type Cost, cliffReport, GROWTH_MAX, type MeasuredCase, worstGrowth } from './cliff-report.ts';
import { OwnedProcess } from './owned-process.ts';

const RUN = join(import.meta.dirname, 'cliff-run.ts');
const LIMIT_SECONDS_MAX = 3_600;
const DIVIDE_MAX = 1_000;

interface CliffsOptions {
  readonly only: readonly string[];
  readonly limit: number;
  readonly divide: number;
}

/** Returns the part `cliffs` of the table. It fails where a step does not grow in line with its size. */
export const CLIFFS = definePart({
  name: 'cliffs',
  summary: 'processor time at a size and at its double, where it once grew with the square or cube',
  options: {
    only: { kind: 'names', of: Object.keys(CLIFF_CASES), help: 'the cases' },
    limit: { kind: 'number', default: 120, max: LIMIT_SECONDS_MAX, help: 'seconds that a case may take at one size' },
    divide: { kind: 'number', default: 1, quick: 10, max: DIVIDE_MAX, help: 'divides every size' },
  },
  run: benchCliffs,
});

async function benchCliffs({ only, limit, divide }: CliffsOptions, context: BenchContext): Promise<PartReport> {
  const running = { ...context, limitSeconds: limit };
  const measured: MeasuredCase[] = [];
  for (const name of only) measured.push(await measureCase([name, caseNamed(name, divide)], running));
  const { text, failures } = cliffReport(measured, { limitSeconds: limit });
  const [work, target] = [`${measured.length} cliffs, CPU at the double of a size: worst`, { atMost: GROWTH_MAX }];
  const worst = worstGrowth(measured);
  const row =
    worst === undefined
      ? absentRow(work, 'every step took less than half a second', { target, unit: 'times' })
      : rowOf({ work, value: worst.growth, unit: 'times', target, note: worst.step });
  return { rows: [row], text, failures, data: measured };
}

interface Running extends BenchContext {
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
  { folder, say, limitSeconds }: Running,
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

function caseNamed(name: string, divide: number): CliffCase {
  const found = CLIFF_CASES[name];
  if (found === undefined) throw new Error(`there is no case "${name}"`);
  const first = Math.round(found.sizes[0] / divide);
  return { ...found, sizes: [first, 2 * first] };
}
