// Computes the result of a write without committing it. See docs/rest.md, dry runs.
import { type Clock, within } from '../../clock.ts';
import type { Safety } from '../../desired/admit.ts';
import type { DesiredState } from '../../desired/desired-state.ts';
import { ServiceError } from '../../model/service-error.ts';
import type { RunInSlices } from '../../slices.ts';
import type { Preview, WriteOrder } from '../writer.ts';
import type { BranchView } from './branch-view.ts';
import type { Draft, FileEdit } from './draft.ts';
import { judgeRequest } from './judge-writes.ts';
import { GIVE_UP_MS, nothingWritten } from './pending-write.ts';
import { serverChanges } from './server-changes.ts';
import { unifiedDiff } from './unified-diff.ts';

/** Each takes as much work as a write. */
const PREVIEWS_MAX = 50;

interface PreviewParts {
  readonly branch: Pick<BranchView, 'newest'>;
  readonly clock: Clock;
  /** Returns the facts that decide which deletes may happen now. */
  readonly safety: () => Safety;
  /** Runs the judgement of a draft. */
  readonly inSlices: RunInSlices;
}

interface PreviewOptions {
  /** The request itself approves the deletes, as when an administrator deletes an instance. */
  readonly isApproved: boolean;
}

/** Returns what a draft would change. Throws ServiceError. */
export type PreviewWrite = (draft: Draft, order: WriteOrder, options: PreviewOptions) => Promise<Preview>;

/** Returns what previews writes. It throws ServiceError like the write itself, and commits nothing. */
export function createPreview(parts: PreviewParts): PreviewWrite {
  const { branch, clock, safety, inSlices } = parts;
  let running = 0;

  async function newest(): Promise<DesiredState> {
    const desired = await within(clock, GIVE_UP_MS, branch.newest({ inHurry: false }));
    if (desired === undefined) throw nothingWritten();
    return desired;
  }

  return async (draft, order, { isApproved }) => {
    if (running >= PREVIEWS_MAX)
      throw new ServiceError('too_many_requests', 'Too many dry runs are going on; try again soon');
    running += 1;
    try {
      const before = await newest();
      const { edits, desired: after, judge } = await inSlices(judgeRequest({ draft, order }, before));
      // By the budget as it is now, the commit may leave instances held.
      const { held } = isApproved ? after : await inSlices(judge(safety()));
      return { diff: diffOf(before, edits), servers: serverChanges({ before, after, held: new Set(held.keys()) }) };
    } finally {
      running -= 1;
    }
  };
}

function diffOf({ catalog }: DesiredState, edits: readonly FileEdit[]): string {
  return edits.map(({ path, text }) => unifiedDiff(path, catalog.files.get(path)?.text ?? null, text)).join('');
}
