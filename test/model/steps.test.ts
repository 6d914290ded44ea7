import { expect, it } from 'vitest';
import { finish, visitAll, withResult } from '../../src/base/steps.ts';

function stepsOf(count: number): { readonly visited: readonly number[]; readonly steps: number } {
  const visited: number[] = [];
  let steps = 0;
  const work = visitAll(Array(count).keys(), (item) => visited.push(item));
  while (work.next().done !== true) steps += 1;
  return { visited, steps };
}

it('visits every item in order, in steps of a hundred', () => {
  const { visited, steps } = stepsOf(350);
  expect(visited).toEqual([...Array(350).keys()]);
  expect(steps).toBe(3);
});

it('visits few items in one step, so that what concerns few servers is never interrupted', () => {
  expect(stepsOf(99).steps).toBe(0);
});

it('returns the result of work that nothing interrupts', () => {
  expect(finish(withResult('known'))).toBe('known');
});
