// Defines the objects of the stacks repository, with the field names of the interface. See docs/rest.md and
// docs/concepts.md.
import type { JsonMap } from './json.ts';
import type { PlainTypeName, Role } from './names.ts';

/** The value of a property: a text or a list of texts. */
export type PropertyValue = string | readonly string[];
/** Properties by name. */
export type Properties = Readonly<Record<string, PropertyValue>>;

/** An entry below `resources` of a template. */
export type ResourceDefinition = { readonly type: string; readonly properties: JsonMap };

/** A stack template. */
export interface StackTemplate {
  readonly name: string;
  readonly type: 'stack-template';
  readonly description: string;
  /** Default values. An empty string means: no default. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly resources: Readonly<Record<string, ResourceDefinition>>;
}

/** Whether drift is reported, corrected, or not checked for. */
export type DriftPolicy = 'report' | 'heal' | 'off';

/**
 * A stack instance. `protected`, `deletion`, `drift`, `adopt` and `tenant` are omitted if the file does not set them.
 */
export interface StackInstance {
  readonly name: string;
  readonly type: 'stack-instance';
  readonly description: string;
  readonly stackTemplate: string;
  readonly stackTemplateAdditions: JsonMap;
  readonly stackTemplateSubstractions: JsonMap;
  readonly parameters: Readonly<Record<string, string>>;
  readonly protected?: boolean;
  readonly deletion?: 'delete' | 'retain';
  readonly drift?: DriftPolicy;
  readonly adopt?: boolean;
  readonly tenant?: string;
}

/** A registered client of the REST interface. */
export interface Client {
  /** The serial, as in the interface's examples. */
  readonly name: string;
  readonly type: 'client';
  readonly description: string;
  readonly role: Role;
  /** SHA-256, upper-case bytes joined by colons; empty if the file gives none. */
  readonly fingerprint: string;
  /** In canonical form; see serial.ts. */
  readonly serial: string;
  readonly tenant: string;
  readonly tags?: readonly string[];
  /** The client only reads and confirms the record of this node, which need not exist. */
  readonly node?: string;
  /** Omitted: `api.proxyReads` for proxies, `all` for others. */
  readonly reads?: ReadScope;
  /** `none`: read-only for any role. Omitted: `all`. */
  readonly writes?: (typeof WRITE_SCOPES)[number];
}

/** What a client reads; `site`: only servers with its tags. */
export const READ_SCOPES = ['site', 'all'] as const;
/** What a client reads. */
export type ReadScope = (typeof READ_SCOPES)[number];
/** What a client writes: all that its role permits, or nothing. */
export const WRITE_SCOPES = ['none', 'all'] as const;

/** An object below `types/`: any further field is a configuration key. */
export interface TypedObject extends JsonMap {
  readonly name: string;
  readonly type: PlainTypeName;
  readonly description: string;
}

/** A node of the tree with all nodes below it. */
export interface TreeNode {
  readonly name: string;
  readonly description: string;
  readonly type: string;
  readonly children?: readonly TreeNode[];
}

/** One level of the configuration layers, general to specific. */
export interface HierarchyLevel {
  readonly type: PlainTypeName;
  /** Only in compound layers: a name with `<<type>>` placeholders, such as `<<environment>>-<<location>>`. */
  readonly name?: string;
}

/** How values of several layers are merged: the most specific value, or all values without repeats. */
export type MergeRule = 'first' | 'unique';

/** The content of hierarchy.yaml. */
export interface Hierarchy {
  readonly order: readonly HierarchyLevel[];
  readonly merge: Readonly<Record<string, MergeRule>>;
  /** The types whose objects an action applies to a server; all others reach it only through its record. */
  readonly provisioning: readonly PlainTypeName[];
  readonly secrets?: { readonly keys: readonly string[]; readonly reference: string };
}
