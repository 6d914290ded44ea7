// Judges whether an operator meant a delete, by the files that people wrote and the commits that were followed, never by what the
// controller says of the server.
import { derivableShape, fileStateOf, foldersOf, isGone, isSameFile, isWhole, validShape } from './edit-files.ts';
import type { Followed, FollowedCommit } from './followed.ts';
import type { SimulatedGit } from './simulated-git.ts';
import type { SiteServer } from './simulated-site.ts';
import {
  GLOBAL,
  INSTANCES_FOLDER,
  LAB,
  type ModelFile,
  type ModelFiles,
  pathOf,
  type Shape,
  SMALL,
  serversOf,
} from './stacks.ts';
import { INSTANCES } from './themes/theme.ts';
import type { Violation, World } from './world.ts';

type FollowedSoFar = Pick<Followed, 'all' | 'last'>;

export interface Deletion {
  readonly server: SiteServer;
  /** As the call names it, which may be another spelling than the server's own. */
  readonly resource: string;
  /** The site said that it can only be replaced. */
  readonly isReplaceable: boolean;
  /** The site said that it failed to make it, and nothing was found since: it may go like one that was never made. */
  readonly isUnmade: boolean;
  /** Somebody built it at the moment when it was to be created: see watch-creates.ts. */
  readonly isMistaken: boolean;
  /** When the controller decided on the delete, in simulated time; undefined: nobody can tell. */
  readonly decidedAt: number | undefined;
}

/** Returns the promise that a delete breaks, or undefined. */
export function whyNotDeleted(world: World, followed: FollowedSoFar, deletion: Deletion): Violation | undefined {
  const { last } = followed;
  if (last === undefined)
    return { promise: 'nothing is deleted before a commit is followed', facts: deletion.resource };
  return (
    whyStranger(world, followed, deletion) ??
    whySpelling(world, last, deletion) ??
    whyWanted(last, deletion) ??
    whyUnreadable(world, followed, deletion)
  );
}

const NONE: ReadonlySet<string> = new Set();

function whyStranger(
  { adopted, orphans, git }: World,
  followed: FollowedSoFar,
  { server, resource, isMistaken }: Deletion,
): Violation | undefined {
  if (server.maker === 'controller' && !orphans.has(server.name)) return undefined;
  if (adopted.has(resource) || isMistaken) return undefined;
  const isAdopting = ({ files }: Pick<FollowedCommit, 'files'>): boolean =>
    INSTANCES.some((instance) => {
      const shape = fileStateOf(files, instance);
      return typeof shape !== 'string' && shape.adopt && serversOf(shape).includes(resource);
    });
  // A first start takes what the first commit has unreadable from those before it.
  const [first] = followed.all;
  const before = first === undefined ? [] : git.firstParents(first.commit);
  if (followed.all.some(isAdopting) || before.some(isAdopting)) return undefined;
  return { promise: 'no server that a stranger made is deleted', facts: `${resource}, which nobody adopted` };
}

/** Where the site ignores case, the server may be wanted under another spelling that took it over. */
function whySpelling({ core }: World, last: FollowedCommit, { server, resource }: Deletion): Violation | undefined {
  const other = INSTANCES.flatMap((instance) => wantedShape(last, instance) ?? [])
    .flatMap(serversOf)
    .find((name) => name !== resource && name.toLowerCase() === server.name.toLowerCase());
  const row = other === undefined ? undefined : core?.ledger.server(other);
  if (row === undefined || row.applied === null) return undefined;
  return { promise: 'no wanted server is deleted', facts: `${resource}, which is there as ${other} and wanted so` };
}

function whyWanted(last: FollowedCommit, { resource, isReplaceable }: Deletion): Violation | undefined {
  for (const instance of INSTANCES) {
    const shape = wantedShape(last, instance);
    if (shape === undefined || !serversOf(shape).includes(resource)) continue;
    if (!isReplaceable) {
      return {
        promise: 'no wanted server is deleted',
        facts: `${resource} is wanted by ${instance} at ${last.commit}`,
      };
    }
    if (shape.protected) {
      return {
        promise: 'no protected server is deleted',
        facts: `${resource} is replaced although ${instance} is protected`,
      };
    }
  }
  return undefined;
}

/** What an instance wants at a commit, if nothing is wrong with it and nobody says that it stays as it was. */
function wantedShape({ files, staying }: FollowedCommit, instance: string): Shape | undefined {
  return staying.has(instance) ? undefined : validShape(files, instance);
}

/** A commit that was followed must have taken it away: readable, without it, and not protected or retained before. */
function whyUnreadable(
  world: World,
  followed: FollowedSoFar,
  { resource, isReplaceable, isUnmade, decidedAt }: Deletion,
): Violation | undefined {
  const commits = followed.all;
  const before = commits.findLastIndex((one) => ownerIn(one, resource) !== undefined);
  const from = commits[before];
  const owner = from === undefined ? undefined : ownerIn(from, resource);
  if (from === undefined || owner === undefined || before === commits.length - 1) return undefined;
  const isTaken = (one: FollowedCommit, index: number): boolean => {
    const known = withoutKnownUnread(withoutIdleLinks(one, commits.slice(0, index)), from);
    return takesAway(known, owner, resource);
  };
  const at = commits.findIndex((one, index) => index > before && isTaken(one, index));
  const receiver = commits[at];
  const last = commits.at(-1);
  if (receiver === undefined) {
    // A replacement continues at the active version. An operator may have approved the delete. A server whose create failed is
    // not held.
    if (isReplaceable || isUnmade || world.approved.has(resource)) return undefined;
    const what = `${resource} of ${owner}, in force at ${from.commit}; since then ${last?.commit ?? ''} says no more of ${owner}`;
    return { promise: 'nothing is deleted because of what cannot be read', facts: what };
  }
  const isApproved = world.approved.has(resource);
  // The history was accepted without the commits in between: what they protect is not known, and an operator decides.
  const previous = commits.slice(0, at).findLast(({ commit }) => commit !== receiver.commit);
  const isElsewhere = !world.git.isAncestor(previous?.commit ?? '', receiver.commit);
  if (isApproved && isElsewhere) return undefined;
  const why = isUnmade || isApproved ? undefined : whyTaken(commits.slice(before, at + 1), { owner, resource });
  return (
    why ?? whyKept(world, { from, receiver, owner, resource }) ?? whyRetained(last, { owner, resource, decidedAt })
  );
}

/** A later version of the instance retains what goes since an earlier commit, unless the delete was decided on before. */
function whyRetained(
  last: FollowedCommit | undefined,
  { owner, resource, decidedAt }: Pick<Removed, 'owner' | 'resource'> & Pick<Deletion, 'decidedAt'>,
): Violation | undefined {
  if (last === undefined || decidedAt === undefined || decidedAt <= last.since) return undefined;
  if (wantedShape(last, owner)?.retain !== true) return undefined;
  const facts = `${resource}, while ${owner} is in force at ${last.commit} with servers retained`;
  return { promise: 'no retained server is deleted', facts };
}

/**
 * Why a server goes only with an approval: the commit from which on its instance does without it has something that may be
 * meant to take it over, and that its active commit did not have. `commits`: from the one that had it to the one that takes it away.
 */
function whyTaken(
  commits: readonly FollowedCommit[],
  { owner, resource }: Pick<Removed, 'owner' | 'resource'>,
): Violation | undefined {
  const isWithout = (commit: FollowedCommit): boolean => {
    const isRefused = commit.staying.has(owner) && !commit.held.has(owner);
    return !isRefused && takesAway({ ...commit, staying: NONE }, owner, resource);
  };
  const at = commits.findLastIndex((commit) => !isWithout(commit)) + 1;
  // What the commits before it had, while the instance was not at its newest version, is new for it too.
  const before = commits.slice(0, at).findLast(({ staying }) => !staying.has(owner));
  const first = commits[at];
  if (before === undefined || first === undefined || !hasNewReceiver(first.files, before.files, owner))
    return undefined;
  const facts = `${resource} of ${owner}, which nobody approved: ${first.commit} has something that may be meant to take it over`;
  return { promise: 'what may be meant for a wrong instance is not deleted', facts };
}

/** Returns the instance that wants a server at a commit. */
export function ownerIn(commit: FollowedCommit, resource: string): string | undefined {
  return INSTANCES.find((instance) => {
    const shape = wantedShape(commit, instance);
    return shape !== undefined && serversOf(shape).includes(resource);
  });
}

function takesAway(commit: FollowedCommit, owner: string, resource: string): boolean {
  if (commit.staying.has(owner)) return false;
  if (fileStateOf(commit.files, owner) === 'absent') return true;
  const shape = validShape(commit.files, owner);
  return shape !== undefined && !serversOf(shape).includes(resource);
}

/** Returns a commit without unread files that the active one has as well: they take over nothing. */
function withoutKnownUnread(commit: FollowedCommit, from: FollowedCommit): FollowedCommit {
  const unread = unreadIn(commit.files).filter((path) => commit.files.get(path)?.oid === from.files.get(path)?.oid);
  if (unread.length === 0) return commit;
  return { ...commit, files: new Map([...commit.files].filter(([path]) => !unread.includes(path))) };
}

/** Returns a commit without links in place of folders that hide nothing: what stood there was removed before they came. */
function withoutIdleLinks(commit: FollowedCommit, earlier: readonly FollowedCommit[]): FollowedCommit {
  const isKnown = ({ files }: FollowedCommit, path: string): boolean => isWhole(files, path) || isGone(files, path);
  const hidden = [GLOBAL, LAB, SMALL].filter((path) => !isKnown(commit, path));
  const isIdle = (path: string): boolean => {
    const last = earlier.findLast((one) => isKnown(one, path));
    return last !== undefined && isGone(last.files, path);
  };
  if (hidden.length === 0 || !hidden.every(isIdle)) return commit;
  const files = new Map(commit.files);
  for (const folder of hidden.flatMap(foldersOf)) files.delete(folder);
  return { ...commit, files };
}

interface Removed {
  readonly from: FollowedCommit;
  readonly receiver: FollowedCommit;
  readonly owner: string;
  readonly resource: string;
}

function whyKept({ git }: World, { from, receiver, owner, resource }: Removed): Violation | undefined {
  const active = validShape(from.files, owner);
  const before = active && lastWhole(git, { from, receiver, owner }, active);
  const after = validShape(receiver.files, owner);
  const words = `${resource} of ${owner}: in force at ${from.commit}, taken away by ${receiver.commit}`;
  if (before?.protected === true) return { promise: 'no protected server is deleted', facts: words };
  const isRetained = before?.retain === true || after?.retain === true;
  return isRetained ? { promise: 'no retained server is deleted', facts: words } : undefined;
}

/**
 * Returns the version of an instance that decides whether it may lose servers: of the newest commit of the branch itself, before
 * the one that takes them away, that still makes all of them; else the one in force.
 */
function lastWhole(
  git: SimulatedGit,
  { from, receiver, owner, since = [] }: Omit<Removed, 'resource'> & { readonly since?: readonly FollowedCommit[] },
  active: Shape,
): Shape {
  const isAfter = (commit: string, one: FollowedCommit): boolean =>
    commit !== one.commit && git.isAncestor(one.commit, commit);
  // Where the history was rewritten, what came after a commit that was followed since counts too.
  const isBetween = (commit: string): boolean =>
    commit !== receiver.commit && [from, ...since].some((one) => isAfter(commit, one));
  for (const { oid, files } of git.firstParents(receiver.commit)) {
    const shape = isBetween(oid) ? derivableShape(files, owner) : undefined;
    const servers = shape === undefined ? [] : serversOf(shape);
    if (shape !== undefined && serversOf(active).every((name) => servers.includes(name))) return shape;
  }
  return active;
}

/** Returns what the commit that came into force last gives up of a protected instance, or undefined. */
export function givesUpProtected({ git }: World, followed: Followed): string | undefined {
  const receiver = followed.last;
  if (receiver === undefined) return undefined;
  for (const owner of INSTANCES) {
    const from = followed.all.findLast((one) => one !== receiver && wantedShape(one, owner) !== undefined);
    const before = from === undefined ? undefined : wantedShape(from, owner);
    if (from === undefined || before?.protected !== true || receiver.staying.has(owner)) continue;
    const isGone = fileStateOf(receiver.files, owner) === 'absent' || validShape(receiver.files, owner) !== undefined;
    // What another instance has had since is not this one's any more.
    const since = followed.all.slice(followed.all.indexOf(from) + 1, -1);
    const left = serversOf(before).filter((server) => since.every((commit) => ownerIn(commit, server) === undefined));
    const lost = left.filter((server) => isGivenUp(receiver, owner, server));
    if (isGone && lost.length > 0 && lastWhole(git, { from, receiver, owner, since }, before).protected) {
      return `${lost.join(', ')} of ${owner}: in force at ${from.commit}, given up by ${receiver.commit}`;
    }
  }
  return undefined;
}

/** Nobody wants it, or another instance does that is not protected. */
function isGivenUp(receiver: FollowedCommit, owner: string, server: string): boolean {
  const next = ownerIn(receiver, server);
  return next === undefined || (next !== owner && wantedShape(receiver, next)?.protected === false);
}

/**
 * Returns true if a commit adds for certain something that may be meant to take over servers of an instance: an invalid instance whose
 * servers cannot be determined, or a file that is not read. ARCHITECTURE.md, "Unreadable files".
 */
function hasNewReceiver(files: ModelFiles, before: ModelFiles, owner: string): boolean {
  if (INSTANCES.some((instance) => isNewlyWrong(instance, files, before))) return true;
  return fileStateOf(files, owner) === 'absent' && hasNewUnread(files, before);
}

/** The same wrong version counts once. */
function isNewlyWrong(instance: string, files: ModelFiles, before: ModelFiles): boolean {
  const wrong = wrongFile(files, instance);
  return wrong !== undefined && wrong.oid !== wrongFile(before, instance)?.oid;
}

/** What is wrong for certain, whatever else the commit has. */
function wrongFile(files: ModelFiles, instance: string): ModelFile | undefined {
  const file = files.get(pathOf(instance));
  const isRead = file?.shape !== undefined && file.mode === '100644';
  return isRead && file.shape.template !== 'stack' ? file : undefined;
}

function hasNewUnread(files: ModelFiles, before: ModelFiles): boolean {
  return unreadIn(files).some((path) => !isSameFile(files.get(path), before.get(path)));
}

/** Returns the paths below the instances' folder that are not read. */
function unreadIn(files: ModelFiles): readonly string[] {
  const isUnread = (path: string): boolean => path.startsWith(INSTANCES_FOLDER) && files.get(path)?.shape === undefined;
  return [...files.keys()].filter(isUnread);
}
