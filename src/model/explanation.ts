// Defines the explanation of a node's configuration: all its layers, and the statement of each about a key. The answer
// to `?info=true` is derived from it; see record.ts.
import type { MergeRule } from './objects.ts';
import type { OutputSource, RecordValue } from './record.ts';

/** A layer of a node, which may be empty. */
export interface ExplainedLayer {
  /** `computed` and `outputs` are not in a file; `properties` are the server's own; `object` is in a file. */
  readonly kind: 'computed' | 'object' | 'properties' | 'outputs';
  readonly type: string;
  /** Null if the node selects no object of the level. */
  readonly name: string | null;
  /** The object's file; null if the layer has no file, and for properties, which may come from two files. */
  readonly file: string | null;
  /**
   * `absent`: no object has the selected name. `not selected`: the node selects no name. `not known`: outputs, if no
   * controller is asked.
   */
  readonly status: 'present' | 'absent' | 'not selected' | 'not known';
}

/** A line of a file. */
export interface FilePlace {
  readonly file: string;
  readonly line: number;
}

/** A statement of one layer about one key. */
export interface LayerStatement {
  /** The index of the layer in {@link NodeExplanation.layers}. */
  readonly layer: number;
  /** Null removes the values of more general layers. */
  readonly value: RecordValue | null;
  /**
   * `used`: the value, or a part of it, is in the record. `overridden`: a more specific layer decides. `unknown`: the
   * value uses unknown outputs, so the record does not have the key yet.
   */
  readonly effect: 'used' | 'overridden' | 'removes' | 'unknown';
  /** Null if the value is computed. */
  readonly at: FilePlace | null;
  /**
   * The parameter that supplies the value; null unless the property is written in one place and its value in another.
   */
  readonly suppliedAt: FilePlace | null;
  /** The items that no more specific layer has; only under the rule `unique`. */
  readonly adds?: readonly string[];
  /** The outputs of other servers that the value uses. Omitted if it uses none. */
  readonly outputs?: readonly OutputSource[];
}

/** A key of a record, and the statements of all layers that set or remove it. */
export interface ExplainedKey {
  /** Null if a layer removes the key, so that the record does not have it. */
  readonly value: RecordValue | null;
  readonly merge: MergeRule;
  /** True if the key is for a secret by hierarchy.yaml, so its values are references. */
  readonly isSecret: boolean;
  /** Specific to general. */
  readonly statements: readonly LayerStatement[];
}

/** The newest commit that changed a file, if known. */
export interface FileChange {
  readonly commit: string | null;
  /** Committer time, RFC 3339; null if `commit` is null. */
  readonly time: string | null;
  /** Why there is no commit; null if there is one. */
  readonly note: string | null;
}

/** The configuration of one node with all its layers. */
export interface NodeExplanation {
  readonly node: string;
  /** The instance of a server; empty for a hand-written clientcert. */
  readonly stackInstance: readonly string[];
  /** The commit from which the configuration is computed; null for a directory. */
  readonly commit: string | null;
  /** False if the server is no longer wanted: only the layers that set its recorded keys are known. */
  readonly isWanted: boolean;
  /** Specific to general. */
  readonly layers: readonly ExplainedLayer[];
  /** By key, in the order of the record, including removed keys. */
  readonly keys: Readonly<Record<string, ExplainedKey>>;
  /** By path: every file that `layers` and `keys` name. */
  readonly files: Readonly<Record<string, FileChange>>;
}

/** An explanation without the history of its files. */
export type FilelessExplanation = Omit<NodeExplanation, 'files'>;
