// Judges which deletes of a commit wait for a person's approval. docs/concepts.md, wrong commits. Pure: the caller
// passes rows and limits.
// Lifted protections that take effect only later are recorded with the deletes that are held until then.
import { deletesDigest } from '../machine/hold-digests.ts';
import type { Removal } from '../machine/removals.ts';
import { instanceAddress, nameAt } from '../model/address.ts';
import { compareNames } from '../model/names.ts';
import type { HeldRow } from '../model/rows.ts';
import type { Spec } from '../model/spec.ts';
import { undeterminedText } from './undetermined.ts';

/** The facts about deletes and replacements from rows and settings. */
export interface DeletionFacts {
  /** How many without approval may be in progress or have happened within the last hour. */
  readonly limit: number;
  /** Number of those that began within the last hour, or are not over. */
  readonly recent: number;
  /** Returns true if a removal is among these. */
  readonly isRecent: (removal: Removal) => boolean;
  /** Removals that are wanted and not done, by instance. */
  readonly underWay: ReadonlyMap<string, readonly Removal[]>;
  /**
   * Returns true if a removal in progress continues when that spec is wanted of the server; undefined: it is unwanted.
   */
  readonly goesOn: (server: string, spec: Spec | undefined) => boolean;
  /** Returns the incarnation of a server; undefined if none was made, so that nothing can be deleted. */
  readonly incarnationOf: (server: string) => number | undefined;
  /** Returns true if a person approved a held set with this digest. */
  readonly isApproved: (digest: string) => boolean;
  /** The servers that wait as a commit that a merge brings from elsewhere protects or retains them, by name. */
  readonly guarded?: ReadonlyMap<string, Guard>;
  /** The previous holds, by instance: a hold stays while one of its servers would go, however much time passes. */
  readonly heldBefore: ReadonlyMap<string, HeldBefore>;
  /**
   * The largest number in a `Treeline-Approve-Deletes` trailer of the commits that are being activated; 0 without one.
   */
  readonly approvedCount: number;
}

/** Why a server waits that a commit from elsewhere would have kept. */
export interface Guard {
  readonly reason: string;
  /** That commit protects it: it may not go to an instance either that is not protected. */
  readonly isProtected: boolean;
}

/** The recorded facts of held deletes. */
export type HeldBefore = Pick<HeldRow, 'digest' | 'servers' | 'reason' | 'isHandOver' | 'isGuarded'>;

/** The deletes of an instance that wait for approval. */
export interface HeldDeletes extends Lifts {
  readonly digest: string;
  /** Sorted by name. */
  readonly removals: readonly Removal[];
  readonly reason: string;
  /** They may be meant for an invalid instance, or a merge guards them: they wait even if the budget would allow them. */
  readonly isHandOver?: boolean;
  /** See HeldRow. */
  readonly isGuarded?: boolean;
}

/** The result of judging the deletes of a commit. */
export interface DeleteJudgement {
  /** Instances that are held whole, by name. */
  readonly held: ReadonlyMap<string, HeldDeletes>;
  /** Instances whose deletes a person or a trailer approved, by name. These deletes do not count. */
  readonly approved: ReadonlySet<string>;
  /** The digests of the approved deletes that happen: each approval is used up. */
  readonly spent: ReadonlySet<string>;
  /**
   * The digests of approved deletes that do not happen yet, as their instance cannot become active for another reason.
   */
  readonly unused: ReadonlySet<string>;
}

/** The consequences of a commit for servers, if all of it becomes active. */
export interface Consequences {
  /** The servers that it takes away, by instance. */
  readonly removed: ReadonlyMap<string, readonly string[]>;
  /** Those that it hands over to instances without protection, by the instance that had them: no deletes, unless these are guarded. */
  readonly handedOver: ReadonlyMap<string, readonly string[]>;
  /** Returns the spec it wants of a server that an instance owned before; undefined: the server is unwanted. */
  readonly specOf: (server: string, instance: string) => Spec | undefined;
  /** Returns true if an instance leaves unwanted servers as they are. */
  readonly retains: (instance: string) => boolean;
  /** Returns true if an instance is pinned for another reason than its deletes. */
  readonly isPinned: (instance: string) => boolean;
  /** Instances and files of this commit that may be meant to take over removed servers; see undetermined.ts. */
  readonly undetermined: readonly string[];
}

/** Returns the judgement of the deletes: which are held, approved, or allowed. */
export function judgeDeletions(wanted: Consequences, facts: DeletionFacts): DeleteJudgement {
  const consequences = { ...wanted, removed: withGuarded(wanted, facts) };
  const all = removalsByInstance(consequences, facts);
  const guardOf = (instance: string): Guard | undefined => guardAmong(consequences.removed.get(instance), facts);
  const asked = new Map([...all].filter(([, removals]) => !facts.isApproved(deletesDigest(removals))));
  const count = sum(asked);
  // The author of a trailer has not seen what another one protects meanwhile.
  const open =
    count > facts.approvedCount ? asked : new Map([...asked].filter(([instance]) => guardOf(instance) !== undefined));
  const isApproved = (instance: string): boolean => all.has(instance) && !open.has(instance);
  // Deletes that have begun count once, and not at all if they are approved by now.
  const begun = [...all.values()].flat().filter(facts.isRecent).length;
  const recent = facts.recent - begun;
  const isOver = recent + count > facts.limit;
  const reason = `over all instances, ${count} servers would be deleted or replaced without approval, and ${recent} were within the last hour; the limit is ${facts.limit}`;
  const held = new Map<string, HeldDeletes>();
  for (const [instance, removals] of open) {
    const digest = deletesDigest(removals);
    const before = facts.heldBefore.get(instance);
    const loss = { removals, lost: consequences.removed.get(instance), before };
    const guard = guardOf(instance);
    const handOver = guard?.reason ?? handOverReason(loss, consequences);
    const isGuarded = guard?.isProtected === true || before?.isGuarded === true;
    const flags = { isHandOver: true, ...(isGuarded ? { isGuarded } : {}) };
    if (handOver !== undefined) held.set(instance, { digest, removals, reason: handOver, ...flags });
    else if (isOver) held.set(instance, { digest, removals, reason });
    // What a person was asked about does not go silently, because a commit asks for less or time has passed.
    else if (before !== undefined && isAnyOf(removals, before.servers))
      held.set(instance, { digest, removals, reason: ASKED });
  }
  return { ...judgeApproval(new Map([...all].filter(([instance]) => isApproved(instance))), consequences), held };
}

/** Returns a guard of one of these servers, if there is one: rather one by a protection. */
function guardAmong(lost: readonly string[] = [], { guarded = NO_GUARDS }: DeletionFacts): Guard | undefined {
  const guards = guarded.size === 0 ? [] : lost.flatMap((server) => guarded.get(server) ?? []);
  return guards.find(({ isProtected }) => isProtected) ?? guards[0];
}

const NO_GUARDS: ReadonlyMap<string, Guard> = new Map();

/** Returns what is removed, and what is handed over although it is guarded, or was held for that before. */
function withGuarded(
  { removed, handedOver }: Consequences,
  { guarded = NO_GUARDS, heldBefore }: DeletionFacts,
): Consequences['removed'] {
  const all = new Map(removed);
  for (const [instance, servers] of handedOver) {
    const before = heldBefore.get(instance);
    const held = new Set(before?.isGuarded === true ? before.servers : []);
    const kept = servers.filter((server) => guarded.get(server)?.isProtected === true || held.has(server));
    if (kept.length > 0) all.set(instance, [...(removed.get(instance) ?? []), ...kept]);
  }
  return all;
}

interface Loss {
  readonly removals: readonly Removal[];
  /** Servers that this commit removes. */
  readonly lost: readonly string[] | undefined;
  readonly before: HeldBefore | undefined;
}

/**
 * Returns why servers wait that may be meant for an invalid instance; undefined if there are none. They wait as long as
 * one of them would be removed, even if other servers join them later.
 */
function handOverReason(
  { removals, lost = [], before }: Loss,
  { undetermined }: Pick<Consequences, 'undetermined'>,
): string | undefined {
  if (undetermined.length > 0 && isAnyOf(removals, lost)) return undeterminedText(undetermined);
  return before?.isHandOver === true && isAnyOf(removals, before.servers) ? before.reason : undefined;
}

const ASKED = 'some of these servers were held before, and their removal is not approved';

function isAnyOf(removals: readonly Removal[], servers: readonly string[]): boolean {
  const names = new Set(servers);
  return removals.some(({ server }) => names.has(server));
}

function judgeApproval(
  removals: ReadonlyMap<string, readonly Removal[]>,
  { removed, isPinned }: Consequences,
): DeleteJudgement {
  const isUsed = ([instance]: readonly [string, unknown]): boolean => !(removed.has(instance) && isPinned(instance));
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
  { removed, specOf, retains }: Consequences,
  { underWay, goesOn, incarnationOf }: DeletionFacts,
): ReadonlyMap<string, readonly Removal[]> {
  const all = new Map<string, Removal[]>();
  for (const [instance, removals] of underWay) {
    const going = removals.filter(({ server }) => {
      const spec = specOf(server, instance);
      return goesOn(server, spec) && !(spec === undefined && retains(instance));
    });
    if (going.length > 0) all.set(instance, going);
  }
  for (const [instance, servers] of removed) {
    // A server that is being replaced is in progress already.
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

/** The lifts recorded with held deletes. */
interface Lifts {
  /** The instance itself was protected, and a commit has lifted that. */
  readonly isLifted?: boolean;
  /** Names of other instances whose protection was lifted too, and that are pinned while this one is held. */
  readonly lifts?: readonly string[];
}

/** Returns the keys of the units with a recorded lift, from the holds by instance. */
export function liftsIn(held: Iterable<readonly [string, Lifts]>): ReadonlySet<string> {
  const names = [...held].flatMap(([instance, { isLifted = false, lifts = [] }]) => [
    ...(isLifted ? [instance] : []),
    ...lifts,
  ]);
  return new Set(names.map((name) => instanceAddress(name)));
}

/**
 * Returns the lifts to record with the held deletes of an instance. `unprotected`: keys of the units whose protection
 * is lifted. `waits`: returns true if an instance is pinned and not held itself.
 */
export function findLifts(
  instance: string,
  unprotected: ReadonlySet<string>,
  waits: (instance: string) => boolean,
): Lifts {
  const names = [...unprotected].map((key) => nameAt(key));
  const lifts = names.filter((name) => name !== instance && waits(name)).sort();
  return { ...(names.includes(instance) ? { isLifted: true } : {}), ...(lifts.length > 0 ? { lifts } : {}) };
}
