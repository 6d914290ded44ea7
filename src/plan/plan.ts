// Defines a plan: the effect of a merge on servers, on their configuration, on access and on safety. Plain data,
// computed from two desired states; printed as text, JSON and Markdown.

import type { Json } from '../model/json.ts';
import type { Problem } from '../model/problem.ts';

/** A value before and after the merge; null: there is none. */
export interface Difference<Value = Json> {
  readonly from: Value | null;
  readonly to: Value | null;
  /** The servers whose outputs give `to`, which is a text for people then. Omitted where the value is known. */
  readonly knownAfter?: readonly string[];
}

const KNOWN_AFTER = '(known after create of ';
const SERVERS_SHOWN = 3;

/** Returns the text that stands for a value which outputs of these servers give. */
export function knownAfterText(servers: readonly string[]): string {
  const more = servers.length - SERVERS_SHOWN;
  return `${KNOWN_AFTER}${servers.slice(0, SERVERS_SHOWN).join(', ')}${more > 0 ? ` and ${more} more` : ''})`;
}

/**
 * Returns true for a text that stands for a value which is not known. A user may have written it as well: it is not to
 * be trusted.
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
 * A setting that protects servers, or decides for many of them at once, and is changed; or an approval by a trailer.
 */
export interface SafetyChange extends Pick<Difference, 'from' | 'to'> {
  /** `stack-instance/<name>`, `stack-template/<name>`, `hierarchy` or `tree`; `commits` of a trailer. */
  readonly object: string;
  /**
   * `protected`, `deletion`, `drift`, `adopt`; `<group>/max_unavailable` and `<group>/pause_seconds`, of a template where
   * only that changes them; of the hierarchy the pointer of the changed part, of the tree the path of names;
   * of the commits the name of the trailer.
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
   * The file and the line that cause it, from 1. Line null: the file has no such line any more, as where it is removed.
   * File null: it follows from no file.
   */
  readonly file: string | null;
  readonly line: number | null;
  /**
   * Properties of the specification that change, by name; `<type>.<key>` for a key of a provisioning layer. Of a create
   * only those whose value outputs give; empty for a delete. Of a secret key both values are SECRET_VALUE, or null
   * where it is absent.
   */
  readonly properties: Readonly<Record<string, Difference>>;
}

/** A server that no version wants any more and that is left as it is, since its instance says `deletion: retain`. */
export type RetainedServer = Omit<ServerChange, 'action' | 'properties'>;

/** A hand-written clientcert whose record comes or goes. */
export interface NodeChange {
  readonly action: 'add' | 'remove';
  readonly node: string;
  readonly file: string;
}

/** A key of the configuration that changes in the same way on one or more nodes. */
export interface ConfigurationChange extends Pick<Difference, 'from' | 'to'> {
  readonly key: string;
  /** True if the value is a secret: both sides are SECRET_VALUE, or null where the key is absent. */
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

/** The deletes that wait for an approval. The changes of their instances are listed as they are once approved. */
export interface PlannedHold {
  /**
   * `unreadable`: they wait whatever the budget, since they may be meant for what is wrong or not read, or it is not known
   * whether they are protected or retained. `nothing left`: the whole commit waits.
   */
  readonly kind: 'budget' | 'unreadable' | 'nothing left';
  /** Deletes in an hour without an approval; null for a hold of another kind. */
  readonly limit: number | null;
  readonly deletes: number;
  /** Instances that are held whole, sorted. */
  readonly instances: readonly string[];
  /** Instances that stay as they are until these are approved, sorted. */
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
  /** Instances that become invalid and stay at their older version, or have none. Sorted. */
  readonly invalid: readonly string[];
  /** Those that base does not have. */
  readonly problems: readonly Problem[];
  /** How many others there are, which base has too. */
  readonly knownProblems: number;
  readonly held: PlannedHold | null;
}

/** Returns true where a plan has no effect at all; problems and holds are none. */
export function hasNoEffect(
  plan: Pick<Plan, 'access' | 'safety' | 'changes' | 'retained' | 'nodes' | 'configuration'>,
): boolean {
  const { access, safety, changes, retained, nodes, configuration } = plan;
  return [access, safety, changes, retained, nodes, configuration].every((list) => list.length === 0);
}
