// Defines a plan: the effect of a merge on servers, on their configuration, on access and on safety. Plain data,
// computed from two desired states; printed as text, JSON and Markdown.
import type { Json } from '../model/json.ts';
import type { Problem } from '../model/problem.ts';

/** A value before and after the merge; null: there is none. */
export interface Difference<Value = Json> {
  readonly from: Value | null;
  readonly to: Value | null;
}

/** A registered client that is added, removed or changed. */
export interface AccessChange {
  readonly action: 'add' | 'remove' | 'change';
  /** Canonical serial. */
  readonly serial: string;
  readonly description: string;
  readonly role: Difference<string>;
}

/** A setting that protects servers, or decides for many of them at once, and is changed. */
export interface SafetyChange {
  /** `stack-instance/<name>`, `hierarchy` or `tree`. */
  readonly object: string;
  /** `protected`, `deletion`, `drift`; of the hierarchy and the tree the pointer of the changed part. */
  readonly field: string;
  readonly from: Json | null;
  readonly to: Json | null;
}

/** A server that is created, updated, replaced or deleted. */
export interface ServerChange {
  readonly action: 'create' | 'update' | 'replace' | 'delete';
  /** The name of the server. */
  readonly resource: string;
  readonly instance: string;
  /** The key of its group in the template. */
  readonly group: string;
  /** One sentence: the cause. */
  readonly reason: string;
  /** The line that causes it; null: no line does, for example where a file is removed. Line from 1. */
  readonly file: string | null;
  readonly line: number | null;
  /** Properties of the specification that change, by name; empty for a create and a delete. */
  readonly properties: Readonly<Record<string, Difference>>;
}

/** A key of the configuration that changes in the same way on one or more nodes. */
export interface ConfigurationChange {
  readonly key: string;
  /** Of a secret key both are the text of SECRET_VALUE, or null where the key is absent. */
  readonly from: Json | null;
  readonly to: Json | null;
  /** True if the value is a secret, which is never shown. */
  readonly isSecret: boolean;
  /** How many nodes change. */
  readonly nodes: number;
  /** The names of the first few of them, sorted. */
  readonly examples: readonly string[];
  /** The layer that the new value comes from; of a key that goes away, the layer that had it. */
  readonly source: {
    readonly type: string;
    readonly name: string;
    readonly file: string | null;
    readonly line: number | null;
  };
}

/** Servers of one instance that are deleted under their old names and created under new ones. */
export interface Rename {
  readonly instance: string;
  /** The instance that creates the new ones; the same as `instance` where only its servers are renamed. */
  readonly into: string;
  readonly deletes: number;
  readonly creates: number;
}

/** The limit that holds the deletes. */
export interface PlannedHold {
  readonly kind: 'budget' | 'nothing left';
  /** Deletes in an hour without an approval; null for a hold of another kind. */
  readonly limit: number | null;
  readonly deletes: number;
  /** Instances that are held whole, sorted. */
  readonly instances: readonly string[];
}

/** The effect of merging head into base. Every list is sorted. */
export interface Plan {
  /** Full commit ids. */
  readonly base: string;
  readonly head: string;
  /** SHA-256 in hex over the sorted changes, without commits and lines: equal for equal effects. */
  readonly digest: string;
  readonly access: readonly AccessChange[];
  readonly safety: readonly SafetyChange[];
  readonly changes: readonly ServerChange[];
  readonly configuration: readonly ConfigurationChange[];
  readonly renames: readonly Rename[];
  /** Instances that become invalid and stay at their older version, or have none. Sorted. */
  readonly invalid: readonly string[];
  readonly problems: readonly Problem[];
  readonly held: PlannedHold | null;
}
