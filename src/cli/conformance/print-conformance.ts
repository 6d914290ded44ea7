// Prints the conformance test for people: what it will do, each case as it ends, and the result.
import { countOf } from '../../model/count-words.ts';
import { print } from '../output.ts';
import type { CaseResult, ConformanceResult } from './run-cases.ts';
import type { Trial } from './trial.ts';

const WORDS = { passed: 'ok  ', failed: 'FAIL', skipped: 'skip' } as const;
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
  const count = (result: CaseResult['result']): number => cases.filter((each) => each.result === result).length;
  const skipped = count('skipped') === 0 ? '' : `, ${count('skipped')} skipped`;
  print(`\n${count('passed')} of ${countOf(cases.length, 'case')} passed, ${count('failed')} failed${skipped}.`);
  if (left.length > 0) print(`These servers may still be there; remove them by hand: ${left.join(', ')}`);
  else print('Nothing is left of its servers.');
}
