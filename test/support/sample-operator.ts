// An operator for tests of the API: it holds and finds nothing, and remembers what it was asked.
import type { Operator } from '../../src/service/operator.ts';

export interface SampleOperator extends Operator {
  /** Every operation asked for: its name, then its arguments without who asked. */
  readonly asked: unknown[][];
}

export function createSampleOperator(): SampleOperator {
  const asked: unknown[][] = [];
  const note = (...order: unknown[]): Promise<string> => {
    asked.push(order);
    return Promise.resolve('so it is');
  };
  return {
    asked,
    held: () => [],
    problems: () => ({ commit: 'c'.repeat(40), problems: [] }),
    approve: ({ reason }, digest) => note('approve', reason, digest),
    acceptHistory: ({ reason }, commit) => note('accept-history', reason, commit),
    suspend: ({ reason }, what) => note('suspend', reason, what),
    resume: ({ reason }, instance) => note('resume', reason, instance),
    retry: ({ reason }, target) => note('retry', reason, target),
    adopt: ({ reason }, target) => note('adopt', reason, target),
  };
}
