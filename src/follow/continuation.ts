// Tells whether a commit of the branch continues what is followed: it comes after the followed commit, and the layout is
// where it was, or was moved there whole. The history decides, and not how a URL is written. docs/decisions/0008.
import { placePath, TREE_FILE } from '../catalog/paths.ts';
import type { FollowedPlace, HeadRow } from '../model/rows.ts';
import { orContentError, type Snapshot } from '../model/snapshot.ts';
import type { Source } from '../repository/source.ts';
import { COMMITS_MAX, firstParentLine, NEW_COMMITS_MAX } from './first-parents.ts';

/** What is followed, and what is in the way of going on from it. */
interface Followed {
  readonly commit: string;
  readonly place: FollowedPlace | undefined;
  /** Nothing is active: no copy has the commit, or it does not make what is recorded. */
  readonly isLost: boolean;
  /** What of the commit is not as recorded; undefined where it is not known. */
  readonly difference?: string | undefined;
}

/** Whether a commit continues what is followed. */
export type Continuation =
  /** `from`: the first commit to be read in the directory that is followed now; undefined: any. */
  | { readonly isNext: true; readonly from?: string | undefined }
  /** `check`: what to do first, before the commit is accepted; undefined: nothing but that. */
  | { readonly isNext: false; readonly reason: string; readonly check: string | undefined };

/** Returns true where what is recorded was followed by other settings. */
export function isElsewhere({ place }: Pick<HeadRow, 'place'>, now: FollowedPlace): boolean {
  return place !== undefined && changedKeys(place, now).length > 0;
}

/** Returns whether a commit of the branch, read where the settings say now, continues what is followed. */
export async function judgeContinuation(source: Source, commit: string, followed: Followed): Promise<Continuation> {
  const { place: now } = source;
  const { place = now, isLost } = followed;
  const keys = changedKeys(place, now);
  const broken = (reason: string, check?: string): Continuation => {
    const changes = keys.map((key) => `; repository.${key} was "${place[key]}" and is "${now[key]}"`).join('');
    const back =
      keys.length === 0 ? check : `set ${keys.map((key) => `repository.${key}`).join(' and ')} back in the settings`;
    return { isNext: false, reason: `${reason}${changes}`, check: back };
  };
  if (isLost || !(await source.isAncestor(followed.commit, commit))) {
    const { reason, isShared } = await whyNotAfter(source, commit, followed);
    return broken(reason, isShared ? undefined : 'check repository.url and repository.branch');
  }
  if (place.directory === now.directory) return { isNext: true };
  const from = await movedAt(source, commit, { commit: followed.commit, directory: place.directory });
  if (from !== undefined) return { isNext: true, from };
  return broken(
    `the layout was not moved: no commit since the followed one, ${followed.commit}, has in "${now.directory}" what that ` +
      `one has in "${place.directory}", and no layout there any more`,
  );
}

function changedKeys(was: FollowedPlace, is: FollowedPlace): readonly (keyof FollowedPlace)[] {
  return (['url', 'branch', 'directory'] as const).filter((key) => was[key] !== is[key]);
}

async function whyNotAfter(
  source: Source,
  commit: string,
  { commit: followed, isLost, difference }: Followed,
): Promise<{ readonly reason: string; readonly isShared: boolean }> {
  if (difference !== undefined) {
    const reason = `the followed commit ${followed} does not make what is recorded: ${difference}`;
    return { reason, isShared: true };
  }
  if (isLost || (await source.isRelated(followed, commit))) {
    const lost = isLost ? ', which is not in the local copy any more' : '';
    const reason = `the history was rewritten: ${commit} does not come after the followed commit ${followed}${lost}`;
    return { reason, isShared: true };
  }
  const reason =
    `nothing is shared with what is followed: this is another repository, or all of the history was rewritten; ${commit} and ` +
    `the followed commit ${followed} have no commit in common`;
  return { reason, isShared: false };
}

/**
 * Returns the first commit of the branch since the followed one whose layout, in the directory that is followed now, equals
 * that of the followed one in `directory`, and that has none there any more: an equal one beside it is another layout.
 * Undefined where there is none.
 */
async function movedAt(
  source: Source,
  newest: string,
  followed: { readonly commit: string; readonly directory: string },
): Promise<string | undefined> {
  const wanted = layoutOf(await source.snapshot(followed.commit, () => false, followed.directory));
  const commits = await source.commitsBetween(followed.commit, newest, NEW_COMMITS_MAX);
  const line = firstParentLine(commits, followed.commit).slice(0, COMMITS_MAX);
  for (const { oid } of line.reverse()) {
    const there = await orContentError(source.snapshot(oid, () => false));
    if (there instanceof Error || !isSameLayout(wanted, layoutOf(there))) continue;
    const left = await orContentError(source.snapshot(oid, () => false, followed.directory));
    if (!(left instanceof Error) && !left.files.has(TREE_FILE)) return oid;
  }
  return undefined;
}

/** The content of each file of the layout, by path. */
type Layout = ReadonlyMap<string, string>;

function layoutOf({ files }: Snapshot): Layout {
  const layout = new Map<string, string>();
  for (const [path, { oid, mode }] of files) {
    if (placePath(path, mode) !== undefined) layout.set(path, `${mode} ${oid}`);
  }
  return layout;
}

function isSameLayout(a: Layout, b: Layout): boolean {
  return a.size > 0 && a.size === b.size && [...a].every(([path, content]) => b.get(path) === content);
}
