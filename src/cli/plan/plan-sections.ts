// Lists the effects of a plan as sections, the most harmful first. Text and Markdown write the same sections in
// different styles. Equal changes are one item, however many servers they affect.

import { countOf, grouped } from '../../base/wording.ts';
import { SECRET_VALUE } from '../../hiera/secrets.ts';
import type { Json } from '../../model/json.ts';
import { isError, type Problem } from '../../model/problem.ts';
import type { Difference, Plan, PlannedHold, RetainedServer, ServerChange } from '../../plan/plan.ts';

/** Formats untrusted texts, so that they stay plain text. */
export interface PlanStyle {
  /** Returns a name or a path. */
  readonly name: (text: string) => string;
  /** Returns a sentence. */
  readonly sentence: (text: string) => string;
  /** Returns a value as truncated JSON, or the words for an unknown value. `null`: no value. */
  readonly value: (value: Json | null) => string;
  /** The sign between two values. */
  readonly arrow: string;
  /** The path from the root of the Git repository to the layout: '' or one that ends in `/`. */
  readonly prefix: string;
}

/** An item of a list, with further lines below the first. */
export interface Item {
  readonly line: string;
  readonly details: readonly string[];
  /** The number of changes in this item. */
  readonly count: number;
}

/** A heading and a list. */
export interface Section {
  readonly title: string;
  /** The noun for one change, such as in `5 more deletes`. */
  readonly noun: string;
  /** A paragraph above the list. */
  readonly note?: string;
  readonly items: readonly Item[];
}

const ACTION_NOUNS = { delete: 'delete', replace: 'replacement', update: 'update', create: 'create' } as const;
const ACTION_VERBS = { delete: 'Deletes', replace: 'Replaces', update: 'Updates', create: 'Creates' } as const;
const CHANGE_VERBS = { add: 'adds', remove: 'removes', change: 'changes' } as const;
/**
 * An item with up to this many servers names all of them. Items of deleted or retained servers are never larger, so
 * that a reader sees each name.
 */
const NAMES_MAX = 20;
/** The number of named servers of a larger item. */
const NAMED_OF_MANY = 8;
const EXAMPLES_MAX = 5;
const PROPERTIES_MAX = 10;

/** Returns the sections that are not empty. */
export function planSections(plan: Plan, style: PlanStyle): readonly Section[] {
  const { changes } = plan;
  const sections: readonly Section[] = [
    accessSection(plan, style),
    safetySection(plan, style),
    heldSection(plan, style),
    invalidSection(plan, style),
    serverSection('delete', changes, style),
    serverSection('replace', changes, style),
    retainedSection(plan, style),
    serverSection('update', changes, style),
    serverSection('create', changes, style),
    configurationSection(plan, style),
    nodesSection(plan, style),
  ];
  return sections.filter(({ items }) => items.length > 0);
}

function itemOf(line: string, details: readonly string[] = []): Item {
  return { line, details, count: 1 };
}

function accessSection({ access }: Plan, style: PlanStyle): Section {
  const items = access.map(({ action, serial, description, role, fields }) => {
    const called = description === '' ? '' : ` ${style.value(description)}`;
    const isSame = role.from === null || role.to === null || role.from === role.to;
    const roles = isSame ? style.value(role.to ?? role.from) : differenceText(role, style);
    const others = fields.filter((field) => field !== 'role').map(style.name);
    const changed = others.length === 0 ? '' : `; changes ${others.join(', ')}`;
    return itemOf(`${CHANGE_VERBS[action]} client ${style.name(serial)}${called}: role ${roles}${changed}`);
  });
  return { noun: 'access change', title: `Access: ${countOf(access.length, 'change')}`, items };
}

function safetySection({ safety }: Plan, style: PlanStyle): Section {
  const items = safety.map(({ object, field, from, to }) => {
    const at = field === '' ? '' : `, ${style.name(field)}`;
    return itemOf(`${style.name(object)}${at}: ${differenceText({ from, to }, style)}`);
  });
  return { noun: 'safety change', title: `Safety: ${countOf(safety.length, 'change')}`, items };
}

function heldSection({ base, head, held }: Plan, style: PlanStyle): Section {
  if (held === null) return { noun: '', title: '', items: [] };
  const { kind, instances, waiting } = held;
  return {
    noun: 'held instance',
    title: kind === 'nothing left' ? 'Held: the whole commit' : `Held: ${countOf(instances.length, 'instance')}`,
    note: `${holdText(held, style)} ${adviceText(held, base !== head)}`,
    items: [
      ...instances.map((instance) => itemOf(style.name(instance))),
      ...waiting.map((instance) => itemOf(`${style.name(instance)} stays as it is until then`)),
      ...(instances.length + waiting.length === 0 ? [itemOf('all changes of the commit')] : []),
    ],
  };
}

function holdText({ kind, deletes, instances, reason }: PlannedHold, { sentence }: PlanStyle): string {
  const all = kind === 'nothing left' ? 'the merge' : instances.length === 1 ? 'this instance' : 'these instances';
  if (deletes === 0) return `Nothing in ${all} changes until it is approved: ${sentence(reason)}.`;
  const wait = `${countOf(deletes, 'delete')} ${deletes === 1 ? 'waits' : 'wait'} for an approval`;
  return `${wait}, with every other change of ${all}: ${sentence(reason)}.`;
}

function adviceText({ kind, deletes }: PlannedHold, isMerge: boolean): string {
  const [after, commit] = isMerge ? [' after the merge', 'the commit of the merge'] : ['', 'a later commit'];
  const trailer = kind === 'budget' ? `, or ${commit} has the trailer \`Treeline-Approve-Deletes: ${deletes}\`` : '';
  return `If it is intended, an administrator runs \`treeline held\`${after}, which prints the command that approves it${trailer}.`;
}

function invalidSection({ invalid }: Plan, { name }: PlanStyle): Section {
  return {
    noun: 'invalid instance',
    title: `Invalid: ${countOf(invalid.length, 'instance')}`,
    note: 'Each stays at its last valid version, or is not created if it has none, until its problems are corrected.',
    items: invalid.map((instance) => itemOf(name(instance))),
  };
}

function serverSection(action: ServerChange['action'], changes: readonly ServerChange[], style: PlanStyle): Section {
  const some = changes.filter((change) => change.action === action);
  const isDestroyed = action === 'delete' || action === 'replace';
  const items = groupAlike(some, isDestroyed ? NAMES_MAX : some.length).map((alike) =>
    serversItem(alike, style, propertiesText(alike[0], style)),
  );
  return { noun: ACTION_NOUNS[action], title: `${ACTION_VERBS[action]} ${countOf(some.length, 'server')}`, items };
}

function propertiesText({ properties }: ServerChange, style: PlanStyle): readonly string[] {
  const entries = Object.entries(properties);
  const shown = entries.slice(0, PROPERTIES_MAX);
  const more = entries.length - shown.length;
  return [
    ...shown.map(([name, difference]) => `${style.name(name)}: ${differenceText(difference, style)}`),
    ...(more === 0 ? [] : [countOf(more, 'more property', 'more properties')]),
  ];
}

function retainedSection({ retained }: Plan, style: PlanStyle): Section {
  return {
    noun: 'server',
    title: `Leaves ${countOf(retained.length, 'server')} undeleted`,
    note: 'No version contains them any more, and the instance says `deletion: retain`: Treeline only forgets them.',
    items: groupAlike(retained, NAMES_MAX).map((alike) => serversItem(alike, style)),
  };
}

/** One or more servers with the same change, in order. */
type Alike<Server> = readonly [first: Server, ...others: readonly Server[]];

/** Groups servers with the same change, also of several instances. No group has more than `sizeMax`. */
function groupAlike<Server extends RetainedServer>(
  servers: readonly Server[],
  sizeMax: number,
): readonly Alike<Server>[] {
  const groups = Map.groupBy(servers, ({ resource: _resource, instance: _instance, ...rest }) => JSON.stringify(rest));
  return [...groups.values()].flatMap((group) => {
    const parts = Array.from({ length: Math.ceil(group.length / sizeMax) }, (_, index) =>
      group.slice(index * sizeMax, (index + 1) * sizeMax),
    );
    return parts.flatMap(([first, ...others]) => (first === undefined ? [] : [[first, ...others] as const]));
  });
}

function serversItem(alike: Alike<RetainedServer>, style: PlanStyle, details: readonly string[] = []): Item {
  const [first] = alike;
  const max = alike.length > NAMES_MAX ? NAMED_OF_MANY : NAMES_MAX;
  const names = alike.slice(0, max).map(({ resource }) => style.name(resource));
  const more = alike.length > max ? ` and ${grouped(alike.length - max)} more` : '';
  const instances = new Set(alike.map(({ instance }) => instance)).size;
  const of = instances === 1 ? style.name(first.instance) : countOf(instances, 'instance');
  const cause = `${style.sentence(first.reason)}${placeText(first, style)}`;
  const line = `${names.join(', ')}${more} of ${of}, group ${style.name(first.group)}: ${cause}`;
  return { line, details, count: alike.length };
}

function configurationSection({ configuration }: Plan, style: PlanStyle): Section {
  const items = configuration.map((change) => {
    const { key, nodes, examples, isSecret, source } = change;
    // A computed value has no file.
    const object = `${style.sentence(source.type)} ${style.name(source.name)}${placeText(source, style)}`;
    const names = examples.slice(0, EXAMPLES_MAX).map(style.name);
    const listed = names.length === 0 ? '' : ` (${names.join(', ')}${nodes > names.length ? ', …' : ''})`;
    const value = isSecret ? secretText(change) : differenceText(change, style);
    const from = source.file === null ? '' : `, from ${object}`;
    return itemOf(`${style.name(key)}: ${value} on ${countOf(nodes, 'node')}${listed}${from}`);
  });
  return { noun: 'configuration change', title: `Configuration: ${countOf(configuration.length, 'change')}`, items };
}

function nodesSection({ nodes }: Plan, style: PlanStyle): Section {
  const items = nodes.map(({ action, node, file }) =>
    itemOf(`${CHANGE_VERBS[action]} ${style.name(node)}${placeText({ file, line: null }, style)}`),
  );
  return { noun: 'record', title: `Records without a server: ${countOf(nodes.length, 'change')}`, items };
}

/** Returns the cause's place in a file, as the end of a sentence; '' if no line causes the change. */
function placeText({ file, line }: Pick<ServerChange, 'file' | 'line'>, { name, prefix }: PlanStyle): string {
  return file === null ? '' : ` (${name(`${prefix}${file}${line === null ? '' : `:${line}`}`)})`;
}

/** Longer texts are shortened to the part that differs. */
const VALUE_LENGTH_MAX = 100;
/** The number of common characters to show before the first difference. */
const CONTEXT_LENGTH = 12;

/**
 * Returns both values with an arrow between them. Shows only the differing items of lists and the differing part of
 * long texts, and no secret values.
 */
function differenceText({ from, to }: Difference, style: PlanStyle): string {
  if (from === SECRET_VALUE || to === SECRET_VALUE) return secretText({ from, to });
  if (Array.isArray(from) && Array.isArray(to)) return listDifference(from, to, style);
  const [old, now] = [from, to].map((value) => JSON.stringify(value));
  if (old !== undefined && now !== undefined && Math.min(old.length, now.length) > VALUE_LENGTH_MAX) {
    let same = 0;
    while (same < old.length && old[same] === now[same]) same += 1;
    const start = Math.max(0, same - CONTEXT_LENGTH);
    const part = (text: string): string => style.name(`${start > 0 ? '…' : ''}${text.slice(start)}`);
    return `${part(old)} ${style.arrow} ${part(now)}`;
  }
  return `${style.value(from)} ${style.arrow} ${style.value(to)}`;
}

function listDifference(from: readonly Json[], to: readonly Json[], style: PlanStyle): string {
  const parts = [...itemsText('adds', missingIn(to, from), style), ...itemsText('removes', missingIn(from, to), style)];
  return parts.length === 0 ? `another order of ${countOf(to.length, 'item')}` : parts.join(', ');
}

function itemsText(verb: string, items: readonly Json[], { value }: PlanStyle): readonly string[] {
  if (items.length === 0) return [];
  const more = items.length > EXAMPLES_MAX ? ` and ${grouped(items.length - EXAMPLES_MAX)} more` : '';
  return [`${verb} ${items.slice(0, EXAMPLES_MAX).map(value).join(', ')}${more}`];
}

/** Returns the items that `others` lacks, in linear time, because a list may have 50,000 items. */
function missingIn(items: readonly Json[], others: readonly Json[]): readonly Json[] {
  const known = new Set(others.map((other) => JSON.stringify(other)));
  return items.filter((item) => !known.has(JSON.stringify(item)));
}

/** Returns the kind of the change instead of the values of a secret. */
function secretText({ from, to }: Difference<unknown>): string {
  if (from === null) return 'added (secret)';
  return to === null ? 'removed (secret)' : 'changed (secret)';
}

/** Returns `2 deletes, 1 update, 1 error` and the like; `No effect` if there is none. */
export function planHeadline(plan: Plan): string {
  const { access, safety, changes, retained, nodes, configuration, problems, invalid, held } = plan;
  const actions = Object.entries(ACTION_NOUNS).map(([action, noun]) => {
    return [changes.filter((change) => change.action === action).length, noun] as const;
  });
  const counts: readonly (readonly [count: number, noun: string, plural?: string])[] = [
    [access.length, 'access change'],
    [safety.length, 'safety change'],
    ...actions,
    [retained.length, 'server retained', 'servers retained'],
    [configuration.length, 'configuration change'],
    [nodes.length, 'record change'],
    [invalid.length, 'invalid instance'],
  ];
  const effects = counts.flatMap(([count, noun, plural]) => (count === 0 ? [] : [countOf(count, noun, plural)]));
  if (held !== null) {
    const isWhole = held.kind === 'nothing left';
    effects.push(isWhole ? 'all of it held' : `${countOf(held.instances.length, 'instance')} held`);
  }
  return [...(effects.length === 0 ? ['No effect'] : effects), ...problemCounts(problems)].join(', ');
}

/** Returns the counts of errors and of warnings, without zero counts. */
export function problemCounts(problems: readonly Problem[]): readonly string[] {
  const errors = problems.filter(isError).length;
  const warnings = problems.length - errors;
  return [
    ...(errors === 0 ? [] : [countOf(errors, 'error')]),
    ...(warnings === 0 ? [] : [countOf(warnings, 'warning')]),
  ];
}

/** Returns the line about problems that base has too; undefined if there are none. */
export function knownProblemsText({ knownProblems }: Plan): string | undefined {
  if (knownProblems === 0) return undefined;
  const stay = knownProblems === 1 ? 'stays' : 'stay';
  return `${countOf(knownProblems, 'problem')} of base ${stay}: \`treeline validate\` shows them.`;
}
