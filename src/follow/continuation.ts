// Decides whether a commit of the branch continues what is followed: it comes after the followed commit, and is read at
// the same place. docs/decisions/0006.
import type { FollowedPlace, HeadRow } from '../model/rows.ts';
import type { Source } from '../repository/source.ts';

/** What is followed, and what is in the way of continuing from it. */
interface Followed {
  readonly commit: string;
  readonly place: FollowedPlace;
  /** Nothing is active: no copy has the commit, or it does not make what is recorded. */
  readonly isLost: boolean;
  /** What of the commit is not as recorded; undefined where it is not known. */
  readonly difference?: string | undefined;
}

/** Why a commit does not continue what is followed. */
interface Break {
  readonly reason: string;
  /** What to do first, before the commit is accepted; undefined: nothing else. */
  readonly check: string | undefined;
}

/** Returns true where what is recorded was followed by other settings. */
export function isElsewhere({ place }: Pick<HeadRow, 'place'>, now: FollowedPlace): boolean {
  return changedKeys(place, now).length > 0;
}

/**
 * Returns why a commit of the branch, read where the settings say now, does not continue what is followed; undefined if
 * it does.
 */
export async function breakBefore(source: Source, commit: string, followed: Followed): Promise<Break | undefined> {
  const { place: now } = source;
  const { place, isLost } = followed;
  const keys = changedKeys(place, now);
  const isAfter = !isLost && (await source.isAncestor(followed.commit, commit));
  if (isAfter && keys.length === 0) return undefined;
  const reason = isAfter ? 'the settings have changed where the commits come from' : whyNotAfter(commit, followed);
  const changes = keys.map((key) => `; repository.${key} was "${place[key]}" and is "${now[key]}"`).join('');
  const named = keys.map((key) => `repository.${key}`).join(' and ');
  const check = keys.length === 0 ? undefined : `set ${named} back in the settings`;
  return { reason: `${reason}${changes}`, check };
}

function changedKeys(was: FollowedPlace, is: FollowedPlace): readonly (keyof FollowedPlace)[] {
  return (['url', 'branch', 'directory'] as const).filter((key) => was[key] !== is[key]);
}

function whyNotAfter(commit: string, { commit: followed, isLost, difference }: Followed): string {
  if (difference !== undefined) return `the followed commit ${followed} does not make what is recorded: ${difference}`;
  const lost = isLost ? ', which is not in the local copy any more' : '';
  return `the history was rewritten: ${commit} does not come after the followed commit ${followed}${lost}`;
}
