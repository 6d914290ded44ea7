// Whether a regular expression from a file may be run on values of other files: it compiles, and cannot take for ever.

import { quote } from '../model/quote.ts';
import type { Fault } from './fault.ts';

/** Returns what is wrong with a pattern, or undefined. Patterns are run with the flag `u`; the schema caps their length. */
export function patternFault(pattern: string): Fault | undefined {
  try {
    new RegExp(pattern, 'u');
  } catch (error) {
    const reason = String(error).replace(/^.*\/u: /s, '');
    const message = `${quote(pattern)} is no regular expression: ${reason}`;
    return { code: 'bad_pattern', message, hint: 'in single quotes YAML leaves backslashes as they are' };
  }
  const slow = slowPart(pattern);
  if (slow === undefined) return undefined;
  return {
    code: 'bad_pattern',
    message: `${quote(pattern)} can take for ever: ${slow}`,
    hint: 'repeat a character class instead, such as [a-z/]+ for (/[a-z]+)+',
  };
}

/**
 * Finds what makes a backtracking matcher exponential: a repeated group that itself repeats or chooses, and
 * back-references. Some harmless patterns are refused with them; each can be written another way.
 */
function slowPart(pattern: string): string | undefined {
  const plain = pattern.replace(/\\[^1-9k]/g, 'x').replace(/\[(?:[^\]\\]|\\.)*\]/g, 'x');
  if (plain.includes('\\')) return 'it refers back to a group';
  const open: boolean[] = [];
  for (const { 0: token, groups } of plain.matchAll(
    /\((?:\?(?:<?[=!]|:|<\w+>))?|\)(?<repeats>[*+]|\{\d+,?\d*\})?|[*+?|{]/g,
  )) {
    if (token.startsWith('(')) {
      open.push(false);
      continue;
    }
    const isVaried = token.startsWith(')') ? open.pop() === true : true;
    if (groups?.repeats !== undefined && isVaried) return 'a group that repeats or chooses is itself repeated';
    // Whatever holds this repetition repeats it too, should it be repeated.
    if ((isVaried || groups?.repeats !== undefined) && open.length > 0) open[open.length - 1] = true;
  }
  return undefined;
}
