// Defines the record of a node: flat keys, and the source of each value.
import type { MergeRule } from './objects.ts';

/** The value of a key of a record. */
export type RecordValue = string | number | boolean | readonly string[];

/** The values of one node's record by key, in display order. */
export type NodeRecord = Readonly<Record<string, RecordValue>>;

/** An output, and its servers. */
export interface OutputSource {
  readonly output: string;
  readonly servers: readonly string[];
}

/** The source of a value. `file` and `line` are null for a computed value such as `stackInstance`. */
export interface ValueSource {
  readonly type: string;
  readonly name: string;
  readonly file: string | null;
  readonly line: number | null;
  /** The outputs of other servers that the value uses. Omitted if it uses none. */
  readonly outputs?: readonly OutputSource[];
}

/** The answer of `?info=true` for one key. */
export interface ExplainedValue extends ValueSource {
  readonly value: RecordValue;
  readonly merge: MergeRule;
  /** The values that this one overrides, from specific to general. */
  readonly overrides: readonly (ValueSource & { readonly value: RecordValue | null })[];
}

/** A record with the sources of every value. */
export type ExplainedRecord = Readonly<Record<string, ExplainedValue>>;

/** A node at one moment. Its record is computed on demand. */
export interface NodeAtMoment {
  readonly name: string;
  /** The resource key of a server of a stack; null for a hand-written clientcert. */
  readonly group: string | null;
  record(): NodeRecord;
  /** Returns the record with the source of each value. */
  explained(): ExplainedRecord;
  /** Returns one value with its source, without computing the rest; undefined if the record has no such key. */
  value(key: string): ExplainedValue | undefined;
}
