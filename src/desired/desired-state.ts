// Defines the desired state: the newest valid and admitted version of every unit, the last valid version of every
// object, and the registered clients. Plain data, computed by derive.ts from one commit and the desired state before
// it.

import type { Catalog } from '../catalog/catalog.ts';
import type { Entry } from '../model/entry.ts';
import type { Client, StackTemplate } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';
import type { HoldKind, LossPolicy } from '../model/rows.ts';
import type { HeldDeletes } from './deletions.ts';
import type { Receivers } from './undetermined.ts';
import type { Unit } from './unit.ts';

/** The active version of a file, which the followed commit may have another or an invalid version of. */
export interface ActiveVersion<Value> {
  readonly entry: Entry<Value>;
  /** The last commit in which it was valid. */
  readonly commit: string;
}

/** Active versions by address, or of clients by canonical serial. */
export type ActiveVersions<Value> = ReadonlyMap<string, ActiveVersion<Value>>;

/**
 * The policies of instances that lose servers, by unit key. A missing instance has the policy of its active version.
 */
export type LossPolicies = ReadonlyMap<string, LossPolicy>;

/** The cost of processing a commit. */
interface Counts {
  readonly blobsRead: number;
  readonly filesParsed: number;
  readonly instancesExpanded: number;
  readonly recordsMerged: number;
}

/** The state that the next commit is compared with. */
export interface Baseline {
  /** Valid units by unit key. No two of them have a server of the same name. */
  readonly units: ReadonlyMap<string, Unit>;
  /** Server name to the key of the unit that makes it. */
  readonly owners: ReadonlyMap<string, string>;
  /** Templates and typed objects by `<type>/<name>`. */
  readonly objects: ActiveVersions<unknown>;
  /** The registry, by canonical serial. */
  readonly clients: ActiveVersions<Client>;
  /** True if hierarchy.yaml defines the merge rules, false for the defaults. */
  readonly hasHierarchy: boolean;
  /** The names and paths of the followed commit that may be meant as instances. */
  readonly receivers: Receivers;
  /**
   * By unit key of a pinned instance: the receivers of the commit in which it was last at its newest version. After a
   * restart, those of the commit from which its active version was built.
   */
  readonly receiversOfPinned: ReadonlyMap<string, Receivers>;
  /** All paths of the followed commit. */
  readonly places: Catalog['places'];
}

/** The complete desired state of the followed commit, and the facts of its computation. */
export interface DesiredState extends Baseline {
  /** The followed commit, and its committer time (RFC 3339). */
  readonly commit: string;
  readonly time: string;
  readonly catalog: Catalog;
  /** Every unit as the followed commit defines it, valid or not. */
  readonly candidates: ReadonlyMap<string, Unit>;
  /** Problems of each template, without any instance. */
  readonly templateProblems: ReadonlyMap<Entry<StackTemplate>, readonly Problem[]>;
  /** Names of the instances whose newest version is invalid, with or without an active version. */
  readonly invalid: ReadonlySet<string>;
  /** Instances that are held whole, at their active version, until their deletes are approved. By name. */
  readonly held: ReadonlyMap<string, HeldDeletes>;
  /** Instances whose deletes were approved with this commit. */
  readonly approved: ReadonlySet<string>;
  /** The digests of these deletes: an approval of one is used up. */
  readonly spent: ReadonlySet<string>;
  /** The digests of approved deletes that do not happen yet, because their instance is pinned. */
  readonly unused: ReadonlySet<string>;
  /** The policies by which instances that lose servers were judged; see loss-policy.ts. */
  readonly losses: LossPolicies;
  readonly problems: readonly Problem[];
  /** Servers that have to be gone before a refused version can become active. */
  readonly awaited: ReadonlySet<string>;
  readonly counts: Counts;
}

/** The baseline before the first commit. */
export const EMPTY_BASELINE: Baseline = {
  units: new Map(),
  owners: new Map(),
  objects: new Map(),
  clients: new Map(),
  hasHierarchy: false,
  receivers: new Map(),
  receiversOfPinned: new Map(),
  places: new Map(),
};

/** The effect on servers of accepting a commit. */
export interface AcceptedEffect {
  /** How many servers it deletes, updates, creates and leaves, in words. */
  readonly text: string;
  /** The servers that it deletes, sorted. */
  readonly deletes: readonly string[];
}

/** A commit that is not followed, and the reasons. */
export interface RefusedCommit {
  readonly commit: string;
  /**
   * Null: the commit is invalid, and only another commit helps. Else an operator may accept it with `digest`. `check`:
   * what the operator has to do before that. `effect`: the effect of accepting it, if known.
   */
  readonly hold: {
    readonly kind: HoldKind;
    readonly digest: string;
    readonly check?: string | undefined;
    readonly effect?: AcceptedEffect | undefined;
  } | null;
  readonly reason: string;
  /**
   * The bad or missing signature, in one line. The commit is judged again at each poll, because the keys may change.
   */
  readonly signature?: string;
  readonly problems: readonly Problem[];
  /** RFC 3339, with milliseconds. */
  readonly since: string;
}
