// Defines the properties of a group itself: the allowed values and the defaults.

import { quote } from '../base/wording.ts';
import type { ProblemText } from '../model/entry.ts';
import { MEMBERS_MAX } from './limits.ts';

const PAUSE_SECONDS_MAX = 86_400;

/** The properties of a group that are strings, in the order in which they are documented. */
export const GROUP_FIELDS = ['count', 'index_start', 'max_unavailable', 'pause_seconds'] as const;
/** A property of a group itself, such as `count`. */
export type GroupField = (typeof GROUP_FIELDS)[number];

interface Rule {
  readonly accepts: (text: string) => boolean;
  readonly expected: string;
  readonly example: string;
  readonly fallback: string | null;
}

const RULES: Readonly<Record<GroupField, Rule>> = {
  count: {
    accepts: (text) => isWhole(text, { least: 0, most: MEMBERS_MAX }),
    expected: 'a whole number from 0 to 10,000',
    example: '"2"',
    fallback: null,
  },
  index_start: {
    accepts: isIndex,
    expected: 'a whole number of at most nine digits',
    example: '"1"',
    fallback: '1',
  },
  max_unavailable: {
    accepts: (text) =>
      isWhole(text, { least: 1, most: MEMBERS_MAX }) ||
      (text.endsWith('%') && isWhole(text.slice(0, -1), { least: 1, most: 100 })),
    expected: 'a whole number from 1 to 10,000, or a percentage from "1%" to "100%"',
    example: '"1" or "25%"',
    fallback: '1',
  },
  pause_seconds: {
    accepts: (text) => isWhole(text, { least: 0, most: PAUSE_SECONDS_MAX }),
    expected: 'a whole number of seconds from 0 to 86,400',
    example: '"30"',
    fallback: '0',
  },
};

/** Returns what is wrong with a field of the group `key`, in a message that quotes its value, or undefined. */
export function groupFieldFault(key: string, field: GroupField, value: string): ProblemText | undefined {
  const { accepts, expected, example } = RULES[field];
  if (accepts(value)) return undefined;
  const message = `${field} of "${key}" is ${quote(value)}; it must be ${expected}`;
  return { code: 'bad_group_property', message, hint: `write digits in quotes, such as ${example}` };
}

/** Returns the value of a field that is left out; null where it may not be. */
export function groupFieldDefault(field: GroupField): string | null {
  return RULES[field].fallback;
}

/** Returns true for a text that can be a member's index: digits only, and few enough to count with. */
function isIndex(text: string): boolean {
  return /^\d{1,9}$/.test(text);
}

function isWhole(text: string, { least, most }: { readonly least: number; readonly most: number }): boolean {
  return isIndex(text) && Number(text) >= least && Number(text) <= most;
}
