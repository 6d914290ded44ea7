// Pushes once, and asks the remote for the result where the answer is lost.
import type { Clock } from '../../clock.ts';
import type { PreparedCommits, Publisher } from '../../source/publisher.ts';
import type { BranchView } from './branch-view.ts';
import { pause, within } from './patience.ts';
import { GIVE_UP_MS } from './pending-write.ts';
import { isOutcomeUnknown } from './push-errors.ts';

/** Between two questions to a remote that does not answer. */
const PAUSE_MS = 250;

export interface PushParts {
  readonly branch: BranchView;
  readonly publisher: Publisher;
  readonly clock: Clock;
}

/**
 * Resolves to true once the commits are on the branch, and to false where they are not and cannot come there any more,
 * because it has moved on. Only the very same commits are ever sent again. `proposal` names the new branch where it is
 * one. Throws like Publisher.push, and OutcomeUnknownError only after a while of asking.
 */
export async function pushUntilKnown(
  parts: PushParts,
  prepared: PreparedCommits,
  proposal: string | null,
): Promise<boolean> {
  const { publisher, clock } = parts;
  const branch = proposal ?? undefined;
  try {
    return await publisher.push(prepared, branch);
  } catch (error) {
    if (!isOutcomeUnknown(error)) throw error;
    const until = clock.monotonic() + GIVE_UP_MS;
    while (clock.monotonic() < until) {
      const known = proposal === null ? await ask(parts, prepared) : undefined;
      if (known !== undefined) return known;
      // A no that comes now says nothing of what was sent before: only a yes does.
      if (await publisher.push(prepared, branch).catch(() => false)) return true;
      await pause(clock, PAUSE_MS);
    }
    throw error;
  }
}

/** Returns whether the commits are on the branch; undefined where they may still arrive, or the remote does not answer. */
async function ask({ branch, clock }: PushParts, { base, commits }: PreparedCommits): Promise<boolean | undefined> {
  try {
    const head = await within(clock, GIVE_UP_MS, branch.fetch());
    if (head === undefined) return undefined;
    if (await branch.isAncestor(commits.at(-1) ?? base, head.commit)) return true;
    // A push moves the branch from its base and from nowhere else.
    return head.commit === base ? undefined : false;
  } catch {
    // The reason makes no difference: the error of the lost answer is reported in the end.
    return undefined;
  }
}
