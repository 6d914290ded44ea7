// The form of a benchmark, and the rows of the one table: a value, what a peer reached in the same run, and whether
// the target is reached.

type Verdict = 'reached' | 'missed' | 'measured' | 'not measured';

/** A row of a part; `rowOf` makes it. */
export interface PartRow {
  readonly work: string;
  readonly value: number | undefined;
  /** The unit of both values. More is better if it ends with `/s`, otherwise less is better. */
  readonly unit: string;
  readonly peer?: Peer | undefined;
  /** How many times better than the peer. Above 1, Treeline is better. */
  readonly ratio?: number | undefined;
  readonly target: string;
  readonly verdict: Verdict;
  /** Why the work was not measured, or what a reader has to know. */
  readonly note?: string | undefined;
}

/** The folder, the size and the output of a part. */
export interface BenchContext {
  /** An empty folder for this part, which is removed afterwards. */
  readonly folder: string;
  /** Small sizes, which only show that the benchmark works. */
  readonly isQuick: boolean;
  /** Prints progress on standard error. */
  say(text: string): void;
}

/** The measurements of a part. */
export interface PartReport {
  /** Its rows of the table: one for each target. */
  readonly rows: readonly PartRow[];
  /** Wrong results, in addition to missed targets. */
  readonly failures: readonly string[];
}

/** A benchmark that the runner knows. */
export interface BenchPart {
  readonly name: string;
  /** One line for `--help`. */
  readonly summary: string;
  /** Measures. Throws if it cannot. Then the runner ends the processes that it started. */
  run(context: BenchContext): Promise<PartReport>;
}

/**
 * A peer's value in the same run, or why there is none. `ratio` is set if it is the median of the rounds' ratios,
 * which a busy minute disturbs less than the ratio of the medians.
 */
export type Peer = { readonly name: string } & (
  | { readonly value: number; readonly ratio?: number }
  | { readonly absence: string }
);

/**
 * A goal. The ratio has priority over the value, which decides only if the peer was not measured. Without limits,
 * nothing is promised.
 */
export interface Target {
  readonly ratioMin?: number;
  readonly atMost?: number;
  readonly atLeast?: number;
}

/** The measurements of one row. */
interface Measurement {
  readonly work: string;
  readonly value: number;
  readonly unit: string;
  readonly target: Target;
  readonly peer?: Peer;
  readonly note?: string;
}

/** Returns the row of a measurement, with its verdict. */
export function rowOf({ work, value, unit, target, peer, note }: Measurement): PartRow {
  const ratio = peer !== undefined && 'value' in peer ? ratioOf(unit, value, peer) : undefined;
  return {
    work,
    value,
    unit,
    peer,
    ratio,
    note,
    target: targetText(target, unit),
    verdict: verdictOf(value, ratio, target),
  };
}

/** Returns the row of an absent measurement, with the reason. */
export function absentRow(work: string, reason: string): PartRow {
  return { work, value: undefined, unit: '', target: '–', verdict: 'not measured', note: reason };
}

function ratioOf(unit: string, value: number, peer: { readonly value: number; readonly ratio?: number }): number {
  return peer.ratio ?? (unit.endsWith('/s') ? value / peer.value : peer.value / value);
}

function verdictOf(value: number, ratio: number | undefined, { ratioMin, atMost, atLeast }: Target): Verdict {
  if (ratioMin !== undefined && ratio !== undefined) return said(ratio >= ratioMin);
  if (atMost === undefined && atLeast === undefined) return ratioMin === undefined ? 'measured' : 'not measured';
  return said(value <= (atMost ?? Number.POSITIVE_INFINITY) && value >= (atLeast ?? Number.NEGATIVE_INFINITY));
}

function said(isReached: boolean): Verdict {
  return isReached ? 'reached' : 'missed';
}

function targetText({ ratioMin, atMost, atLeast }: Target, unit: string): string {
  const ofValue = [
    ...(atMost === undefined ? [] : [`≤ ${numberText(atMost)} ${unit}`]),
    ...(atLeast === undefined ? [] : [`≥ ${numberText(atLeast)} ${unit}`]),
  ].map((text) => text.trim());
  if (ratioMin === undefined) return ofValue.join(', ') || 'measured, not promised';
  const ofRatio = `ratio ≥ ${numberText(ratioMin)}`;
  return ofValue.length === 0 ? ofRatio : `${ofRatio} (${ofValue.join(', ')})`;
}

/** Returns a number with about three digits, or a dash for none. */
export function numberText(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '–';
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString('en');
  return String(Number(value.toFixed(size >= 10 ? 1 : size >= 0.1 ? 2 : 4)));
}

/** Returns the median; NaN for an empty list. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
}
