// Compares what a check observed with what is wanted of an idle server, and reports or heals the difference. Pure;
// conclude.ts calls it. docs/concepts.md, drift; docs/decisions/0018-a-check-before-every-create.md.

import { momentOf } from '../base/wording.ts';
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
 * How many updates changed outputs may start within {@link FIGHT_MS}: this many, or one more than the servers whose
 * outputs are used.
 */
const REREADS_MAX = 10;
/** The name under which {@link ServerRow.healing} counts a server that was gone; no property has it. */
const GONE = '';
/** The share of the servers of a site that healing may make again within {@link GONE_MS}: one at least, and {@link GONE_MOST} at most. */
const GONE_SHARE = 0.05;
const GONE_MOST = 20;
const GONE_MS = 3_600_000;
/** Characters of an observed value that a row keeps. */
const VALUE_LENGTH_MAX = 200;
const NAMES_MAX = 5;

/** The observed values that differ from the wanted ones, by property; null: the server was gone. */
export type Finding = JsonMap | null;

/** Returns true if nothing is to be done for the server, so that a check only compares. */
export function isAtRest({ state, wanted, applied }: ServerRow): boolean {
  return (state === 'done' || state === 'drifted') && wanted !== null && applied !== null;
}

/** Returns true if the server is to be made again as soon as another check has confirmed that it is gone. */
export function isToBeConfirmed({ state, wanted, applied, observed, adopting }: ServerRow): boolean {
  return state === 'pending' && wanted !== null && applied !== null && observed === null && !adopting;
}

/**
 * Returns when a server that is to be made again, as no operator has asked for, was found gone: milliseconds since 1970.
 */
export function goneSince(row: ServerRow): number | undefined {
  const last = isToBeConfirmed(row) ? fieldOf(row.healing ?? {}, GONE)?.at(-1) : undefined;
  return last === undefined ? undefined : Date.parse(last);
}

/** Returns true if a server is gone with its site, and waits for an operator. No commit and no output ends that. */
export function isLeftGone({ state, reason }: Pick<ServerRow, 'state' | 'reason'>): boolean {
  return state === 'drifted' && reason?.code === 'many_gone';
}

/**
 * Returns true if such a server is not as the last commit wants it. Whatever the policy, a check that finds it is
 * followed by what the commit wants.
 */
export function isMissed({ state, wanted, applied, reason }: ServerRow): boolean {
  return isLeftGone({ state, reason }) && wanted !== null && applied !== null && !needsNoAction(wanted, applied);
}

/** Returns true if healing makes a server again, or may have done so at a time that a count still reads. */
export function mayCountAsGone({ healing }: ServerRow): boolean {
  return fieldOf(healing ?? {}, GONE) !== undefined;
}

/** Returns true if healing makes a server again that was found gone within the last hour, or has done so. */
export function countsAsGone({ healing }: ServerRow, now: number): boolean {
  return (fieldOf(healing ?? {}, GONE) ?? []).some((time) => Date.parse(time) > now - GONE_MS);
}

/** Returns how many of `size` servers of a site healing may make again within an hour. */
export function goneMax(size: number): number {
  return Math.min(GONE_MOST, Math.max(1, Math.floor(size * GONE_SHARE)));
}

/** Returns what applies to a row: its instance's policy, or else that of its provider entry. */
export function driftPolicyOf(row: Pick<ServerRow, 'policy'>, entry: DriftPolicy | undefined): DriftPolicy {
  return row.policy.drift ?? entry ?? 'report';
}

/** Returns the row without what a check observed. */
export function withoutObserved(row: ServerRow): ServerRow {
  if (row.observed === undefined) return row;
  const { observed: _observed, ...rest } = row;
  return rest;
}

/** Returns the row without the record of its heals, and of changed outputs, so that both counts start over. */
export function withoutHealing(row: ServerRow): ServerRow {
  if (row.healing === undefined && row.rereads === undefined) return row;
  const { healing: _healing, rereads: _rereads, ...rest } = row;
  return rest;
}

/** Returns the row with one more update that changed outputs have started; `before`: the earlier ones. */
export function withReread(row: ServerRow, before: ServerRow['rereads'], now: number): ServerRow {
  return { ...row, rereads: [...recentRereads(before, now), momentOf(now)].slice(-rereadsMax(row)) };
}

/** Returns how many updates changed outputs have started within 24 hours, if an operator has to look. */
export function tooManyRereads(row: ServerRow, now: number): number | undefined {
  const { length } = recentRereads(row.rereads, now);
  return length >= rereadsMax(row) ? length : undefined;
}

function recentRereads(rereads: ServerRow['rereads'], now: number): readonly string[] {
  return (rereads ?? []).filter((time) => Date.parse(time) > now - FIGHT_MS);
}

/** The outputs of many servers may change once each. */
function rereadsMax({ wanted }: ServerRow): number {
  return Math.max(REREADS_MAX, allServersRead(wanted?.reads).size + 1);
}

/**
 * Returns the observed values that differ from the wanted ones, shortened. Where a property was not observed, the
 * applied value counts. Properties that start no action are not compared, nor are secrets: of these only a reference is
 * known.
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

/** Returns the names of the properties in which a check found a server to differ, sorted. */
export function differingNames(observed: ServerRow['observed']): readonly string[] {
  return Object.keys(observed ?? {}).sort();
}

/**
 * Returns the reason of a server that differs. It names properties and no values: events and proxies show it, and the
 * row holds the values.
 */
export function driftReason(found: Finding): Reason {
  if (found === null) {
    const text = 'it is gone, and not by a request; a retry makes it again, and so does healing';
    return { code: 'drifted', text };
  }
  return { code: 'drifted', text: `differs in ${someNames(Object.keys(found))}` };
}

/**
 * Returns the row after a check of an idle server, or of one that was gone, has answered. The same object if nothing
 * changes. A server that is gone is made again only after a second check: one wrong answer makes nothing.
 */
export function concludeDrift(row: ServerRow, answer: Answer, at: ConcludeContext): ServerRow {
  const { wanted, applied } = row;
  if (wanted === null || applied === null) return row;
  const isGone = answer.outcome === 'absent';
  const found = isGone ? null : differences({ wanted, applied }, answer.observed, at.isSecret);
  if (isToBeConfirmed(row)) return confirmed(row, found, at);
  if (found !== null && isMissed(row)) return corrected(withoutObserved(row), moment(at));
  if (found !== null && Object.keys(found).length === 0) return resolved(row, at);
  const fought = foughtOver(row, found, at);
  const policy = isMissed(row) ? 'heal' : driftPolicyOf(row, at.drift);
  if (policy !== 'heal') return reported(row, { found, reason: driftReason(found), at });
  if (fought.length > 0) return reported(row, { found, reason: fightReason(fought, found), at });
  const isLeft = found === null && (row.reason?.code === 'many_gone' || at.hasManyGone?.());
  if (isLeft) return reported(row, { found, reason: MANY_GONE, at });
  const healing = { ...recentHeals(row, at.now), ...healed(row, found, at.now) };
  return corrected({ ...row, healing, observed: found }, moment(at, driftReason(found)));
}

/**
 * Returns the row queued for the action that brings the server back to its wanted spec. The action gets an id of its
 * own: a provider that recognises repeated calls would take it for the update that it has done already.
 */
export function corrected(row: ServerRow, when: Moment): ServerRow {
  return requeue(row, { ...when, attempt: 0, generation: row.generation + 1 });
}

/**
 * Returns what changes in the row of a wanted server that its update has not found: like one that a check finds gone,
 * it is made again once a check has confirmed that.
 */
export function missed(row: ServerRow, at: ConcludeContext): Partial<ServerRow> {
  const healing = { ...recentHeals(row, at.now), ...healed(row, null, at.now) };
  return { action: null, observed: null, healing, dirty: false };
}

/**
 * Returns the row of a server that is gone with its site, queued for another check, which counts like the first one that
 * has found it gone.
 */
export function soughtAgain(row: ServerRow, now: number): ServerRow {
  const healing = { ...recentHeals(row, now), ...healed(row, null, now) };
  return requeue({ ...row, healing }, { now: momentOf(now), reason: driftReason(null) });
}

function confirmed(row: ServerRow, found: Finding, at: ConcludeContext): ServerRow {
  const rest = withoutObserved(row);
  // Others may have been found gone since. An operator's retry makes it again all the same.
  const isHealed = fieldOf(recentHeals(row, at.now), GONE) !== undefined;
  if (found === null && isHealed && at.hasManyGone?.()) return leftGone(row, moment(at));
  if (found === null) return { ...rest, ...gone(rest), attempt: 0 };
  // It is there after all. Without a difference the next decision settles it.
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

/** Returns the names that were healed as often as allowed and differ again; once healing has stopped, it stays so. */
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

/** Returns the row of a server that healing does not make again: it waits for an operator. */
export function leftGone(row: ServerRow, when: Moment): ServerRow {
  return advance(withoutLastHeal(row), 'drift', { ...when, reason: MANY_GONE, observed: null, checked: true });
}

/** It was not made again, so this is no heal. */
function withoutLastHeal(row: ServerRow): ServerRow {
  const { [GONE]: times = [], ...others } = row.healing ?? {};
  return { ...row, healing: times.length < 2 ? others : { ...others, [GONE]: times.slice(0, -1) } };
}

function fightReason(names: readonly string[], found: Finding): Reason {
  const times = `${HEALS_MAX} times within 24 hours; healing has stopped: find out`;
  // A site that does not see it every time counts as well as an operator who removes it.
  if (found === null) return { code: 'drift_fight', text: `it was found gone ${times} why, then retry` };
  return { code: 'drift_fight', text: `${someNames(names)} was corrected ${times} who changes it, then retry` };
}

function healed(row: ServerRow, found: Finding, now: number): Record<string, readonly string[]> {
  const heals = recentHeals(row, now);
  const names = emptyMap<readonly string[]>();
  for (const name of namesOf(found)) names[name] = [...(fieldOf(heals, name) ?? []), momentOf(now)];
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

/** Values of specs are strings or lists of strings; a provider may observe a number or a boolean. */
function isSameValue(wanted: string | readonly string[], seen: Json): boolean {
  if (isSame(wanted, seen)) return true;
  return !isMap(seen) && !Array.isArray(seen) && String(seen) === wanted;
}

/** Returns a value for rows and answers: a long one as the beginning of its text. */
export function shortenedValue(value: Json): Json {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text.length <= VALUE_LENGTH_MAX) return value;
  return `${text.slice(0, VALUE_LENGTH_MAX)}… (${text.length} characters)`;
}
