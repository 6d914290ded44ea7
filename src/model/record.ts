// A hiera record as it is served: flat keys, and for each where its value comes from.
import type { MergeRule } from './objects.ts';

export type RecordValue = string | number | boolean | readonly string[];

/** The values of one node's record by key, in the order in which they are shown. */
export type NodeRecord = Readonly<Record<string, RecordValue>>;

/** Where a value was set. `file` and `line` are null where nobody wrote it, as for `stackInstance`. */
export interface ValueSource {
  readonly type: string;
  readonly name: string;
  readonly file: string | null;
  readonly line: number | null;
}

/** What `?info=true` answers for one key. */
export interface ExplainedValue extends ValueSource {
  readonly value: RecordValue;
  readonly merge: MergeRule;
  /** What the value hides, from specific to general. */
  readonly overrides: readonly (ValueSource & { readonly value: RecordValue | null })[];
}

export type ExplainedRecord = Readonly<Record<string, ExplainedValue>>;
