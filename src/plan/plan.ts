// Defines a plan: the effect of a merge on servers, on their configuration, on access and on safety. Plain data,
// computed from two desired states; printed as text, JSON and Markdown.

import type { Json } from '../model/json.ts';
import type { Problem } from '../model/problem.ts';

/** A value before and after the merge; null if there is none. */
export interface Difference<Value = Json> {
  readonly from: Value | null;
  readonly to: Value | null;
  /** The servers whose outputs give `to`, which is a placeholder text then. Omitted if the value is known. */
  readonly knownAfter?: readonly string[];
}

const KNOWN_AFTER = '(known after create of ';
const SERVERS_SHOWN = 3;

/** Returns the placeholder text for a value from outputs of these servers. */
export function knownAfterText(servers: readonly string[]): string {
  const more = servers.length - SERVERS_SHOWN;
  return `${KNOWN_AFTER}${servers.slice(0, SERVERS_SHOWN).join(', ')}${more > 0 ? ` and ${more} more` : ''})`;
}

/**
 * Returns true for the placeholder text of an unknown value. Do not trust it: a user may have written the same text.
 */
export function isKnownAfter(value: Json | null): value is string {
  return typeof value === 'string' && value.startsWith(KNOWN_AFTER);
}

/** A registered client that is added, removed or changed. */
export interface AccessChange {
  readonly action: 'add' | 'remove' | 'change';
  /** Canonical serial. */
  readonly serial: string;
  readonly description: string;
  readonly role: Difference<string>;
  /** Names of the fields that change, sorted; empty for a client that is added or removed. */
  readonly fields: readonly string[];
}

/**
 * A change of a setting that protects servers or affects many of them, or an approval by a trailer.
 */
export interface SafetyChange extends Pick<Difference, 'from' | 'to'> {
  /** `stack-instance/<name>`, `stack-template/<name>`, `hierarchy` or `tree`; `commits` for a trailer. */
  readonly object: string;
  /**
   * `protected`, `deletion`, `drift`, `adopt`; `<group>/max_unavailable` and `<group>/pause_seconds`, of the template
   * if only the template changes them; the pointer of the changed part of the hierarchy; the path of names in the
   * tree; the name of the trailer.
   */
  readonly field: string;
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
  /**
   * The file and the line (from 1) that cause the change. Line null: the line or the file was removed. File null: the
   * change follows from no file.
   */
  readonly file: string | null;
  readonly line: number | null;
  /**
   * The changed properties of the spec, by name; `<type>.<key>` for a key of a provisioning layer. For a create: only
   * values from outputs. Empty for a delete. For a secret key, both values are SECRET_VALUE, or null if absent.
   */
  readonly properties: Readonly<Record<string, Difference>>;
}

/** A server that no version wants any more and that stays unchanged, since its instance has `deletion: retain`. */
export type RetainedServer = Omit<ServerChange, 'action' | 'properties'>;

/** A hand-written clientcert that is added or removed. */
export interface NodeChange {
  readonly action: 'add' | 'remove';
  readonly node: string;
  readonly file: string;
}

/** A key of the configuration that changes in the same way on one or more nodes. */
export interface ConfigurationChange extends Pick<Difference, 'from' | 'to'> {
  readonly key: string;
  /** True if the value is a secret: both sides are SECRET_VALUE, or null if the key is absent. */
  readonly isSecret: boolean;
  /** The number of changed nodes. */
  readonly nodes: number;
  /** The names of the first few of them, sorted. */
  readonly examples: readonly string[];
  /** The layer of the new value; for a removed key, the layer that had it. */
  readonly source: {
    readonly type: string;
    readonly name: string;
    readonly file: string | null;
    readonly line: number | null;
  };
}

/** The deletes that wait for an approval. The changes of their instances are listed as after the approval. */
export interface PlannedHold {
  /**
   * `unreadable`: they wait regardless of the budget, since they may result from a wrong or unread file, or it is
   * unknown whether they are protected or retained. `nothing left`: the whole commit waits.
   */
  readonly kind: 'budget' | 'unreadable' | 'nothing left';
  /** The deletes within an hour that need no approval; null for a hold of another kind. */
  readonly limit: number | null;
  readonly deletes: number;
  /** Instances that are held whole, sorted. */
  readonly instances: readonly string[];
  /** Instances that stay unchanged until these are approved, sorted. */
  readonly waiting: readonly string[];
  /** One sentence. */
  readonly reason: string;
}

/** The effect of merging head into base. Every list is sorted. */
export interface Plan {
  /** Full commit ids. */
  readonly base: string;
  readonly head: string;
  readonly access: readonly AccessChange[];
  readonly safety: readonly SafetyChange[];
  readonly changes: readonly ServerChange[];
  readonly retained: readonly RetainedServer[];
  readonly nodes: readonly NodeChange[];
  readonly configuration: readonly ConfigurationChange[];
  /** Instances that become invalid and stay at their earlier version, or have none. Sorted. */
  readonly invalid: readonly string[];
  /** The problems that base does not have. */
  readonly problems: readonly Problem[];
  /** The number of problems that base has too. */
  readonly knownProblems: number;
  readonly held: PlannedHold | null;
}

/** Returns true if a plan changes nothing. Problems and holds do not count as effects. */
export function hasNoEffect(
  plan: Pick<Plan, 'access' | 'safety' | 'changes' | 'retained' | 'nodes' | 'configuration'>,
): boolean {
  const { access, safety, changes, retained, nodes, configuration } = plan;
  return [access, safety, changes, retained, nodes, configuration].every((list) => list.length === 0);
}
