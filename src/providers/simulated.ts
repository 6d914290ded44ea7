// Simulates servers: waits, keeps servers in a file, and fails as often as configured. The same seed gives the same
// failures. For demos, rehearsals and tests. Like real servers, simulated ones outlive the controller.

import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { keepNewest } from '../base/lists.ts';
import type { Answer, AnswerOutcome } from '../model/call-result.ts';
import type { Properties } from '../model/objects.ts';
import type { Operation } from '../model/state.ts';
import type { Call, Provider } from './provider.ts';
import { SimulatedServers } from './simulated-servers.ts';

const TRIES_KEPT_MAX = 10_000;

/** The file, the durations and the failures of a simulated provider. */
export interface SimulatedOptions {
  /** The file of servers; created with its directory if missing. */
  readonly file: string;
  readonly createMs: number;
  readonly updateMs: number;
  readonly deleteMs: number;
  /** 0 if omitted. */
  readonly checkMs?: number;
  /** The fraction of tries that fail, 0 to 1. Checks never fail. */
  readonly failRate: number;
  readonly seed: number;
}

/**
 * Returns a provider that answers after the configured time. A call throws when its signal ends the wait; seed and
 * action determine whether it has taken effect by then. Throws if the file is damaged.
 */
export function createSimulatedProvider(options: SimulatedOptions, clock: Clock): Provider {
  const servers = new SimulatedServers(options.file);
  const failures = createFailures(options);

  async function perform(call: Call, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    const ms = durationOf(call.operation, options);
    if (ms <= 0) return act(call);
    const isEarly = shareOf(`${options.seed} early ${call.action}`) < 0.5;
    const early = isEarly ? act(call) : undefined;
    await wait(ms, { signal, clock });
    return early ?? act(call);
  }

  function act(call: Call): Answer {
    if (call.operation === 'check') return answerOf(call, servers.find(call.resource));
    if (!servers.hasSeen(call.resource, call.action)) {
      const failure = failures.next(call.action);
      if (failure !== undefined) return answer('retryable', { message: failure });
      takeEffect(call);
    }
    return answerOf(call, servers.find(call.resource));
  }

  function takeEffect({ operation, resource, action, properties }: Call): void {
    const isThere = servers.find(resource) !== undefined;
    if (isThere === (operation === 'create')) return;
    servers.change(resource, { action, properties: operation === 'delete' ? null : properties });
  }

  return {
    lostActionEnds: 'with the controller',
    perform,
    close: async () => servers.close(),
  };
}

/** Answers from the current servers, so that a late repeated call does not report an old state. */
function answerOf({ operation, resource }: Call, properties: Properties | undefined): Answer {
  const isThere = properties !== undefined;
  if (operation === 'delete' && isThere) return answer('failed', { message: `"${resource}" was created again since` });
  if (isThere) return answer('done', { observed: properties });
  if (operation === 'check' || operation === 'delete') return answer('absent', {});
  return answer('failed', { message: `there is no server "${resource}"` });
}

function answer(outcome: AnswerOutcome, rest: { message?: string; observed?: Properties }): Answer {
  return { outcome, message: rest.message ?? '', outputs: {}, observed: rest.observed ?? {} };
}

/** Returns a source of failures that counts the tries of each action, up to a limited number of actions. */
function createFailures({ seed, failRate }: SimulatedOptions): { next(action: string): string | undefined } {
  const tries = new Map<string, number>();
  return {
    next(action) {
      if (failRate === 0) return undefined;
      const attempt = (tries.get(action) ?? 0) + 1;
      tries.delete(action);
      if (shareOf(`${seed} try ${attempt} of ${action}`) >= failRate) return undefined;
      keepNewest(tries, [action, attempt], TRIES_KEPT_MAX);
      return `simulated failure: try ${attempt} of action ${action}`;
    },
  };
}

/** Returns a pseudo-random number from 0 up to 1 that depends only on the text. */
function shareOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32;
}

function durationOf(operation: Operation, options: SimulatedOptions): number {
  const { createMs, updateMs, deleteMs, checkMs = 0 } = options;
  return { create: createMs, update: updateMs, delete: deleteMs, check: checkMs }[operation];
}

function wait(ms: number, { signal, clock }: { signal: AbortSignal; clock: Clock }): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', stop);
      resolve();
    });
    function stop(): void {
      cancel();
      reject(signal.reason);
    }
    signal.addEventListener('abort', stop, { once: true });
  });
}
