// Lists the servers of a resource: one, or the members of a group by count, index_start and retired indexes.
import { quote } from '../base/wording.ts';
import { type ProblemText, problemAt } from '../model/entry.ts';
import type { Problem } from '../model/problem.ts';
import type { Retired } from './amend-template.ts';
import { type Blueprint, GROUP_FIELDS, type GroupField, type Text } from './blueprint.ts';
import { MEMBERS_MAX } from './limits.ts';
import { substitute, valueList } from './placeholders.ts';
import type { Parameters, StackInput } from './resolve-parameters.ts';

const PAUSE_SECONDS_MAX = 86_400;

interface Rule {
  readonly accepts: (text: string) => boolean;
  readonly expected: string;
  readonly example: string;
  /** The default. */
  readonly fallback: string;
}

const RULES: Readonly<Record<GroupField, Rule>> = {
  count: {
    accepts: (text) => isWhole(text, { least: 0, most: MEMBERS_MAX }),
    expected: 'a whole number from 0 to 10,000',
    example: '"2"',
    // Required, so the default is never used.
    fallback: '',
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

/** Returns the fault of a field of the group `key`, or undefined. The message quotes the value. */
export function groupFieldFault(key: string, field: GroupField, value: string): ProblemText | undefined {
  const { accepts, expected, example } = RULES[field];
  if (accepts(value)) return undefined;
  const message = `${field} of "${key}" is ${quote(value)}; it must be ${expected}`;
  return { code: 'bad_group_property', message, hint: `write digits in quotes, such as ${example}` };
}

/** The servers of one resource, before their values are computed. */
export interface Members {
  readonly blueprint: Blueprint;
  /** One for each server: its index as written, or null for a single server. */
  readonly indexes: readonly (string | null)[];
  /** As written: `1`, `25%`. */
  readonly maxUnavailable: string;
  readonly pauseSeconds: number;
}

/** Returns the servers of a resource, and the mistakes in the fields of a group. */
export function listMembers(
  blueprint: Blueprint,
  { amended, parameters }: StackInput,
): { readonly members: Members; readonly problems: readonly Problem[] } {
  const retired = amended.retired.get(blueprint.key) ?? [];
  const { fields, problems } = readFields(blueprint, parameters);
  const maxUnavailable = fields.max_unavailable;
  const pauseSeconds = Number(fields.pause_seconds);
  const pace = { blueprint, maxUnavailable, pauseSeconds };
  if (blueprint.group === null) return { members: { ...pace, indexes: [null] }, problems: [] };
  if (problems.length > 0) return { members: { ...pace, indexes: [] }, problems };
  const start = Number(fields.index_start);
  const tooLow = retired.filter(({ index }) => index < start);
  return {
    members: { ...pace, indexes: numberMembers(fields, new Set(retired.map(({ index }) => index))) },
    problems: tooLow.map((one) => belowStart(one, fields.index_start)),
  };
}

type Fields = Record<GroupField, string>;

function readFields(
  blueprint: Blueprint,
  parameters: Parameters,
): { readonly fields: Readonly<Fields>; readonly problems: readonly Problem[] } {
  const fields: Fields = { count: '', index_start: '', max_unavailable: '', pause_seconds: '' };
  const problems: Problem[] = [];
  for (const field of GROUP_FIELDS) {
    const text = blueprint.group?.get(field);
    fields[field] = text === undefined ? RULES[field].fallback : textValue(text, parameters);
    const fault = text === undefined ? undefined : groupFieldFault(blueprint.key, field, fields[field]);
    if (text === undefined || fault === undefined) continue;
    const { entry, pointer } = parameters.blame(text);
    problems.push(problemAt(entry, pointer, fault));
  }
  return { fields, problems };
}

function textValue({ tokens, raw }: Text, { values }: Parameters): string {
  const value = substitute(tokens, { parameters: values, index: '', listOf: () => valueList([]) });
  // A value that is too long is not a number: the message shows it as written.
  return typeof value === 'string' ? value : raw;
}

function numberMembers({ count, index_start }: Fields, retired: ReadonlySet<number>): string[] {
  const width = index_start.startsWith('0') ? index_start.length : 0;
  const indexes: string[] = [];
  for (let index = Number(index_start); indexes.length < Number(count); index++) {
    if (!retired.has(index)) indexes.push(String(index).padStart(width, '0'));
  }
  return indexes;
}

function belowStart({ index, origin: { entry, pointer } }: Retired, start: string): Problem {
  return problemAt(entry, pointer, {
    code: 'bad_retired_index',
    message: `the index "${index}" is below index_start, which is "${start}"`,
    hint: 'remove it: the group has no such member',
  });
}

/** Returns true for a text that can be a member's index: at most nine digits. */
function isIndex(text: string): boolean {
  return /^\d{1,9}$/.test(text);
}

function isWhole(text: string, { least, most }: { readonly least: number; readonly most: number }): boolean {
  return isIndex(text) && Number(text) >= least && Number(text) <= most;
}
