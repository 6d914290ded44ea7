// Runs the cases of the conformance test one after the other, and removes in the end what they have made.
import { conformanceCases } from './cases.ts';
import { Deviation, type Trial } from './trial.ts';

/** How one case ended. */
export interface CaseResult {
  readonly title: string;
  readonly result: 'passed' | 'failed';
  /** Why it did not pass; empty if it did. */
  readonly message: string;
  readonly ms: number;
}

/** How all cases ended, and what is left of their servers. */
interface ConformanceResult {
  readonly cases: readonly CaseResult[];
  /** The servers that could not be removed. */
  readonly left: readonly string[];
}

/** Returns the result of all cases, and calls `ended` after each. Throws the reason of an interruption. */
export async function runCases(trial: Trial, ended: (result: CaseResult) => void): Promise<ConformanceResult> {
  const cases: CaseResult[] = [];
  try {
    for (const { title, run } of conformanceCases(trial)) {
      const begun = performance.now();
      const found = await awaitResult(run(trial));
      const result = { title, ...found, ms: Math.round(performance.now() - begun) };
      cases.push(result);
      ended(result);
    }
  } finally {
    for (const server of trial.made) await awaitResult(trial.call('delete', server));
  }
  const left: string[] = [];
  for (const server of trial.made) {
    const { result } = await awaitResult(trial.expect(['absent'], 'check', server));
    if (result !== 'passed') left.push(server);
  }
  return { cases, left };
}

async function awaitResult(run: Promise<unknown>): Promise<Pick<CaseResult, 'result' | 'message'>> {
  try {
    await run;
    return { result: 'passed', message: '' };
  } catch (error) {
    if (error instanceof Deviation) return { result: 'failed', message: error.message };
    throw error;
  }
}
