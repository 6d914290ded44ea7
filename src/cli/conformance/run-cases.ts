// Runs the cases of the conformance test one after the other, removes in the end what they have made, and prints for
// people what it will do, each case as it ends, and the result.

import { countOf } from '../../base/wording.ts';
import { print } from '../output.ts';
import { conformanceCases } from './cases.ts';
import { Deviation, type Trial } from './trial.ts';

/** How one case ended. */
interface CaseResult {
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

const WORDS = { passed: 'ok  ', failed: 'FAIL' } as const;
const TITLE_WIDTH = 78;

/** Prints what the test will do, before it does it. */
export function printPlan(provider: string, { prefix, options: { properties, kind } }: Trial): void {
  const names = ['name', ...Object.keys(properties)].join(', ');
  print(`Testing the provider: ${provider}`);
  print(
    `It makes servers of the kind ${kind} named ${prefix}-…, with the properties ${names}, and deletes them again.\n`,
  );
}

/** Prints one case that has ended. */
export function printCase({ title, result, message, ms }: CaseResult): void {
  print(`${WORDS[result]}  ${title.padEnd(TITLE_WIDTH)} ${(ms / 1000).toFixed(1).padStart(6)} s`);
  if (message !== '') print(message.replaceAll(/^/gm, '      '));
}

/** Prints how many cases passed, and what is left to do. */
export function printResult({ cases, left }: ConformanceResult): void {
  const passed = cases.filter(({ result }) => result === 'passed').length;
  print(`\n${passed} of ${countOf(cases.length, 'case')} passed, ${cases.length - passed} failed.`);
  if (left.length > 0) print(`These servers may still be there; remove them by hand: ${left.join(', ')}`);
  else print('Nothing is left of its servers.');
}
