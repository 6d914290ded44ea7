// The plan of the next check of one server: which entry checks it, when, and how the last checks ended.
import { driftPolicyOf, isAtRest } from '../../machine/drift.ts';
import type { Answer } from '../../model/call-result.ts';
import type { DriftPolicy } from '../../model/objects.ts';
import type { ServerRow } from '../../model/rows.ts';

/** The longest pause after failed checks, unless `checkSeconds` is longer. */
const PAUSE_MS_MAX = 3_600_000;
/** The share by which a pause differs from `checkSeconds`, up or down. */
const JITTER = 0.1;
/** So many failed checks in a row are shown; one that tells a person something is shown at once. */
const FAILURES_SHOWN = 3;

/** The settings of a provider entry that planning needs. */
export interface CheckedEntry {
  readonly checkSeconds: number;
  readonly drift: DriftPolicy;
}

/** Checks of a server that failed, one after the other. */
export interface CheckFailure {
  /** When the first of them ended: milliseconds since 1970. Where none was answered since this process has started, that. */
  readonly since: number;
  readonly isSinceStart: boolean;
  readonly message: string;
}

/** The plan of one server's next check. */
export interface CheckPlan {
  readonly provider: string;
  /** When it is due, by the monotonic clock. From then on it waits for capacity. */
  dueAt: number;
  isRunning: boolean;
  /** A person asked for it: it takes place also where the policy is `off`. */
  isRequested: boolean;
  /** When this process has started, until a check was answered; undefined for a server that it has brought to rest. */
  startedAt: number | undefined;
  failures: number;
  failure: CheckFailure | undefined;
  /** A person is told of the failure. */
  isShown: boolean;
}

/** Returns the plan of a server that was not planned before. */
export function newPlan(provider: string, startedAt: number | undefined): CheckPlan {
  const unfailed = { failures: 0, failure: undefined, isShown: false };
  return { provider, dueAt: Number.POSITIVE_INFINITY, isRunning: false, isRequested: false, startedAt, ...unfailed };
}

/** Returns the provider entry that checks a server, or null if the server is not to be checked. */
export function chooseChecker(
  row: ServerRow,
  entryOf: (provider: string) => CheckedEntry | undefined,
  isRequested: boolean,
): string | null {
  const entry = row.provider === null || !isAtRest(row) ? undefined : entryOf(row.provider);
  if (entry === undefined) return null;
  return isRequested || driftPolicyOf(row, entry.drift) !== 'off' ? row.provider : null;
}

/** Returns true if a check tells whether the server is there. */
export function isAnswered({ outcome }: Answer): boolean {
  return outcome === 'done' || outcome === 'absent';
}

/** Records how a check has ended: it was answered, or failed. */
export function recordEnd(plan: CheckPlan, answer: Answer, now: number): void {
  const isFailed = !isAnswered(answer);
  plan.failures = isFailed ? plan.failures + 1 : 0;
  if (!isFailed) plan.startedAt = undefined;
  const first = { since: plan.startedAt ?? now, isSinceStart: plan.startedAt !== undefined };
  const { since, isSinceStart } = plan.failure ?? first;
  plan.failure = isFailed ? { since, isSinceStart, message: answer.message } : undefined;
  const isNews = plan.isRequested || answer.isElsewhere === true || plan.failures >= FAILURES_SHOWN;
  plan.isShown = isFailed && (plan.isShown || isNews);
  plan.isRequested = false;
}

/** Returns the pause before the next check: longer after each failed one, and not the same for all servers. */
export function checkPauseMs(checkMs: number, failures: number, random: number): number {
  const longer = Math.min(checkMs * 2 ** Math.min(failures, 10), Math.max(checkMs, PAUSE_MS_MAX));
  return longer * (1 - JITTER + 2 * JITTER * random);
}
