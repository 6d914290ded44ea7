// Renders the results of the benchmark `cliffs` as Markdown: each step at a size and at its double, its growth, and whether that
// is linear.
import { markdownTable } from './markdown-table.ts';

/** How much more processor time twice the size may take: linear is 2, and collecting garbage adds some. */
export const GROWTH_MAX = 2.6;
/** Below this, growth says more about the machine than about the work. */
const CPU_SECONDS_MIN = 0.5;

/** The cost of one step at one size; undefined where it did not get through within the limit. */
export interface Cost {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** The longest time in which nothing else had a turn. */
  readonly stallSeconds: number;
}

interface MeasuredStep {
  readonly step: string;
  /** At the first size, and at its double. */
  readonly costs: readonly [Cost | undefined, Cost | undefined];
}

export interface MeasuredCase {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly sizes: readonly [number, number];
  readonly steps: readonly MeasuredStep[];
  /** The failures besides taking too long. */
  readonly failures: readonly string[];
}

interface CliffReport {
  readonly text: string;
  /** The steps that do not grow in line, take too long or go wrong. */
  readonly failures: readonly string[];
}

/** Returns the report on all cases. `limitSeconds` is how long a case might take at one size. */
export function cliffReport(
  cases: readonly MeasuredCase[],
  { limitSeconds }: { readonly limitSeconds: number },
): CliffReport {
  const head = ['case', 'step', 'size', 's', 'CPU, s', 'longest stall, s', 'CPU growth', 'verdict'];
  const rows = cases.flatMap((each) => each.steps.flatMap((step) => rowsOf(each, step, limitSeconds)));
  const failures = cases.flatMap(failuresOf);
  const titles = cases.map(({ name, title, unit }) => `- ${name}: ${title}. The size counts ${unit}.`);
  const text = [`A case might take ${limitSeconds} s.`, titles.join('\n'), markdownTable(head, rows)];
  return { text: [...text, ...failures.map((failure) => `**${failure}**`)].join('\n\n'), failures };
}

/** Returns the step whose processor time grew most, of those that take long enough to tell; undefined where none does. */
export function worstGrowth(
  cases: readonly MeasuredCase[],
): { readonly step: string; readonly growth: number } | undefined {
  const steps = cases.flatMap(({ name, steps }) => steps.map((each) => ({ name, each })));
  const told = steps.filter(({ each }) => verdictOf(each) === 'linear' || verdictOf(each) === 'NOT LINEAR');
  const [worst] = told.toSorted((a, b) => growthOf(b.each) - growthOf(a.each));
  return worst && { step: `${worst.name}, ${worst.each.step}`, growth: growthOf(worst.each) };
}

/** Returns how the processor time grew, or NaN where one of the two is missing. */
function growthOf({ costs: [first, second] }: MeasuredStep): number {
  return (second?.cpuSeconds ?? Number.NaN) / Math.max(first?.cpuSeconds ?? Number.NaN, 0.001);
}

type Verdict = 'linear' | 'small' | 'NOT LINEAR' | 'TOO LONG';

/** Returns whether a step grows in line with its size. */
export function verdictOf(step: MeasuredStep): Verdict {
  const [first, second] = step.costs;
  if (first === undefined || second === undefined) return 'TOO LONG';
  if (second.cpuSeconds < CPU_SECONDS_MIN) return 'small';
  return growthOf(step) <= GROWTH_MAX ? 'linear' : 'NOT LINEAR';
}

function failuresOf({ name, steps, failures }: MeasuredCase): string[] {
  const verdicts = steps.map((step) => ({ step: step.step, verdict: verdictOf(step) }));
  const bad = verdicts.filter(({ verdict }) => verdict === 'NOT LINEAR' || verdict === 'TOO LONG');
  return [...failures, ...bad.map(({ step, verdict }) => `${step}: ${verdict}`)].map((each) => `${name}: ${each}`);
}

function rowsOf({ name, sizes }: MeasuredCase, step: MeasuredStep, limitSeconds: number): string[][] {
  const growth = growthOf(step);
  const said = [Number.isNaN(growth) ? '–' : `× ${growth.toFixed(2)}`, verdictOf(step)];
  return step.costs.map((cost, at) => {
    const size = (sizes[at] ?? 0).toLocaleString('en');
    const numbers = cost === undefined ? [`over ${limitSeconds}`, '–', '–'] : cellsOf(cost);
    return [name, step.step, size, ...numbers, ...(at === 1 ? said : ['', ''])];
  });
}

function cellsOf({ seconds, cpuSeconds, stallSeconds }: Cost): string[] {
  return [seconds, cpuSeconds, stallSeconds].map((value) => value.toFixed(2));
}
