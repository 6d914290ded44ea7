// Runs the cases of the conformance test one after the other, and removes in the end what they have made.
import { conformanceCases } from './cases.ts';
import { Deviation, Skipped, type Trial } from './trial.ts';

/** How one case ended. */
export interface CaseResult {
  readonly title: string;
  readonly result: 'passed' | 'failed' | 'skipped';
  /** Why it did not pass; empty if it did. */
  readonly message: string;
  readonly ms: number;
}

/** How all cases ended, and what is left of their servers. */
export interface ConformanceResult {
  readonly cases: readonly CaseResult[];
  /** The servers that could not be removed. */
  readonly left: readonly string[];
}

/** Returns the result of all cases, and calls `told` after each. Throws the reason of an interruption. */
export async function runCases(trial: Trial, told: (result: CaseResult) => void): Promise<ConformanceResult> {
  const cases: CaseResult[] = [];
  try {
    for (const { title, run } of conformanceCases(trial)) {
      const begun = performance.now();
      const ended = await outcomeOf(run(trial));
      const result = { title, ...ended, ms: Math.round(performance.now() - begun) };
      cases.push(result);
      told(result);
    }
  } finally {
    await removeServers(trial);
  }
  return { cases, left: await serversLeft(trial) };
}

async function outcomeOf(run: Promise<void>): Promise<Pick<CaseResult, 'result' | 'message'>> {
  try {
    await run;
    return { result: 'passed', message: '' };
  } catch (error) {
    if (error instanceof Deviation) return { result: 'failed', message: error.message };
    if (error instanceof Skipped) return { result: 'skipped', message: error.message };
    throw error;
  }
}

async function removeServers(trial: Trial): Promise<void> {
  for (const server of trial.made) await outcomeOf(trial.call('delete', server).then(() => undefined));
}

async function serversLeft(trial: Trial): Promise<readonly string[]> {
  const left: string[] = [];
  for (const server of trial.made) {
    const { result } = await outcomeOf(trial.expect(['absent'], 'check', server).then(() => undefined));
    if (result !== 'passed') left.push(server);
  }
  return left;
}
