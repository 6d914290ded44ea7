// Carries out one claimed action: runs its program until the deadline, sends heartbeats to the controller, and keeps
// the result.
import { type Clock, type ClockTimes, msSince } from '../base/clock.ts';
import { reasonOf, toRfc3339 } from '../base/wording.ts';
import type { Answer } from '../model/call-result.ts';
import { UnendedError } from '../programs/program-runner.ts';
import type { ProviderEntry } from '../providers/provider-registry.ts';
import type { ClaimedAction } from './agent.ts';
import { type KeptClaim, NO_FILE } from './claimed-work.ts';
import { ControllerRefusal } from './controller-client.ts';
import type { ReportDeliveryOptions } from './report-delivery.ts';

const HEARTBEAT_MS = 20_000;
/**
 * How long before the deadline programs are terminated (or a tenth of the time, if shorter), so that nothing runs at
 * the deadline.
 */
const ENDING_MS = 6_000;
/** The interval of comparing the clocks with the deadline. */
const COMPARE_MS = 1_000;
const GIVEN_UP: readonly number[] = [404, 409];

/** An action to carry out. */
export interface ClaimedRun {
  readonly claimed: ClaimedAction;
  readonly entry: ProviderEntry;
  /** The time of the claim request. */
  readonly asked: ClockTimes;
  /** Ends the program. */
  readonly signal: AbortSignal;
}

/**
 * Resolves with the result, kept on disk, when no process of the action runs any more. Resolves with undefined if the
 * controller gave the action up, or if a process of it cannot be ended: then the controller waits for its deadline.
 */
export async function carryOut(run: ClaimedRun, options: ReportDeliveryOptions): Promise<KeptClaim | undefined> {
  const { claimed, entry, asked } = run;
  const { work, clock, log } = options;
  const { id, operation, resource, timeoutSeconds } = claimed.action;
  const kept = await keep(run, options);
  if (kept.answer !== null) return kept;
  const givenUp = new AbortController();
  const deadline = new AbortController();
  const wholeMs = Math.min(timeoutSeconds, entry.timeoutSeconds) * 1000;
  const leftMs = wholeMs - Math.min(ENDING_MS, wholeMs / 10) - msSince(asked, clock);
  if (leftMs <= 0)
    return await keepAnswer(kept, retryable('it did not begin, because its deadline had passed'), options);
  const ends = [
    afterEither(clock, leftMs, () => deadline.abort(new Error('it did not end before its deadline'))),
    heartbeat(claimed, options, () => givenUp.abort(new Error('the controller gave it up'))),
  ];
  // Checks repeat forever, so a successful one is only a debug line.
  log[operation === 'check' ? 'debug' : 'info'](
    { action: id, operation, server: resource, provider: entry.name },
    'begun',
  );
  const signal = AbortSignal.any([run.signal, givenUp.signal, deadline.signal]);
  // The deadline by the clock of this machine, with which the program compares it. The controller's clock may differ.
  const answer = await answerTo(run, toRfc3339(clock.now() + leftMs), signal);
  for (const end of ends) end();
  if (answer === undefined) {
    work.forget(kept);
    return undefined;
  }
  const { outcome, message } = answer;
  const isUsual = operation === 'check' && (outcome === 'done' || outcome === 'absent');
  log[isUsual ? 'debug' : 'info']({ action: id, outcome, message: message || undefined }, 'ended');
  if (!givenUp.signal.aborted) return await keepAnswer(kept, answer, options);
  work.forget(kept);
  return undefined;
}

/**
 * Calls `wake` after `ms` by the monotonic or by the wall clock. After a sleep of the machine, only the wall clock has
 * advanced, and the controller has given the action up. Returns a function that cancels it.
 */
function afterEither(clock: Clock, ms: number, wake: () => void): () => void {
  const [elapses, comes] = [clock.monotonic() + ms, clock.now() + ms];
  function compare(): void {
    const leftMs = Math.min(elapses - clock.monotonic(), comes - clock.now());
    if (leftMs <= 0) wake();
    else cancel = clock.after(Math.min(leftMs, COMPARE_MS), compare);
  }
  let cancel = clock.after(Math.min(ms, COMPARE_MS), compare);
  return () => cancel();
}

/** Records the claim on disk before it begins, because a crash would lose it. */
async function keep({ claimed }: ClaimedRun, { work, log }: ReportDeliveryOptions): Promise<KeptClaim> {
  const claim = { id: claimed.action.id, lease: claimed.lease };
  try {
    return await work.begin(claim);
  } catch (error) {
    log.error({ action: claim.id, err: error }, 'the action could not be recorded, and was not begun');
    return { ...claim, file: NO_FILE, answer: retryable(`the proxy could not record it: ${reasonOf(error)}`) };
  }
}

/** Resolves with the claim and its answer, even if the answer cannot be written. */
async function keepAnswer(kept: KeptClaim, answer: Answer, { work, log }: ReportDeliveryOptions): Promise<KeptClaim> {
  try {
    return await work.end(kept, answer);
  } catch (error) {
    log.error({ action: kept.id, err: error }, 'the result could not be recorded; it is reported from memory');
    return { ...kept, answer };
  }
}

async function answerTo(
  { claimed, entry }: ClaimedRun,
  deadline: string,
  signal: AbortSignal,
): Promise<Answer | undefined> {
  const call = { ...claimed.action, action: claimed.action.id, deadline };
  try {
    // The programs of different entries look at different storages.
    return { ...(await entry.provider.perform(call, signal)), entry: entry.name };
  } catch (error) {
    if (error instanceof UnendedError) return undefined;
    // No process of the program runs any more, so a retry is safe: every call may be repeated.
    return retryable(`its outcome is unknown: ${reasonOf(error)}`);
  }
}

function heartbeat(
  { lease, action: { id } }: ClaimedAction,
  { client, clock, log }: ReportDeliveryOptions,
  giveUp: () => void,
): () => void {
  let cancel = clock.after(HEARTBEAT_MS, beat);
  let isOver = false;
  function beat(): void {
    cancel = clock.after(HEARTBEAT_MS, beat);
    client
      .send({ path: `/agent/actions/${encodeURIComponent(id)}/heartbeat`, body: { lease } })
      .catch((error: unknown) => {
        // The work continues without a connection.
        if (isOver || !(error instanceof ControllerRefusal) || !GIVEN_UP.includes(error.status)) return;
        log.warn({ action: id, err: error }, 'the controller gave the action up; its program is terminated');
        giveUp();
      });
  }
  return () => {
    isOver = true;
    cancel();
  };
}

/** Returns the answer for an action to retry. */
export function retryable(message: string): Answer {
  return { outcome: 'retryable', message, outputs: {}, observed: {} };
}
