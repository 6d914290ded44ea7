// Pushes once, and asks the remote for the result where the answer is lost.
import { type Clock, pause, within } from '../../clock.ts';
import type { PreparedCommits, Publisher, PushOutcome } from '../../source/publisher.ts';
import type { BranchView } from './branch-view.ts';
import { GIVE_UP_MS } from './pending-write.ts';

/** Between two questions to a remote that does not answer. */
const PAUSE_MS = 250;

/** The branch, the publisher and the clock. */
export interface PushParts {
  readonly branch: BranchView;
  readonly publisher: Publisher;
  readonly clock: Clock;
}

/**
 * Resolves with what became of the commits: `moved` means that they are not on the branch and cannot come there any more,
 * `unknown` comes only after a while of asking. Only the very same commits are ever sent again. `proposal` names the new
 * branch where it is one.
 */
export async function pushUntilKnown(
  parts: PushParts,
  prepared: PreparedCommits,
  proposal: string | null,
): Promise<PushOutcome> {
  const { publisher, clock } = parts;
  const branch = proposal ?? undefined;
  const first = await publisher.push(prepared, branch);
  if (first.is !== 'unknown') return first;
  const until = clock.monotonic() + GIVE_UP_MS;
  while (clock.monotonic() < until) {
    const known = proposal === null ? await ask(parts, prepared) : undefined;
    if (known !== undefined) return known;
    // A no that comes now says nothing of what was sent before: only a yes does.
    const again = await publisher.push(prepared, branch);
    if (again.is === 'pushed') return again;
    await pause(clock, PAUSE_MS);
  }
  return first;
}

/** Returns the outcome; undefined where the commits may still arrive, or the remote does not answer. */
async function ask({ branch, clock }: PushParts, { base, commits }: PreparedCommits): Promise<PushOutcome | undefined> {
  try {
    const head = await within(clock, GIVE_UP_MS, branch.fetch());
    if (head === undefined) return undefined;
    if (await branch.isAncestor(commits.at(-1) ?? base, head.oid)) return { is: 'pushed' };
    // A push moves the branch from its base and from nowhere else.
    return head.oid === base ? undefined : { is: 'moved' };
  } catch {
    // The reason makes no difference: the error of the lost answer is reported in the end.
    return undefined;
  }
}
