// Carries out one claimed action: runs its program until the deadline, reports to the controller that it is at work, and
// keeps how it ended.
import { type Clock, type ClockTimes, msSince } from '../base/clock.ts';
import { momentOf, reasonOf } from '../base/wording.ts';
import type { Answer } from '../model/call-result.ts';
import { UnendedError } from '../programs/program-runner.ts';
import type { ProviderEntry } from '../providers/provider-registry.ts';
import type { ClaimedAction } from './agent.ts';
import { type KeptClaim, NO_FILE } from './claimed-work.ts';
import { ControllerRefusal } from './controller-client.ts';
import type { ReportDeliveryOptions } from './report-delivery.ts';

const HEARTBEAT_MS = 20_000;
/**
 * Programs are asked to end so long before the deadline, or a tenth of the time, so that nothing runs at the deadline.
 */
const ENDING_MS = 6_000;
/** So often it is looked whether the deadline has passed. */
const COMPARE_MS = 1_000;
const GIVEN_UP: readonly number[] = [404, 409];

/** An action to carry out. */
export interface ClaimedRun {
  readonly claimed: ClaimedAction;
  readonly entry: ProviderEntry;
  /** When the claim was asked for. */
  readonly asked: ClockTimes;
  /** Ends the program. */
  readonly signal: AbortSignal;
}

/**
 * Returns how the action ended, kept on disk, once nothing of it runs any more. Returns undefined if the controller has
 * given it up, and if something of it cannot be ended: then the controller waits for its deadline.
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
  if (leftMs <= 0) return await keepAnswer(kept, retryable('it did not begin: its deadline had passed'), options);
  const ends = [
    afterEither(clock, leftMs, () => deadline.abort(new Error('it did not end before its deadline'))),
    heartbeat(claimed, options, () => givenUp.abort(new Error('the controller has given it up'))),
  ];
  // Checks repeat for ever; one that finds its answer is nothing to read.
  log[operation === 'check' ? 'debug' : 'info'](
    { action: id, operation, server: resource, provider: entry.name },
    'begun',
  );
  const signal = AbortSignal.any([run.signal, givenUp.signal, deadline.signal]);
  // By the clock of this machine: a program compares it with that, and the clock of the controller may be another.
  const answer = await answerTo(run, momentOf(clock.now() + leftMs), signal);
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
 * Calls `wake` once so much time has passed by the monotonic clock or by the one on the wall: after a sleep of the
 * machine only the latter has moved on, and the controller has given the action up. Returns a function that cancels it.
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

/** Nothing begins that is not on disk: after a crash it would not be known. */
async function keep({ claimed }: ClaimedRun, { work, log }: ReportDeliveryOptions): Promise<KeptClaim> {
  const claim = { id: claimed.action.id, lease: claimed.lease };
  try {
    return await work.begin(claim);
  } catch (error) {
    log.error({ action: claim.id, err: error }, 'the action could not be recorded, and was not begun');
    return { ...claim, file: NO_FILE, answer: retryable(`the proxy could not record it: ${reasonOf(error)}`) };
  }
}

/** Returns the claim with its answer, also if that cannot be written. */
async function keepAnswer(kept: KeptClaim, answer: Answer, { work, log }: ReportDeliveryOptions): Promise<KeptClaim> {
  try {
    return await work.end(kept, answer);
  } catch (error) {
    log.error({ action: kept.id, err: error }, 'how it ended could not be recorded; it is reported from memory');
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
    // Programs of several entries have storages of their own.
    return { ...(await entry.provider.perform(call, signal)), entry: entry.name };
  } catch (error) {
    if (error instanceof UnendedError) return undefined;
    // Nothing of the program runs any more, so another try is safe: every call may be repeated.
    return retryable(`its outcome is not known: ${reasonOf(error)}`);
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
        // Without a line the work continues.
        if (isOver || !(error instanceof ControllerRefusal) || !GIVEN_UP.includes(error.status)) return;
        log.warn({ action: id, err: error }, 'the controller has given the action up; its program is ended');
        giveUp();
      });
  }
  return () => {
    isOver = true;
    cancel();
  };
}

/** Returns the answer of an action that is to be tried again. */
export function retryable(message: string): Answer {
  return { outcome: 'retryable', message, outputs: {}, observed: {} };
}
