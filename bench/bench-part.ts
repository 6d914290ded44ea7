// The form of a benchmark. The runner (run.ts) gives each part a folder of its own, and prints the results of all as one table.
import type { PartRow } from './bench-row.ts';

/** The folder, the size and the output of a part. */
export interface BenchContext {
  /** Empty, of this part alone, and removed after it. */
  readonly folder: string;
  /** Small sizes: shows that it runs, and no more. */
  readonly isQuick: boolean;
  /** Prints progress on standard error. */
  say(text: string): void;
}

/** The measurements of a part. */
export interface PartReport {
  /** Its rows of the one table: one for each target. */
  readonly rows: readonly PartRow[];
  /** The results that must not be, in addition to targets that are missed. */
  readonly failures: readonly string[];
}

/** A benchmark that the runner knows. */
export interface BenchPart {
  readonly name: string;
  /** One line for `--help`. */
  readonly summary: string;
  /** Measures. Throws if it cannot; processes that it has started may be left to the runner then. */
  run(context: BenchContext): Promise<PartReport>;
}
