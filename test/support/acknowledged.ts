// Compares what a controller has acknowledged with its files after a kill. Its log and its REST interface show only what is
// recorded, so everything that they showed has to be in the files.
import { expect } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import { type History, versionsOf } from './store-history.ts';

/** What a client of the REST interface was told. */
export interface Seen {
  readonly commit: string;
  /** By server. */
  readonly states: Readonly<Record<string, string>>;
}

/** What one process told before it was killed. */
export interface Told {
  readonly lines: readonly JsonMap[];
  /** The last answer, if there was any. */
  readonly seen: Seen | undefined;
}

/** The store had kept `before` when that process started, and has kept `now` after its end. */
export interface Files {
  readonly before: History;
  readonly now: History;
  /** Every commit of the repository, oldest first. */
  readonly commits: readonly string[];
}

/** Checks that nothing is lost that was ever durable, or that this process has told. */
export function expectAcknowledged({ lines, seen }: Told, { before, now, commits }: Files): void {
  expect(now.records.slice(0, before.records.length)).toEqual(before.records);
  expectTransitions(lines, { before, now });
  const heads = versionsOf(now, 'head').map(({ value }) => value?.commit);
  for (const line of lines) if (line.msg === 'commit followed') expect(heads).toContain(line.commit);
  if (seen === undefined) return;
  expect(commits.indexOf(heads.at(-1) ?? '')).toBeGreaterThanOrEqual(commits.indexOf(seen.commit));
  const recorded = new Set(versionsOf(now, 'server').map(({ name, value }) => `${name}: ${value?.state}`));
  for (const [name, state] of Object.entries(seen.states)) expect(recorded).toContain(`${name}: ${state}`);
}

/** Every transition that was logged is one of the recorded ones, in the same order; commits make others, without a line. */
function expectTransitions(lines: readonly JsonMap[], { before, now }: Omit<Files, 'commits'>): void {
  const recorded = transitionsOf(now).slice(transitionsOf(before).length);
  const next = new Map<string, number>();
  for (const { msg, server, from, to } of lines) {
    if (msg !== 'state') continue;
    const words = `${server}: ${from} -> ${to}`;
    const at = recorded.indexOf(words, next.get(String(server)) ?? 0);
    expect(at, `${words} was logged and is not recorded`).not.toBe(-1);
    next.set(String(server), at + 1);
  }
}

/** Returns what every recorded version of a server made of the one before. */
function transitionsOf(history: History): string[] {
  const states = new Map<string, string>();
  return versionsOf(history, 'server').map(({ name, value }) => {
    const to = value?.state ?? 'gone';
    const from = states.get(name) ?? 'none';
    states.set(name, to);
    return `${name}: ${from} -> ${to}`;
  });
}

/** Returns the id of every `create` that was recorded as successful, as providers see it: `<server>.<id>`. */
export function successfulCreates(history: History): string[] {
  const rows = new Map<string, ServerRow | null>();
  return versionsOf(history, 'server').flatMap(({ name, value }) => {
    const action = rows.get(name)?.action;
    rows.set(name, value);
    const isCreated = action?.operation === 'create' && value?.action === null && value.applied !== null;
    return isCreated ? [`${name}.${action.id}`] : [];
  });
}

/** Returns the last version of every server that has a row. */
export function lastServers(history: History): ReadonlyMap<string, ServerRow> {
  const rows = new Map<string, ServerRow>();
  for (const { name, value } of versionsOf(history, 'server')) {
    if (value === null) rows.delete(name);
    else rows.set(name, value);
  }
  return rows;
}
