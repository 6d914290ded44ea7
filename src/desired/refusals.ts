// Finds the versions that an admission refuses because of other instances. Such a version claims a server name that
// another instance has, closes a dependency cycle over several instances, or would remove servers that must stay:
// servers of protected instances, or servers handed over to an instance that cannot become active (ARCHITECTURE.md,
// "Unreadable files").

import { dependencyOrder, printCycle } from '../expand/dependency-order.ts';
import { nameAt } from '../model/address.ts';
import { type ProblemText, problemAt } from '../model/entry.ts';
import { compareNames } from '../model/names.ts';
import type { Problem } from '../model/problem.ts';
import type { Baseline } from './desired-state.ts';
import type { MissingServers } from './missing-servers.ts';
import { isProtected, type Refusal, type Unit, unitAddress } from './unit.ts';
import type { NameClaim, Versions } from './versions.ts';

/** Returns a refusal of each instance that loses a contested name. */
export function nameRefusals(versions: Versions): readonly Refusal[] {
  const refused = new Map<string, Refusal>();
  const rank = ({ key }: NameClaim): number => rankOf(key, versions);
  for (const claims of versions.claims.contested()) {
    const [first, ...others] = [...claims].sort((a, b) => rank(a) - rank(b) || compareNames(a.key, b.key));
    for (const other of others) {
      for (const [loser, winner] of first === undefined ? [] : judgeClaims(other, first, versions)) {
        const unit = versions.of(loser.key);
        if (unit === undefined) continue;
        refused.set(loser.key, { key: loser.key, problem: nameProblem(unit, loser.name, nameTaken(loser, winner)) });
      }
    }
  }
  return [...refused.values()];
}

/** Returns the rank of a claim: active versions first, then newer versions of active instances, then new instances. */
function rankOf(key: string, versions: Versions): number {
  if (versions.isStaying(key)) return 0;
  return versions.baseline.units.has(key) ? 1 : 2;
}

/**
 * Returns the losers of two claims, each with the winner. The instance that had the name before wins; if neither had
 * it, both lose.
 */
function judgeClaims(
  late: NameClaim,
  early: NameClaim,
  versions: Versions,
): readonly (readonly [loser: NameClaim, winner: NameClaim])[] {
  const had = ({ key, name }: NameClaim): boolean => versions.baseline.owners.get(name) === key;
  const losers = had(late) ? [early] : had(early) ? [late] : [late, early];
  const lost = losers.map((loser) => [loser, loser === late ? early : late] as const);
  const moving = lost.filter(([{ key }]) => versions.newest.has(key));
  // Active versions never conflict. If the baseline is inconsistent, one version is removed and its servers are left
  // alone.
  return moving.length > 0 ? moving : lost.slice(0, 1);
}

/** Returns the names of the active and the unwanted servers, by lower-case name. */
export function existingNames(
  { owners }: Pick<Baseline, 'owners'>,
  unwanted: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  return new Map([...unwanted, ...owners.keys()].map((name) => [name.toLowerCase(), name]));
}

interface CaseClash {
  /** The existing server. */
  readonly other: string;
  readonly problem: Problem;
}

/**
 * Returns the first server of a version that is not active yet and whose name differs only in case from an existing
 * server: many systems treat both names as equal.
 */
export function findCaseClash(
  unit: Unit,
  { owners, existing }: Pick<Baseline, 'owners'> & { readonly existing: ReadonlyMap<string, string> },
): CaseClash | undefined {
  for (const server of unit.servers.keys()) {
    const other = owners.has(server) ? undefined : existing.get(server.toLowerCase());
    if (other === undefined || other === server) continue;
    return { other, problem: nameProblem(unit, server, differsInCase(server, other)) };
  }
  return undefined;
}

/** Reports at the value in the instance's file that gives the server's name, else at its parameters. */
function nameProblem(unit: Unit, server: string, text: ProblemText): Problem {
  const origin = unit.nodes.get(server)?.own[0]?.blame?.('name');
  const pointer = origin !== undefined && origin.entry === unit.entry ? origin.pointer : '/parameters';
  return problemAt(unit.entry, pointer, { ...text, instances: [unit.name] });
}

/**
 * Returns refusals of instances that were protected before and would lose servers, including retained servers and
 * servers that move to an unprotected instance.
 */
export function protectedRefusals(versions: Versions): readonly Refusal[] {
  const guarded = [...versions.baseline.units].filter(
    ([key]) => versions.policyFor(key)?.protected === true && !versions.pinned.has(key),
  );
  if (guarded.length === 0) return [];
  const losses = versions.losses({ withRetained: true });
  return guarded.flatMap(([key, unit]) => {
    const loss = { deleted: losses.get(unit.name) ?? [], given: handedToUnprotected(unit, versions) };
    if (loss.deleted.length + loss.given.length === 0) return [];
    const newest = versions.newest.get(key)?.entry;
    const text = protectedText(unit.name, loss, newest === undefined);
    return [{ key, problem: problemAt(newest ?? unit.entry, '/protected', text) }];
  });
}

/**
 * Returns the servers that move from a protected instance to unprotected ones, where they could be replaced or deleted.
 */
function handedToUnprotected(unit: Unit, versions: Versions): ProtectedLoss['given'] {
  return [...unit.servers.keys()].flatMap((server) => {
    const receiver = versions.makerOf(server);
    const isGiven = receiver !== undefined && receiver.name !== unit.name && !isProtected(receiver);
    return isGiven ? [{ server, receiver: receiver.name }] : [];
  });
}

/**
 * Returns refusals of instances that would give a server to an instance that cannot become active. They are pinned too;
 * otherwise no instance would want the server and it would be deleted.
 */
export function handOverRefusals(versions: Versions, missing: MissingServers): readonly Refusal[] {
  const refused = new Map<string, Refusal>();
  for (const [server, receiver] of missing.makers) {
    const key = versions.baseline.owners.get(server);
    if (key === undefined || versions.claims.ownerOf(server) !== undefined) continue;
    const unit = versions.baseline.units.get(key);
    if (unit === undefined || versions.isRetained(key) || versions.pinned.has(key)) continue;
    const file = versions.newest.get(key)?.entry ?? unit.entry;
    const text = handOverText(server, receiver.name);
    refused.set(key, { key, problem: problemAt(file, '/stackTemplate', { ...text, instances: [unit.name] }) });
  }
  return [...refused.values()];
}

/**
 * Returns a refusal of every new version in a cycle, located at the dependency that continues the cycle in another
 * instance. A cycle that shares an instance with a refused one waits for the next round, because the refusal may break
 * it.
 */
export function cycleRefusals(versions: Versions): readonly Refusal[] {
  const starts = [...versions.newest.values()].flatMap((unit) => unit.outside.map(({ of }) => of));
  const { cycles } = dependencyOrder(
    starts,
    (server) => versions.makerOf(server)?.servers.get(server)?.spec.dependsOn ?? [],
  );
  const refused = new Map<string, Refusal>();
  for (const cycle of cycles) {
    if (cycle.some((server) => refused.has(versions.claims.ownerOf(server) ?? ''))) continue;
    for (const refusal of refuseCycle(cycle, versions)) refused.set(refusal.key, refusal);
  }
  return [...refused.values()];
}

function refuseCycle(cycle: readonly string[], versions: Versions): readonly Refusal[] {
  return cycle.flatMap((server, position) => {
    const unit = versions.makerOf(server);
    const next = cycle[(position + 1) % cycle.length];
    const link = unit?.outside.find((one) => one.of === server && one.server === next);
    if (unit === undefined || link === undefined || !versions.isNew(unit)) return [];
    const { entry, pointer } = link.origin;
    const problem = problemAt(entry, pointer, { ...circleText(cycle), instances: [unit.name] });
    return [{ key: unitAddress(unit), problem }];
  });
}

/** The most servers or instances that a text names. */
const NAMED_MAX = 5;

/** Returns the text for a server that is handed over to an instance that cannot become active. */
function handOverText(server: string, receiver: string): ProblemText {
  return {
    code: 'hand_over_waits',
    message: `"${server}" is handed over to the instance "${receiver}", which cannot become active`,
    hint: `correct "${receiver}" first; until then nothing of either changes`,
  };
}

/** The servers that a commit would remove from a protected instance. */
interface ProtectedLoss {
  readonly deleted: readonly string[];
  /** Servers that move to instances without protection. */
  readonly given: readonly { readonly server: string; readonly receiver: string }[];
}

/**
 * Returns the text for a commit that would remove servers from a protected instance. `isGone`: its file was removed.
 */
function protectedText(instance: string, { deleted, given }: ProtectedLoss, isGone: boolean): ProblemText {
  const losses = [
    ...(deleted.length > 0 ? [`delete ${some(deleted)}`] : []),
    ...[...Map.groupBy(given, ({ receiver }) => receiver)]
      .slice(0, NAMED_MAX)
      .map(
        ([receiver, servers]) =>
          `hand ${some(servers.map(({ server }) => server))} over to "${receiver}", which is not`,
      ),
  ];
  const lift = 'set protected: false in a commit of its own first, in a pull request of its own where those are merged';
  const ways = [
    ...(isGone ? ['bring the file back; to remove it, '] : []),
    ...(given.length > 0 ? ['protect the instance that takes over too, or '] : []),
  ];
  return {
    code: 'protected_instance',
    message: `the instance "${instance}" is protected, and this would ${losses.join(', and ')}`,
    hint: [...ways, lift].join(''),
    instances: [instance],
  };
}

function some(servers: readonly string[]): string {
  return `${servers.slice(0, NAMED_MAX).join(', ')}${servers.length > NAMED_MAX ? ' and others' : ''}`;
}

/** Returns the text for a claim that loses to another one. */
function nameTaken(loser: NameClaim, winner: NameClaim): ProblemText {
  const other = nameAt(winner.key);
  return {
    code: 'server_name_taken',
    message: `the server name "${loser.name}" is also that of a server of the instance "${other}"`,
    hint: 'server names are unique over all instances, without regard to case: change a parameter that the name is made of',
  };
}

/** Returns the text for a name that differs only in case from that of an existing server. */
function differsInCase(server: string, other: string): ProblemText {
  return {
    code: 'server_name_taken',
    message: `the server name "${server}" differs only in case from that of the server "${other}"`,
    hint: `choose another name, or remove "${other}" in a commit of its own: this instance becomes active once it is deleted`,
  };
}

/** Returns the text for a dependency cycle, with the same message as for a cycle within a stack. */
function circleText(cycle: readonly string[]): ProblemText {
  return {
    code: 'dependency_cycle',
    message: `dependencies go in a circle: ${printCycle(cycle)}`,
    hint: 'remove one of these depends_on',
  };
}
