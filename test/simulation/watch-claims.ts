// Watches each commit that comes into force: nothing of a protected instance is given up, nobody is refused for want of a
// server that is there, and no clientcert is hidden by one that is refused.
import type { DesiredState } from '../../src/desired/desired-state.ts';
import { fileStateOf, isWhole, validShape } from './edit-files.ts';
import type { Facts } from './facts.ts';
import type { Followed, FollowedCommit } from './followed.ts';
import { givesUpProtected } from './judge-delete.ts';
import { mayHaveNewReceiver } from './receivers.ts';
import { GLOBAL, type ModelFiles, outsideNeeds, type Shape, serversOf } from './stacks.ts';
import { INSTANCES } from './themes/theme.ts';

const CLIENTCERT = /^types\/clientcert\/([\w-]+)\.yaml$/;

/** Looks at the commit that came into force last. */
export function watchClaims(facts: Facts, followed: Followed): void {
  const desired = facts.shown?.current.get();
  const { last } = followed;
  if (desired === undefined || last === undefined) return;
  const lost = givesUpProtected(facts, followed);
  if (lost !== undefined) facts.fail('no protected server is given up', lost);
  const named = new Set(
    desired.problems.filter(({ code }) => code === 'unknown_dependency').flatMap((it) => it.instances ?? []),
  );
  for (const instance of INSTANCES) {
    const shape = named.has(instance) ? validShape(last.files, instance) : undefined;
    if (
      shape !== undefined &&
      hasOutsideNeeds(shape, instance, desired) &&
      !keepsItsNeeds({ instance, shape, last }, desired)
    ) {
      facts.fail(
        'nobody misses a server that is there',
        `${instance} at ${last.commit} needs ${outsideNeeds(shape).join(', ')}`,
      );
    }
  }
  watchYes(facts, followed);
  watchApproved(facts);
  watchKnown(facts, followed);
  for (const [path, { mode }] of last.files) {
    const [, node] = CLIENTCERT.exec(path) ?? [];
    const isValidEntry = mode === '100644' && isWhole(last.files, GLOBAL);
    if (node !== undefined && isValidEntry) watchClientcert(facts, node);
  }
}

/** What its own newest version gives up is not there for that version, though it is there. */
function hasOutsideNeeds(shape: Shape, instance: string, { owners }: Pick<DesiredState, 'owners'>): boolean {
  return outsideNeeds(shape).every(
    (server) => owners.has(server) && owners.get(server) !== `stack-instance/${instance}`,
  );
}

interface Refused {
  readonly instance: string;
  readonly shape: Shape;
  readonly last: FollowedCommit;
}

/**
 * Whether a server that a refused instance needs is there only because that one is refused: its owner gives it up, and stays
 * since it hands servers over to the refused one or takes some of its, or of another that stays for the same reason.
 */
function keepsItsNeeds({ instance, shape, last }: Refused, desired: DesiredState): boolean {
  return outsideNeeds(shape).some((server) => {
    const owner = desired.owners.get(server)?.slice('stack-instance/'.length) ?? '';
    const own = newestServers(last.files, owner);
    return own !== undefined && !own.includes(server) && staysFor(instance, owner, { last, desired });
  });
}

/** The servers of an instance's newest version: none where it is removed, undefined where it is not known them. */
function newestServers(files: ModelFiles, instance: string): readonly string[] | undefined {
  const shape = validShape(files, instance);
  if (shape !== undefined) return serversOf(shape);
  return fileStateOf(files, instance) === 'absent' ? [] : undefined;
}

/** Whether an instance stays only since servers pass between it and `refused`, directly or by others that stay for that. */
function staysFor(
  refused: string,
  instance: string,
  { last, desired }: { readonly last: FollowedCommit; readonly desired: DesiredState },
): boolean {
  const passesTo = (giver: string, taker: string): boolean => {
    const own = new Set(newestServers(last.files, giver) ?? serversInForce(desired, giver));
    const given = serversInForce(desired, giver).filter((server) => !own.has(server));
    return newestServers(last.files, taker)?.some((server) => given.includes(server)) === true;
  };
  const chain = [instance];
  for (const one of chain) {
    if (!last.staying.has(one) || last.held.has(one)) continue;
    const others: readonly string[] = INSTANCES.filter((other) => passesTo(one, other) || passesTo(other, one));
    if (others.includes(refused)) return true;
    chain.push(...others.filter((other) => !chain.includes(other)));
  }
  return false;
}

function serversInForce({ units }: DesiredState, instance: string): readonly string[] {
  return [...(units.get(`stack-instance/${instance}`)?.servers.keys() ?? [])];
}

interface Approved extends Refused {
  readonly all: readonly FollowedCommit[];
  readonly facts: Facts;
}

/** Whether another instance keeps a server of its names, and may. */
function hasTakenNames({ instance, shape, all, facts }: Approved, desired: DesiredState): boolean {
  const names = new Set(serversOf(shape).map((name) => name.toLowerCase()));
  const owners = [...desired.owners].filter(([server]) => names.has(server.toLowerCase())).map(([, owner]) => owner);
  return owners.some((owner) => {
    const name = owner.slice('stack-instance/'.length);
    return name !== instance && !mustGive(name, { taker: shape, all, git: facts.git }, desired);
  });
}

/** Returns true if the name of a server differs only in case from one that has a row: such a version is refused. */
export function differsInCase(shape: Shape, { core }: Pick<Facts, 'core'>): boolean {
  const existing = [...(core?.ledger.list('server').keys() ?? [])];
  return serversOf(shape).some((name) =>
    existing.some((other) => other !== name && other.toLowerCase() === name.toLowerCase()),
  );
}

/** Whether another instance that stays as it was asks for a server of its names, in whatever spelling: none of both comes first. */
function isDisputed({ instance, shape, last }: Refused): boolean {
  const names = new Set(serversOf(shape).map((name) => name.toLowerCase()));
  return INSTANCES.some((other) => {
    const isOther = other !== instance && last.staying.has(other);
    return isOther && newestServers(last.files, other)?.some((name) => names.has(name.toLowerCase())) === true;
  });
}

/**
 * Whether nothing allows an instance to keep what it gives to the taker: it gives it all to the taker, and if it was
 * protected, the commit that lifted that came with the one that gives.
 */
function mustGive(
  giver: string,
  { taker, all, git }: { readonly taker: Shape; readonly all: readonly FollowedCommit[]; readonly git: Facts['git'] },
  desired: DesiredState,
): boolean {
  const last = all.at(-1);
  const from = all.findLast((one) => one.commit !== last?.commit);
  if (last === undefined || from === undefined || last.held.has(giver) || !last.staying.has(giver)) return false;
  const taken = serversOf(taker);
  const inForce = serversInForce(desired, giver);
  if (fileStateOf(last.files, giver) !== 'absent' || !inForce.every((server) => taken.includes(server))) return false;
  return git.firstParents(last.commit).some(({ oid, files }) => {
    const lifting = validShape(files, giver);
    const isBetween = oid !== last.commit && oid !== from.commit && git.isAncestor(from.commit, oid);
    if (!isBetween || lifting === undefined || lifting.protected) return false;
    return inForce.every((server) => serversOf(lifting).includes(server));
  });
}

/** Whether it hands a server to an instance that waits for an approval of its own: then it waits for that one. */
function handsToHeld(
  shape: Shape,
  instance: string,
  { last, desired }: { readonly last: FollowedCommit; readonly desired: DesiredState },
): boolean {
  const own = serversOf(shape);
  const given = serversInForce(desired, instance).filter((server) => !own.includes(server));
  return [...last.held].some(
    (taker) => newestServers(last.files, taker)?.some((server) => given.includes(server)) === true,
  );
}

/** What is held at a commit and approved comes into force: nobody finds only then that it may not. */
function watchYes(facts: Facts, { all }: Followed): void {
  const desired = facts.shown?.current.get();
  const [before, last] = all.slice(-2);
  if (desired === undefined || before === undefined || last === undefined || before.commit !== last.commit) return;
  for (const instance of before.held) {
    // What is wrong besides may be held and stay as it was after that.
    if (before.invalid.has(instance)) continue;
    const shape = validShape(last.files, instance);
    // So is what needs a server that went with another approved removal: the commit contradicts itself.
    const isValidEntry = shape !== undefined && hasOutsideNeeds(shape, instance, desired);
    // Where another one makes a server of its names, asks for one, or keeps it as it is held, it waits for that one.
    if (
      !isValidEntry ||
      hasTakenNames({ instance, shape, last, all, facts }, desired) ||
      differsInCase(shape, facts) ||
      isDisputed({ instance, shape, last }) ||
      handsToHeld(shape, instance, { last, desired })
    )
      continue;
    if (!last.staying.has(instance) || last.held.has(instance)) continue;
    facts.fail('what was approved comes to pass', `${instance} is refused at ${last.commit}, where it was held before`);
  }
}

/** What was approved counts no more, also what goes since an earlier commit. */
function watchApproved(facts: Facts): void {
  const { shown, approved } = facts;
  const instances = shown?.current.get()?.approved;
  if (shown === undefined || instances === undefined || instances.size === 0) return;
  for (const [name, row] of shown.ledger.list('server')) {
    if (row.approved || row.applied === null || !instances.has(row.instance) || !approved.has(name)) continue;
    const isGoing = row.wanted === null ? row.policy.deletion === 'delete' : row.replacing && !row.policy.protected;
    if (isGoing)
      facts.fail('what was approved does not count against the budget', `${name}, which goes already, counts`);
  }
}

/** What was wrong before may be meant for other servers, but not for those that go only now. */
function watchKnown(facts: Facts, { all }: Followed): void {
  const [before, last] = all.slice(-2);
  if (before === undefined || last === undefined || mayHaveNewReceiver(last.files, before.files)) return;
  // The rows do not tell what was wrong in a commit that is not in the copy any more.
  if (!facts.isHere(before.commit)) return;
  for (const [instance, { isHandOver, reason }] of facts.shown?.current.get()?.held ?? []) {
    if (isHandOver !== true || !reason.includes('may be what takes them over') || before.held.has(instance)) continue;
    facts.fail('what was wrong before holds nothing', `${instance} is held at ${last.commit}: ${reason}`);
  }
}

function watchClientcert(facts: Facts, node: string): void {
  const desired = facts.shown?.current.get();
  const isOfStack = desired === undefined || desired.owners.has(node) || facts.shown?.ledger.server(node) !== undefined;
  if (isOfStack || desired.units.has(`clientcert/${node}`)) return;
  facts.fail('no clientcert is hidden by a stack that is refused', `${node} has no record`);
}
