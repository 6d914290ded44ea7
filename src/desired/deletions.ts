// Judges which deletes of a commit wait for an operator's approval. docs/concepts.md, wrong commits. Pure: the caller
// passes rows and limits.
import { deletesDigest } from '../machine/hold-digests.ts';
import type { Removal } from '../machine/removals.ts';
import { compareNames } from '../model/names.ts';
import type { HeldRow } from '../model/rows.ts';
import type { Spec } from '../model/spec.ts';
import { undeterminedText } from './undetermined.ts';

/** The facts about deletes and replacements from rows and settings. */
export interface DeletionFacts {
  /** The most removals without approval that may be in progress, or have begun or ended within the last hour. */
  readonly limit: number;
  /** The number of removals without approval that are in progress, or began or ended within the last hour. */
  readonly recent: number;
  /** Returns true if `recent` counts a removal. */
  readonly isRecent: (removal: Removal) => boolean;
  /** Removals that are wanted and not finished, by instance. */
  readonly underWay: ReadonlyMap<string, readonly Removal[]>;
  /**
   * Returns true if a removal in progress continues when the server has this wanted spec; undefined: it is unwanted.
   */
  readonly isContinued: (server: string, spec: Spec | undefined) => boolean;
  /** Returns the incarnation of a server; undefined if none was made, so that nothing can be deleted. */
  readonly incarnationOf: (server: string) => number | undefined;
  /** Returns true if an operator approved a held set with this digest. */
  readonly isApproved: (digest: string) => boolean;
  /** The previous holds, by instance. A hold stays as long as one of its servers would be removed. */
  readonly heldBefore: ReadonlyMap<string, HeldBefore>;
  /**
   * The largest number in a `Treeline-Approve-Deletes` trailer of the commits that are being activated; 0 without one.
   */
  readonly approvedCount: number;
  /** During a recovery the rows may be wrong, so all removals without approval wait. Omitted: no recovery. */
  readonly isRecovering?: boolean;
}

/** The recorded facts of held deletes. */
export type HeldBefore = Pick<HeldRow, 'digest' | 'servers' | 'reason' | 'isHandOver'>;

/** The deletes of an instance that wait for approval. */
export interface HeldDeletes {
  readonly digest: string;
  /** Sorted by name. */
  readonly removals: readonly Removal[];
  readonly reason: string;
  /**
   * The deletes wait even within the budget: the servers may be meant for an invalid instance, or be protected or
   * retained.
   */
  readonly isHandOver?: boolean;
}

/** The result of judging the deletes of a commit. */
export interface DeleteJudgement {
  /** Instances that are held whole, by name. */
  readonly held: ReadonlyMap<string, HeldDeletes>;
  /** Instances whose deletes an operator or a trailer approved, by name. The budget does not count these deletes. */
  readonly approved: ReadonlySet<string>;
  /** The digests of approved deletes that this commit carries out. Each uses up its approval. */
  readonly spent: ReadonlySet<string>;
  /** The digests of approved deletes that do not happen yet, because their instance is pinned for another reason. */
  readonly unused: ReadonlySet<string>;
}

/** The versions of a commit that become active. */
export interface Admitted {
  /** Returns the wanted spec of a server; undefined: the server is unwanted. */
  specOf(server: string): Spec | undefined;
  /** Returns true if an instance leaves unwanted servers as they are. */
  retains(instance: string): boolean;
  /** Returns true if an instance is pinned for another reason than its deletes. */
  isPinned(instance: string): boolean;
}

/** The consequences of a commit for servers, if all of it becomes active. */
export interface Consequences {
  /** The servers that the commit removes, by instance. */
  readonly removed: ReadonlyMap<string, readonly string[]>;
  /** Returns the versions that decide about the servers which an instance owned before. */
  readonly versionsFor: (instance: string) => Admitted;
  /** Returns why the deletes of an instance wait regardless of budget and trailer; undefined if they do not. */
  readonly holdOf: (instance: string) => string | undefined;
  /** Returns the names and paths that may be meant to take over the servers of an instance; see undetermined.ts. */
  readonly receiversOf: (instance: string) => readonly string[];
}

/** Returns the judgement of the deletes: which are held, approved, or allowed. */
export function judgeDeletions(consequences: Consequences, facts: DeletionFacts): DeleteJudgement {
  const all = removalsByInstance(consequences, facts);
  const asked = new Map([...all].filter(([, removals]) => !facts.isApproved(deletesDigest(removals))));
  const count = sum(asked);
  const holdOf = (instance: string): string | undefined =>
    consequences.removed.has(instance) ? consequences.holdOf(instance) : undefined;
  const isOpen = (instance: string): boolean => count > facts.approvedCount || holdOf(instance) !== undefined;
  const open = new Map([...asked].filter(([instance]) => isOpen(instance)));
  const isApproved = (instance: string): boolean => all.has(instance) && !open.has(instance);
  // Deletes in progress count once, and not at all if they have been approved since.
  const begun = [...all.values()].flat().filter(facts.isRecent).length;
  const recent = facts.recent - begun;
  const isOver = facts.isRecovering === true || recent + count > facts.limit;
  const overLimit =
    `over all instances, ${count} servers would be deleted or replaced without approval, and ${recent} were ` +
    `within the last hour; the limit is ${facts.limit}`;
  const reason = facts.isRecovering === true ? RECOVERING : overLimit;
  const held = new Map<string, HeldDeletes>();
  for (const [instance, removals] of open) {
    const digest = deletesDigest(removals);
    const before = facts.heldBefore.get(instance);
    const loss = { instance, removals, lost: consequences.removed.get(instance), before };
    const handOver = handOverReason(loss, consequences) ?? holdOf(instance);
    if (handOver !== undefined) held.set(instance, { digest, removals, reason: handOver, isHandOver: true });
    else if (isOver) held.set(instance, { digest, removals, reason });
    // Held deletes stay held even if a commit removes fewer servers or the hour has passed: the operator was asked.
    else if (before !== undefined && isAnyOf(removals, before.servers))
      held.set(instance, { digest, removals, reason: ASKED });
  }
  return { ...judgeApproval(new Map([...all].filter(([instance]) => isApproved(instance))), consequences), held };
}

interface Loss {
  readonly instance: string;
  readonly removals: readonly Removal[];
  /** Servers that this commit removes. */
  readonly lost: readonly string[] | undefined;
  readonly before: HeldBefore | undefined;
}

/**
 * Returns the reason if removed servers may be meant for an invalid instance, else undefined. They wait as long as one
 * of them would be removed, even if further servers are added.
 */
function handOverReason(
  { instance, removals, lost = [], before }: Loss,
  { receiversOf }: Pick<Consequences, 'receiversOf'>,
): string | undefined {
  const receivers = receiversOf(instance);
  if (receivers.length > 0 && isAnyOf(removals, lost)) return undeterminedText(receivers);
  return before?.isHandOver === true && isAnyOf(removals, before.servers) ? before.reason : undefined;
}

const RECOVERING = 'these servers would be deleted or replaced after a recovery';
const ASKED = 'some of these servers were held before, and their removal is not approved';

function isAnyOf(removals: readonly Removal[], servers: readonly string[]): boolean {
  const names = new Set(servers);
  return removals.some(({ server }) => names.has(server));
}

function judgeApproval(
  removals: ReadonlyMap<string, readonly Removal[]>,
  { removed, versionsFor }: Consequences,
): DeleteJudgement {
  const isUsed = ([instance]: readonly [string, unknown]): boolean =>
    !(removed.has(instance) && versionsFor(instance).isPinned(instance));
  const used = [...removals].filter(isUsed);
  const unused = [...removals].filter((one) => !isUsed(one));
  return {
    held: new Map(),
    approved: new Set(used.map(([instance]) => instance)),
    spent: new Set(used.map(([, servers]) => deletesDigest(servers))),
    unused: new Set(unused.map(([, servers]) => deletesDigest(servers))),
  };
}

function removalsByInstance(
  { removed, versionsFor }: Consequences,
  { underWay, isContinued, incarnationOf }: DeletionFacts,
): ReadonlyMap<string, readonly Removal[]> {
  const all = new Map<string, Removal[]>();
  for (const [instance, removals] of underWay) {
    const versions = versionsFor(instance);
    const continuing = removals.filter(({ server }) => {
      const spec = versions.specOf(server);
      return isContinued(server, spec) && !(spec === undefined && versions.retains(instance));
    });
    if (continuing.length > 0) all.set(instance, continuing);
  }
  for (const [instance, servers] of removed) {
    // A server that is being replaced is already counted.
    const known = all.get(instance) ?? [];
    const counted = new Set(known.map(({ server }) => server));
    const removals = servers.flatMap((server) => {
      const incarnation = counted.has(server) ? undefined : incarnationOf(server);
      return incarnation === undefined ? [] : [{ server, incarnation }];
    });
    if (removals.length > 0) all.set(instance, [...known, ...removals]);
  }
  for (const removals of all.values()) removals.sort((a, b) => compareNames(a.server, b.server));
  return all;
}

function sum(removals: ReadonlyMap<string, readonly Removal[]>): number {
  return [...removals.values()].reduce((total, { length }) => total + length, 0);
}
