// Compares what answers are made of without keeping that in memory: a whole desired state, perhaps.
import type { AnswerSources } from '../model/answer-sources.ts';

/** Below 0, so that none is equal to a number that is a source itself. */
const numbers = new WeakMap<object, number>();
let lastNumber = 0;

/** Returns, for each source that is an object, a number that no other object has, and any other source as it is. */
export function numbersOf(sources: AnswerSources): readonly unknown[] {
  return sources.map(numberOf);
}

function numberOf(source: unknown): unknown {
  if (typeof source !== 'object' || source === null) return source;
  const known = numbers.get(source);
  if (known !== undefined) return known;
  lastNumber -= 1;
  numbers.set(source, lastNumber);
  return lastNumber;
}
