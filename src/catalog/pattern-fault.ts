// Whether regular expressions from a file may be run on values of other files.
import { quote } from '../model/quote.ts';
import { type PatternRefusal, patternRefusal, patternRefusals } from '../pattern.ts';
import type { Fault } from './fault.ts';

/** Returns what is wrong with a pattern, or undefined. The schema limits its length. */
export function patternFault(pattern: string): Fault | undefined {
  const refusal = patternRefusal(pattern);
  return refusal === undefined ? undefined : faultOf(quote(pattern), refusal);
}

/** Returns what is wrong with patterns that are searched for together, by index; at index null with all of them. */
export function patternFaults(patterns: readonly string[]): readonly (readonly [index: number | null, fault: Fault])[] {
  return [...patternRefusals(patterns)].map(([index, refusal]) => {
    return [index, faultOf(index === null ? 'the list' : quote(patterns[index] ?? ''), refusal)];
  });
}

function faultOf(what: string, { reason, hint }: PatternRefusal): Fault {
  return { code: 'bad_pattern', message: `${what} ${reason}`, hint };
}
