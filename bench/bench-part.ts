// The form of a benchmark: a part has a name, options and a function that measures. The runner (run.ts) reads the options,
// gives each part a folder of its own, and prints what all of them found as one table.
import type { PartRow } from './bench-row.ts';

interface OptionBase {
  readonly help: string;
}

/** A whole number from 1 to `max`. */
interface NumberOption extends OptionBase {
  readonly kind: 'number';
  readonly default: number;
  readonly quick?: number;
  readonly max: number;
}

/** Whole numbers from 1 to `max`, separated by commas. */
interface NumbersOption extends OptionBase {
  readonly kind: 'numbers';
  readonly default: readonly number[];
  readonly quick?: readonly number[];
  readonly max: number;
}

/** Some of the names in `of`, separated by commas; all of them where nothing is said. */
interface NamesOption extends OptionBase {
  readonly kind: 'names';
  readonly of: readonly string[];
  readonly quick?: readonly string[];
}

/** False unless it is given. */
interface FlagOption extends OptionBase {
  readonly kind: 'flag';
}

/** An option of a part; `quick` is its default with `--quick`. */
export type Option = NumberOption | NumbersOption | NamesOption | FlagOption;

/** The options of a part by name, as on the command line without the dashes. */
type Options = Readonly<Record<string, Option>>;

/** The value of an option of each kind. */
export type OptionValue = number | readonly number[] | readonly string[] | boolean;

type ValueOf<Each extends Option> = Each extends NumberOption
  ? number
  : Each extends NumbersOption
    ? readonly number[]
    : Each extends NamesOption
      ? readonly string[]
      : boolean;

/** The values of all options of a part. */
type OptionValues<Of extends Options> = { readonly [Name in keyof Of]: ValueOf<Of[Name]> };

/** The folder and the output of a part. */
export interface BenchContext {
  /** Empty, of this part alone, and removed after it. */
  readonly folder: string;
  /** Tells progress, on standard error. */
  say(text: string): void;
}

/** The measurements of a part. */
export interface PartReport {
  /** Its rows of the one table: one for each target. */
  readonly rows: readonly PartRow[];
  /** All that it measured, in Markdown; headings of the fourth level. */
  readonly text: string;
  /** The results that must not be, beside targets that are missed. */
  readonly failures: readonly string[];
}

/** A benchmark that the runner knows. */
export interface BenchPart {
  readonly name: string;
  /** One line for `--help`. */
  readonly summary: string;
  readonly options: Options;
  /** Measures. Throws where it cannot; processes that it has started may be left to the runner then. */
  run(options: Readonly<Record<string, OptionValue>>, context: BenchContext): Promise<PartReport>;
}

interface TypedPart<Of extends Options> extends Omit<BenchPart, 'options' | 'run'> {
  readonly options: Of;
  run(options: OptionValues<Of>, context: BenchContext): Promise<PartReport>;
}

/** Returns the part, whose function knows the types of its options. */
export function definePart<const Of extends Options>(part: TypedPart<Of>): BenchPart {
  return part;
}
