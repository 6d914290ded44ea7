// Compares the observed values of an idle server with its wanted spec, and reports or heals the difference. Pure;
// called by conclude.ts. docs/concepts.md, drift; docs/decisions/0018-a-check-before-every-create.md.

import { toRfc3339 } from '../base/wording.ts';
import type { Answer } from '../model/call-result.ts';
import { emptyMap, fieldOf, isMap, isSame, type Json, type JsonMap } from '../model/json.ts';
import type { DriftPolicy } from '../model/objects.ts';
import { allServersRead } from '../model/outputs.ts';
import type { Reason, ServerRow } from '../model/rows.ts';
import type { Spec } from '../model/spec.ts';
import { type ConcludeContext, gone, moment } from './call-outcome.ts';
import { isDescriptive, needsNoAction } from './existence.ts';
import { advance, type Moment, requeue } from './transitions.ts';

/** How often a property is healed within {@link FIGHT_MS} before healing stops. */
const HEALS_MAX = 3;
const FIGHT_MS = 24 * 3_600_000;
/**
 * The most updates that changed outputs may start within {@link FIGHT_MS}; one more than the servers whose outputs are
 * used, if that is higher.
 */
const REREADS_MAX = 10;
/** The key under which {@link ServerRow.healing} counts a server that was gone. No property has this name. */
const GONE = '';
/** The share of a site's servers that healing may recreate within {@link GONE_MS}: from one to {@link GONE_MOST}. */
const GONE_SHARE = 0.05;
const GONE_MOST = 20;
const GONE_MS = 3_600_000;
/** Characters of an observed value that a row keeps. */
const VALUE_LENGTH_MAX = 200;
const NAMES_MAX = 5;

/** The observed values that differ from the wanted ones, by property; null: the server was gone. */
export type Finding = JsonMap | null;

/** Returns true if the server is idle, so that a check only compares. */
export function isIdle({ state, wanted, applied }: ServerRow): boolean {
  return (state === 'done' || state === 'drifted') && wanted !== null && applied !== null;
}

/** Returns true if the server is to be created again once another check has confirmed that it is gone. */
export function isToBeConfirmed({ state, wanted, applied, observed, adopting }: ServerRow): boolean {
  return state === 'pending' && wanted !== null && applied !== null && observed === null && !adopting;
}

/**
 * Returns when a server that healing is to create again was found gone: milliseconds since 1970. Undefined if an
 * operator requested it.
 */
export function goneSince(row: ServerRow): number | undefined {
  const last = isToBeConfirmed(row) ? fieldOf(row.healing ?? {}, GONE)?.at(-1) : undefined;
  return last === undefined ? undefined : Date.parse(last);
}

/** Returns true if a server is gone with its site, and waits for an operator. Commits and outputs do not end this. */
export function isLeftGone({ state, reason }: Pick<ServerRow, 'state' | 'reason'>): boolean {
  return state === 'drifted' && reason?.code === 'many_gone';
}

/**
 * Returns true if such a server also differs from the last commit. If a check finds it, an update follows under any
 * drift policy.
 */
export function hasMissedCommit({ state, wanted, applied, reason }: ServerRow): boolean {
  return isLeftGone({ state, reason }) && wanted !== null && applied !== null && !needsNoAction(wanted, applied);
}

/** Returns true if healing recreates the server, or may have recreated it recently enough to be counted. */
export function mayCountAsGone({ healing }: ServerRow): boolean {
  return fieldOf(healing ?? {}, GONE) !== undefined;
}

/** Returns true if healing recreates or has recreated the server because it was found gone within the last hour. */
export function countsAsGone({ healing }: ServerRow, now: number): boolean {
  return (fieldOf(healing ?? {}, GONE) ?? []).some((time) => Date.parse(time) > now - GONE_MS);
}

/** Returns how many of a site's `size` servers healing may recreate within an hour. */
export function goneMax(size: number): number {
  return Math.min(GONE_MOST, Math.max(1, Math.floor(size * GONE_SHARE)));
}

/** Returns the drift policy of a row: its instance's, else that of its provider entry, else `report`. */
export function driftPolicyOf(row: Pick<ServerRow, 'policy'>, entry: DriftPolicy | undefined): DriftPolicy {
  return row.policy.drift ?? entry ?? 'report';
}

/** Returns the row without the values that a check observed. */
export function withoutObserved(row: ServerRow): ServerRow {
  if (row.observed === undefined) return row;
  const { observed: _observed, ...rest } = row;
  return rest;
}

/** Returns the row without its counts of heals and of changed outputs. */
export function withoutHealing(row: ServerRow): ServerRow {
  if (row.healing === undefined && row.rereads === undefined) return row;
  const { healing: _healing, rereads: _rereads, ...rest } = row;
  return rest;
}

/** Returns the row with one more update because of changed outputs; `before`: the times of earlier ones. */
export function withReread(row: ServerRow, before: ServerRow['rereads'], now: number): ServerRow {
  return { ...row, rereads: [...recentRereads(before, now), toRfc3339(now)].slice(-rereadsMax(row)) };
}

/** Returns the number of updates because of changed outputs within 24 hours if it is too high, else undefined. */
export function tooManyRereads(row: ServerRow, now: number): number | undefined {
  const { length } = recentRereads(row.rereads, now);
  return length >= rereadsMax(row) ? length : undefined;
}

function recentRereads(rereads: ServerRow['rereads'], now: number): readonly string[] {
  return (rereads ?? []).filter((time) => Date.parse(time) > now - FIGHT_MS);
}

/** Each server whose outputs are used may change them once. */
function rereadsMax({ wanted }: ServerRow): number {
  return Math.max(REREADS_MAX, allServersRead(wanted?.reads).size + 1);
}

/**
 * Returns the observed values that differ from the wanted ones, shortened. For a property that was not observed, the
 * applied value counts. Properties that start no action are not compared, and neither are secrets: only their
 * references are known.
 */
export function differences(
  { wanted, applied }: { readonly wanted: Spec; readonly applied: Spec },
  observed: JsonMap,
  isSecret: (property: string) => boolean = () => false,
): JsonMap {
  const found = emptyMap();
  for (const [name, value] of Object.entries(wanted.properties)) {
    if (wanted.configurationOnly.includes(name) || isDescriptive(name) || isSecret(name)) continue;
    const seen = fieldOf(observed, name) ?? fieldOf(applied.properties, name);
    if (seen !== undefined && !isSameValue(value, seen)) found[name] = shortenedValue(seen);
  }
  return found;
}

/** Returns the names of the properties that a check found to differ, sorted. */
export function differingNames(observed: ServerRow['observed']): readonly string[] {
  return Object.keys(observed ?? {}).sort();
}

/**
 * Returns the reason of a drifted server. It names properties but no values, because events and proxies show it. The
 * row contains the values.
 */
export function driftReason(found: Finding): Reason {
  if (found === null) {
    const text = 'it is gone, and not by a request; a retry makes it again, and so does healing';
    return { code: 'drifted', text };
  }
  return { code: 'drifted', text: `differs in ${someNames(Object.keys(found))}` };
}

/**
 * Returns the row after a check of an idle server, or of one that was gone; the same object if nothing changes. A gone
 * server is created again only after a second check, so one wrong answer does not create a server.
 */
export function concludeDrift(row: ServerRow, answer: Answer, at: ConcludeContext): ServerRow {
  const { wanted, applied } = row;
  if (wanted === null || applied === null) return row;
  const isGone = answer.outcome === 'absent';
  const found = isGone ? null : differences({ wanted, applied }, answer.observed, at.isSecret);
  if (isToBeConfirmed(row)) return confirmed(row, found, at);
  if (found !== null && hasMissedCommit(row)) return corrected(withoutObserved(row), moment(at));
  if (found !== null && Object.keys(found).length === 0) return resolved(row, at);
  const fought = foughtOver(row, found, at);
  const policy = hasMissedCommit(row) ? 'heal' : driftPolicyOf(row, at.drift);
  if (policy !== 'heal') return reported(row, { found, reason: driftReason(found), at });
  if (fought.length > 0) return reported(row, { found, reason: fightReason(fought, found), at });
  const isLeft = found === null && (row.reason?.code === 'many_gone' || at.hasManyGone?.());
  if (isLeft) return reported(row, { found, reason: MANY_GONE, at });
  const healing = { ...recentHeals(row, at.now), ...healed(row, found, at.now) };
  return corrected({ ...row, healing, observed: found }, moment(at, driftReason(found)));
}

/**
 * Returns the row queued for the action that restores the wanted spec. The action gets a new id, because a provider
 * that recognises repeated calls would take it for the update that it has already done.
 */
export function corrected(row: ServerRow, when: Moment): ServerRow {
  return requeue(row, { ...when, attempt: 0, generation: row.generation + 1 });
}

/**
 * Returns the changes to the row of a wanted server that its update has not found. It is created again once a check has
 * confirmed that it is gone.
 */
export function missed(row: ServerRow, at: ConcludeContext): Partial<ServerRow> {
  const healing = { ...recentHeals(row, at.now), ...healed(row, null, at.now) };
  return { action: null, observed: null, healing, dirty: false };
}

/**
 * Returns the row of a server that is gone with its site, queued for another check. The server counts as found gone
 * now.
 */
export function soughtAgain(row: ServerRow, now: number): ServerRow {
  const healing = { ...recentHeals(row, now), ...healed(row, null, now) };
  return requeue({ ...row, healing }, { now: toRfc3339(now), reason: driftReason(null) });
}

function confirmed(row: ServerRow, found: Finding, at: ConcludeContext): ServerRow {
  const rest = withoutObserved(row);
  // Other servers may have been found gone since. The limit does not apply to an operator's retry.
  const isHealed = fieldOf(recentHeals(row, at.now), GONE) !== undefined;
  if (found === null && isHealed && at.hasManyGone?.()) return leftGone(row, moment(at));
  if (found === null) return { ...rest, ...gone(rest), attempt: 0 };
  // The server exists after all. If it does not differ, the next decision settles it.
  return Object.keys(found).length === 0 ? rest : { ...rest, observed: found };
}

function resolved(row: ServerRow, at: ConcludeContext): ServerRow {
  if (row.state === 'done' && row.observed === undefined) return row.checked ? row : { ...row, checked: true };
  return advance(withoutObserved(row), 'settle', { ...moment(at), applied: row.wanted, checked: true });
}

interface Report {
  readonly found: Finding;
  readonly reason: Reason;
  readonly at: ConcludeContext;
}

function reported(row: ServerRow, { found, reason, at }: Report): ServerRow {
  const isOld = row.state === 'drifted' && row.observed !== undefined && isSame(row.observed, found);
  if (isOld && row.reason?.code === reason.code) return row;
  return advance(row, 'drift', { ...moment(at, reason), observed: found, checked: true });
}

/**
 * Returns the names that differ again although they were healed as often as allowed. Once healing has stopped, it does
 * not resume.
 */
function foughtOver(row: ServerRow, found: Finding, at: ConcludeContext): readonly string[] {
  const names = namesOf(found);
  const heals = recentHeals(row, at.now);
  const fought = names.filter((name) => (fieldOf(heals, name)?.length ?? 0) >= HEALS_MAX);
  return fought.length === 0 && row.reason?.code === 'drift_fight' ? names : fought;
}

const MANY_GONE: Reason = {
  code: 'many_gone',
  text:
    'it is gone, and its site has lost too many servers within an hour, or no other server of the site was ' +
    'found since: check the site, then retry',
};

/** Returns the row of a server that healing does not create again: it waits for an operator. */
export function leftGone(row: ServerRow, when: Moment): ServerRow {
  return advance(withoutLastHeal(row), 'drift', { ...when, reason: MANY_GONE, observed: null, checked: true });
}

/** Removes the last heal from the count, because the server was not created again. */
function withoutLastHeal(row: ServerRow): ServerRow {
  const { [GONE]: times = [], ...others } = row.healing ?? {};
  return { ...row, healing: times.length < 2 ? others : { ...others, [GONE]: times.slice(0, -1) } };
}

function fightReason(names: readonly string[], found: Finding): Reason {
  const times = `${HEALS_MAX} times within 24 hours; healing has stopped: find out`;
  // The cause may be a site that does not always see the server, or someone who removes it.
  if (found === null) return { code: 'drift_fight', text: `it was found gone ${times} why, then retry` };
  return { code: 'drift_fight', text: `${someNames(names)} was corrected ${times} who changes it, then retry` };
}

function healed(row: ServerRow, found: Finding, now: number): Record<string, readonly string[]> {
  const heals = recentHeals(row, now);
  const names = emptyMap<readonly string[]>();
  for (const name of namesOf(found)) names[name] = [...(fieldOf(heals, name) ?? []), toRfc3339(now)];
  return names;
}

function recentHeals({ healing = {} }: ServerRow, now: number): Record<string, readonly string[]> {
  const recent = emptyMap<readonly string[]>();
  for (const [name, times] of Object.entries(healing)) {
    const kept = times.filter((time) => Date.parse(time) > now - FIGHT_MS);
    if (kept.length > 0) recent[name] = kept;
  }
  return recent;
}

function namesOf(found: Finding): readonly string[] {
  return found === null ? [GONE] : Object.keys(found);
}

function someNames(names: readonly string[]): string {
  const more = names.length - NAMES_MAX;
  return `${[...names].sort().slice(0, NAMES_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Specs contain strings or lists of strings. A provider may observe a number or a boolean. */
function isSameValue(wanted: string | readonly string[], seen: Json): boolean {
  if (isSame(wanted, seen)) return true;
  return !isMap(seen) && !Array.isArray(seen) && String(seen) === wanted;
}

/** Returns a value for rows and answers. A long value is truncated. */
export function shortenedValue(value: Json): Json {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text.length <= VALUE_LENGTH_MAX) return value;
  return `${text.slice(0, VALUE_LENGTH_MAX)}… (${text.length} characters)`;
}
