// Computes which statuses forges should show now: those of the followed commit, of the newest one where it is not followed,
// and of former commits that are not done yet. Pure: the same facts give the same statuses.
import type { DesiredState, RefusedCommit } from '../desired/desired-state.ts';
import type { Stall } from '../machine/stall.ts';
import { compareNames } from '../model/names.ts';
import type { CommitStatus, CommitStatusRow } from '../model/rows.ts';
import { formerStatus, type HeldCounts, headStatus } from './apply-status.ts';
import type { Progress } from './commit-progress.ts';
import { refusedStatus, validateStatus } from './validate-status.ts';

/** The two statuses of a commit. */
type StatusContext = 'validate' | 'apply';

/** A status that should be shown. */
export interface WantedStatus extends CommitStatus {
  readonly commit: string;
  readonly context: StatusContext;
}

/** The facts that all statuses follow from. */
export interface StatusFacts {
  readonly desired: Pick<DesiredState, 'commit' | 'problems' | 'candidates' | 'invalid'>;
  readonly refused: Pick<RefusedCommit, 'commit' | 'hold' | 'problems'> | undefined;
  /** The statuses that were accepted last, by commit. */
  readonly sent: ReadonlyMap<string, CommitStatusRow>;
  readonly held: HeldCounts;
  readonly progressOf: (commit: string) => Progress;
  /** Returns why none of the servers that are not at rest can continue by itself; undefined if one can. */
  readonly stallOf: (progress: Progress) => Stall | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The statuses, and the commits that need no further one. */
interface StatusPlan {
  readonly wanted: readonly WantedStatus[];
  readonly over: readonly string[];
}

/** Former commits that are waited for; the oldest beyond that end as superseded. */
const FORMER_MAX = 10;
/** How long a former commit is waited for. */
const FORMER_MS = 24 * 3_600_000;

/** Returns what should be shown now. */
export function wantedStatuses(facts: StatusFacts): StatusPlan {
  const { desired, refused, sent } = facts;
  const newest = new Set([desired.commit, ...(refused === undefined ? [] : [refused.commit])]);
  const former = [...sent]
    .filter(([commit]) => !newest.has(commit))
    .sort(([, a], [, b]) => compareNames(b.since, a.since));
  const judged = former.map(([commit, row], index) =>
    judgeFormer(commit, row, { facts, isOver: isOver(row, index, facts) }),
  );
  return {
    wanted: [...headStatuses(facts), ...refusedStatuses(facts), ...judged.flatMap(({ wanted }) => wanted)],
    over: judged.flatMap(({ over }) => over),
  };
}

function isOver({ since }: CommitStatusRow, index: number, { now }: StatusFacts): boolean {
  return index >= FORMER_MAX || now - Date.parse(since) >= FORMER_MS;
}

function headStatuses({ desired, sent, held, progressOf, stallOf }: StatusFacts): readonly WantedStatus[] {
  const { commit } = desired;
  const validate = { commit, context: 'validate', ...validateStatus(desired) } as const;
  // What happens to its servers later is no matter of the commit.
  if (sent.get(commit)?.apply?.state === 'success') return [validate];
  const progress = progressOf(commit);
  const apply = headStatus({ progress, held, stall: stallOf(progress) });
  return [validate, { commit, context: 'apply', ...apply }];
}

/** A commit that is not followed changes no server. */
function refusedStatuses({ desired, refused }: StatusFacts): readonly WantedStatus[] {
  if (refused === undefined || refused.commit === desired.commit) return [];
  return [{ commit: refused.commit, context: 'validate', ...refusedStatus(refused) }];
}

interface FormerContext {
  readonly facts: StatusFacts;
  readonly isOver: boolean;
}

function judgeFormer(commit: string, { apply }: CommitStatusRow, { facts, isOver: over }: FormerContext): StatusPlan {
  const isFinal = apply === null || apply.state === 'success' || apply.state === 'superseded';
  if (isFinal || (over && apply.state === 'failure')) return { wanted: [], over: [commit] };
  const progress = facts.progressOf(commit);
  const { desired, stallOf } = facts;
  const status = formerStatus({ progress, head: desired.commit, isOver: over, stall: stallOf(progress) });
  return { wanted: [{ commit, context: 'apply', ...status }], over: [] };
}
