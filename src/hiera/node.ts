// Defines the configuration of one node before merging: its layers in order, as references to files.

import type { Entry, ValidEntry } from '../model/entry.ts';
import type { ExpandedServer, Origin } from '../model/expanded.ts';
import type { JsonMap } from '../model/json.ts';
import type { PlainTypeName } from '../model/names.ts';
import type { Hierarchy, TreeNode, TypedObject } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';
import type { RecordValue } from '../model/record.ts';
import type { OutputTexts } from '../model/spec.ts';

/** The values of a layer by key. Null removes what more general layers set. */
export type LayerValues = Readonly<Record<string, RecordValue | null>>;

/** One source of keys. `origin` is looked up on demand, so that a layer costs one reference a node. */
export interface Layer {
  readonly type: string;
  readonly name: string;
  /** Without prototype, and without name, description, type and tenant, which are never keys. */
  readonly values: LayerValues;
  /** Returns where a key of `values` is written, or null if it is computed. */
  readonly origin: (key: string) => Origin | null;
  /** Returns the place to correct a wrong value of a key. Omitted if that is always `origin`. */
  readonly blame?: (key: string) => Origin;
  /** The keys of a server's own properties that use outputs. */
  readonly reads?: OutputTexts;
}

/**
 * The objects that can be selected. The caller records every lookup, so that adding a missing object counts as a
 * change.
 */
export interface SelectableObjects {
  readonly hierarchy: ValidEntry<Hierarchy>;
  readonly tree: TreeNode;
  /** The tenant of the nodes, or ''. Their layers belong to this tenant or to none. */
  readonly tenant: string;
  readonly object: (type: PlainTypeName, name: string) => Entry<TypedObject> | undefined;
}

/** A server of a stack, or a hand-written clientcert. */
export type NodeOwner =
  | { readonly server: ExpandedServer; readonly clientcert: Entry<TypedObject> | undefined }
  | { readonly server: null; readonly clientcert: Entry<TypedObject> };

/** A node with its layers, before they are merged. */
export interface HieraNode {
  readonly name: string;
  readonly description: string;
  /** The place of the description, if it has one. */
  readonly descriptionOrigin?: Origin | undefined;
  /** The instances that make it: one, or none for a hand-written clientcert. */
  readonly stackInstance: readonly string[];
  /** General to specific. The provider's outputs follow when a record is built. */
  readonly shared: readonly Layer[];
  /** General to specific, after the outputs: the server's own properties, then its clientcert file. */
  readonly own: readonly Layer[];
  /** The rules for merging and for secrets. */
  readonly hierarchy: Hierarchy;
}

/** A node, the content of its provisioning layers, and its problems. */
export interface ResolvedNode {
  readonly node: HieraNode;
  /** The content of the objects of the provisioning layers, by type, without name, type, description and tenant. */
  readonly provisioning: Readonly<Record<string, JsonMap>>;
  /** Problems of this node's own files, and of every invalid object that it uses. */
  readonly problems: readonly Problem[];
}
