// The mistake of taking away what is still needed: it is the substraction that has to change.
import { problemAt } from '../model/entry.ts';
import type { Origin } from '../model/expanded.ts';
import type { Problem } from '../model/problem.ts';
import { quote } from '../model/quote.ts';

/** Returns the problem of a substraction whose victim `needed` names, at `pointer` of the template. */
export function takenAwayButUsed(removal: Origin, needed: string, pointer: string): Problem {
  return problemAt(removal.entry, removal.pointer, {
    code: 'taken_away_but_used',
    message: `this is taken away, and ${quote(needed)} at ${pointer} still needs it`,
    hint: 'take that away too, or give it another value in stackTemplateAdditions',
    part: 'key',
  });
}
