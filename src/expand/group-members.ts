// Lists the servers of a resource: one, or the members of a group by count, index_start and retired indexes.
import { problemAt } from '../model/entry.ts';
import type { Problem } from '../model/problem.ts';
import type { Retired } from './amend-template.ts';
import type { Blueprint, Text } from './blueprint.ts';
import { GROUP_FIELDS, type GroupField, groupFieldDefault, groupFieldFault } from './group-fields.ts';
import { MEMBERS_MAX } from './limits.ts';
import { substitute, valueList } from './placeholders.ts';
import type { Parameters } from './resolve-parameters.ts';

/** The servers of one resource, before their values are computed. */
export interface Members {
  readonly blueprint: Blueprint;
  /** One for each server: its index as written, or null for a single server. */
  readonly indexes: readonly (string | null)[];
  /** As written: `1`, `25%`. */
  readonly maxUnavailable: string;
  readonly pauseSeconds: number;
}

interface MembersInput {
  readonly parameters: Parameters;
  /** Of this resource. */
  readonly retired: readonly Retired[];
}

/** Returns the servers of a resource, and what is wrong with the numbers of a group. */
export function listMembers(
  blueprint: Blueprint,
  { parameters, retired }: MembersInput,
): { readonly members: Members; readonly problems: readonly Problem[] } {
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
    fields[field] = text === undefined ? (groupFieldDefault(field) ?? '') : textValue(text, parameters);
    const fault = text === undefined ? undefined : groupFieldFault(blueprint.key, field, fields[field]);
    if (text === undefined || fault === undefined) continue;
    const { entry, pointer } = parameters.blame(text);
    problems.push(problemAt(entry, pointer, fault));
  }
  return { fields, problems };
}

function textValue({ tokens, raw }: Text, { values }: Parameters): string {
  const value = substitute(tokens, { parameters: values, index: '', listOf: () => valueList([]) });
  // Too long to be a number: shown as it is written.
  return typeof value === 'string' ? value : raw;
}

function numberMembers({ count, index_start }: Fields, retired: ReadonlySet<number>): string[] {
  const width = index_start.startsWith('0') ? index_start.length : 0;
  const indexes: string[] = [];
  for (let index = Number(index_start); indexes.length < Math.min(Number(count), MEMBERS_MAX); index++) {
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
