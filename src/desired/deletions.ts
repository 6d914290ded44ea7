// How much a commit may take away before a person has said yes. docs/concepts.md, wrong commits. Pure: what is recorded and
// allowed is handed in.
import { deletesDigest } from '../machine/hold-digests.ts';
import type { Removal } from '../machine/removals.ts';
import { compareNames } from '../model/names.ts';
import type { HeldRow } from '../model/rows.ts';
import type { Spec } from '../model/spec.ts';
import type { Lifts } from './lifts.ts';
import { undeterminedText } from './undetermined.ts';

/** What rows and settings say about deletes and replacements. */
export interface DeletionFacts {
  /** How many that nobody approved may be under way or have happened within the last hour. */
  readonly limit: number;
  /** Those that have begun within the last hour, or are not over. */
  readonly recent: number;
  /** Whether one is among these. */
  readonly isRecent: (removal: Removal) => boolean;
  /** Those that are wanted and not done, by instance. */
  readonly underWay: ReadonlyMap<string, readonly Removal[]>;
  /** Whether one of these goes on where that is wanted of the server; undefined: nobody wants it. */
  readonly goesOn: (server: string, spec: Spec | undefined) => boolean;
  /** The building of a server; undefined where none was made, so that nothing can be deleted. */
  readonly incarnationOf: (server: string) => number | undefined;
  /** Whether a person approved a held set with this digest. */
  readonly isApproved: (digest: string) => boolean;
  /** What was held until now, by instance: what is held stays so, however much time passes. */
  readonly heldBefore: ReadonlyMap<string, HeldBefore>;
  /** The largest number in a `Treeline-Approve-Deletes` trailer of the commits that are being taken; 0 without one. */
  readonly approvedCount: number;
}

/** What is remembered of deletes that are held. */
export type HeldBefore = Pick<HeldRow, 'digest' | 'servers' | 'reason' | 'isHandOver'>;

export interface HeldDeletes extends Lifts {
  readonly digest: string;
  /** Sorted by name. */
  readonly removals: readonly Removal[];
  readonly reason: string;
  /** They may be meant for an instance that is wrong: they wait also where the budget would let them go. */
  readonly isHandOver?: boolean;
}

export interface Judgement {
  /** Instances that are held whole, by name. */
  readonly held: ReadonlyMap<string, HeldDeletes>;
  /** Instances whose deletes a person or a trailer approved, by name. They do not count. */
  readonly approved: ReadonlySet<string>;
  /** The digests of what goes with approval: each is used up by that. */
  readonly spent: ReadonlySet<string>;
  /** The digests of what is approved and does not go yet, as its instance cannot come into force for another reason. */
  readonly unused: ReadonlySet<string>;
}

/** What a commit means for servers, if all of it comes into force. */
export interface Consequences {
  /** The servers that it takes away, by instance. */
  readonly removed: ReadonlyMap<string, readonly string[]>;
  /** What it wants of a server that belongs to an instance until now; undefined: nobody wants it. */
  readonly specOf: (server: string, instance: string) => Spec | undefined;
  /** Whether an instance leaves what it does not want any more as it is. */
  readonly retains: (instance: string) => boolean;
  /** Whether an instance stays at the version in force for another reason than what it would take away. */
  readonly isPinned: (instance: string) => boolean;
  /** What is in this commit and may be meant to take over servers that go by it; see undetermined.ts. */
  readonly undetermined: readonly string[];
}

/** Returns what is held of what would go. */
export function judgeDeletions(consequences: Consequences, facts: DeletionFacts): Judgement {
  const all = removalsByInstance(consequences, facts);
  const open = new Map([...all].filter(([, removals]) => !facts.isApproved(deletesDigest(removals))));
  const isApproved = (instance: string): boolean => all.has(instance) && !open.has(instance);
  const count = sum(open);
  if (count > 0 && count <= facts.approvedCount) return approvalOf(all, consequences);
  // Some of what would go has begun: it counts once, and not at all where it is approved by now.
  const begun = [...all.values()].flat().filter(facts.isRecent).length;
  const recent = facts.recent - begun;
  const isOver = recent + count > facts.limit;
  const reason = `over all instances, ${count} servers would be deleted or replaced without approval, and ${recent} were within the last hour; the limit is ${facts.limit}`;
  const held = new Map<string, HeldDeletes>();
  for (const [instance, removals] of open) {
    const digest = deletesDigest(removals);
    const before = facts.heldBefore.get(instance);
    const handOver = handOverReason({ removals, lost: consequences.removed.get(instance), before }, consequences);
    if (handOver !== undefined) held.set(instance, { digest, removals, reason: handOver, isHandOver: true });
    else if (isOver || before?.digest === digest) held.set(instance, { digest, removals, reason });
  }
  return { ...approvalOf(new Map([...all].filter(([instance]) => isApproved(instance))), consequences), held };
}

interface Loss {
  readonly removals: readonly Removal[];
  /** Servers that this commit takes away. */
  readonly lost: readonly string[] | undefined;
  readonly before: HeldBefore | undefined;
}

/**
 * Why servers wait that may be meant for a wrong instance; undefined where none are. They wait for as long as one of them
 * would go: other ones that go with it later change nothing about that.
 */
function handOverReason(
  { removals, lost = [], before }: Loss,
  { undetermined }: Pick<Consequences, 'undetermined'>,
): string | undefined {
  const isAmong = (servers: readonly string[]): boolean => {
    const names = new Set(servers);
    return removals.some(({ server }) => names.has(server));
  };
  if (undetermined.length > 0 && isAmong(lost)) return undeterminedText(undetermined);
  return before?.isHandOver === true && isAmong(before.servers) ? before.reason : undefined;
}

/** Returns whether two judgements of the same commit say the same. */
export function isSameJudgement(a: Judgement, b: Judgement): boolean {
  return textOf(a) === textOf(b);
}

function textOf({ held, approved, spent, unused }: Judgement): string {
  return JSON.stringify([
    [...held].map(([instance, { digest, reason }]) => [instance, digest, reason]),
    [...approved],
    [...spent],
    [...unused],
  ]);
}

function approvalOf(removals: ReadonlyMap<string, readonly Removal[]>, { removed, isPinned }: Consequences): Judgement {
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
    // One that is being replaced is under way already.
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
