// Defines the explanation of a node's configuration: all its layers, and what each says of a key. `?info=true` answers
// a projection of it, which record.ts defines.
import type { MergeRule } from './objects.ts';
import type { OutputSource, RecordValue } from './record.ts';

/** A layer of a node, whether or not it says anything. */
export interface ExplainedLayer {
  /** `computed` and `outputs` are in no file; `properties` are those of the server; `object` has a file. */
  readonly kind: 'computed' | 'object' | 'properties' | 'outputs';
  readonly type: string;
  /** Null where the node selects no object of the level. */
  readonly name: string | null;
  /** The object's file; null where the layer has no file, and for properties, which may be written in two files. */
  readonly file: string | null;
  /**
   * `absent`: the level has a name, and there is no object of that name. `not selected`: the level has no name. `not
   * known`: outputs, where no controller is asked.
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
  /** Null removes what more general layers say. */
  readonly value: RecordValue | null;
  /**
   * `used`: the value, or a part of it, is in the record. `overridden`: a more specific layer decides. `unknown`: outputs give the
   * value, which are not known; until then the record does not have the key.
   */
  readonly effect: 'used' | 'overridden' | 'removes' | 'unknown';
  /** Null where the value is computed. */
  readonly at: FilePlace | null;
  /**
   * The parameter that supplies the value; null unless the property is written in one place and its value in another.
   */
  readonly suppliedAt: FilePlace | null;
  /** The items of the value that no more specific layer has; only under the rule `unique`. */
  readonly adds?: readonly string[];
  /** The outputs of other servers that give the value. Omitted where none does. */
  readonly outputs?: readonly OutputSource[];
}

/** A key of a record, and the statements of all layers that set or remove it. */
export interface ExplainedKey {
  /** Null: a layer removes it, so that the record does not have it. */
  readonly value: RecordValue | null;
  readonly merge: MergeRule;
  /** True where hierarchy.yaml counts the key as a secret: its values are references. */
  readonly isSecret: boolean;
  /** Specific to general. */
  readonly statements: readonly LayerStatement[];
}

/** The newest commit that changed a file, as far as it is known. */
export interface FileChange {
  readonly commit: string | null;
  /** Committer time, RFC 3339; null where the commit is. */
  readonly time: string | null;
  /** Why there is no commit; null where there is one. */
  readonly note: string | null;
}

/** The configuration of one node with all its layers. */
export interface NodeExplanation {
  readonly node: string;
  /** The instances that make it; none for a hand-written clientcert. */
  readonly stackInstance: readonly string[];
  /** The commit from which the configuration is computed; null for a directory. */
  readonly commit: string | null;
  /** False: the server is not wanted any more, and only the layers that set its recorded keys are known. */
  readonly isWanted: boolean;
  /** Specific to general. */
  readonly layers: readonly ExplainedLayer[];
  /** By key, in the order of the record; removed keys are among them. */
  readonly keys: Readonly<Record<string, ExplainedKey>>;
  /** By path: every file that `layers` and `keys` name. */
  readonly files: Readonly<Record<string, FileChange>>;
}

/** An explanation without the history of its files. */
export type FilelessExplanation = Omit<NodeExplanation, 'files'>;
