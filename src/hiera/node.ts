// Defines the configuration of one node before merging: its layers in order, by reference to the files that hold them.

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
  /** Returns where a key of `values` is written, or null where it is computed. */
  readonly origin: (key: string) => Origin | null;
  /** Returns the place to correct where the value of a key is wrong; `origin` unless the value came from elsewhere. */
  readonly blame?: (key: string) => Origin;
  /** The keys of a server's own properties that take outputs. */
  readonly reads?: OutputTexts;
}

/**
 * The objects that can be selected. The caller notes every lookup, so that adding an absent object counts as a change.
 */
export interface SelectableObjects {
  readonly hierarchy: ValidEntry<Hierarchy>;
  readonly tree: TreeNode;
  /** The tenant of the nodes; empty for none. Their layers are of this tenant, or of none. */
  readonly tenant: string;
  readonly object: (type: PlainTypeName, name: string) => Entry<TypedObject> | undefined;
}

/** A server of a stack, or a clientcert that no stack makes. */
export type NodeOwner =
  | { readonly server: ExpandedServer; readonly clientcert: Entry<TypedObject> | undefined }
  | { readonly server: null; readonly clientcert: Entry<TypedObject> };

/** A node with its layers, before they are merged. */
export interface HieraNode {
  readonly name: string;
  readonly description: string;
  /** The place of the description; left out where there is none. */
  readonly descriptionOrigin?: Origin | undefined;
  /** The instances that make it: one, or none for a hand-written clientcert. */
  readonly stackInstance: readonly string[];
  /** General to specific, up to the provider's outputs, which join when a record is built. */
  readonly shared: readonly Layer[];
  /** General to specific, after the outputs: the server's own properties, then its clientcert file. */
  readonly own: readonly Layer[];
  /** How the layers are merged, and which keys are for secrets. */
  readonly hierarchy: Hierarchy;
}

/** A node, what its provisioning layers apply, and its problems. */
export interface ResolvedNode {
  readonly node: HieraNode;
  /** The content of the objects of the provisioning layers, by type, without name, type, description and tenant. */
  readonly provisioning: Readonly<Record<string, JsonMap>>;
  /** Problems at this node's own files, and those of every wrong object it draws on. */
  readonly problems: readonly Problem[];
}
