// Formats a plan for people: access, safety and deletes first. Equal changes are one entry, however many servers they
// concern.

import { countOf, quote, shortOid } from '../../base/wording.ts';
import { SECRET_VALUE } from '../../hiera/secrets.ts';
import type { Json } from '../../model/json.ts';
import {
  type AccessChange,
  type ConfigurationChange,
  type Difference,
  hasNoEffect,
  isKnownAfter,
  type NodeChange,
  type Plan,
  type Rename,
  type RetainedServer,
  type SafetyChange,
  type ServerChange,
} from '../../plan/plan.ts';
import { formatProblem } from '../format-problem.ts';
import { visibleLine } from '../output.ts';
import { missingIn, secretText, writeHeadline } from './plan-headline.ts';

/** How many names an entry lists. */
const NAMES_MAX = 5;
/** Servers of one entry that go, or are left: all of them are named, in several entries where they are more. */
const PART_MAX = 20;
const SIGNS = { create: '+', add: '+', update: '~', change: '~', replace: '!', delete: '-', remove: '-' } as const;
const DONE = { delete: 'deleted', replace: 'replaced', update: 'updated', create: 'created' } as const;

/** The facts that the text tells beside the plan. */
export interface TextOptions {
  /** The digest of the approval that is planned, in place of a merge. */
  readonly approval?: string | undefined;
}

/** Returns the plan as text. */
export function textPlan(plan: Plan, { approval }: TextOptions = {}): string {
  const { access, safety, changes, retained, nodes, configuration, renames, invalid, problems } = plan;
  const sections = [
    section('Access', access.map(accessLine)),
    section('Safety', safety.map(safetyLine)),
    section('Held', heldLines(plan)),
    section(`Servers: ${totalsOf(changes)}`, changeLines(changes)),
    section('Renames', renames.map(renameLine)),
    section('Left as they are, since the instance says deletion: retain', retainedLines(retained)),
    section('Configuration', configuration.flatMap(configurationLines)),
    section('Records without a server', nodes.map(nodeLine)),
    section('Instances that become invalid, and stay as they were', invalid),
  ].filter((lines) => lines !== '');
  return [
    `${titleOf(plan, approval)}\n${writeHeadline(plan)}`,
    ...(approval === undefined ? sameCommitLine(plan) : []),
    ...sections,
    ...problems.map((problem) => formatProblem(problem)),
    ...knownLine(plan),
  ].join('\n\n');
}

/** Into itself no commit is merged: a controller tells what is left of those that it has followed. */
function isMerge({ base, head }: Plan): boolean {
  return base !== head;
}

function titleOf(plan: Plan, approval: string | undefined): string {
  const [into, merged] = [plan.base, plan.head].map(shortOid);
  if (approval !== undefined) return `approving ${visibleLine(approval)} at ${into}`;
  return isMerge(plan) ? `merging ${merged} into ${into}` : `what is left to do at ${into}`;
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : [title, ...lines.map((line) => `  ${line}`)].join('\n');
}

function accessLine({ action, serial, description, role, fields }: AccessChange): string {
  const roles = action === 'change' && role.from !== role.to ? `${role.from} -> ${role.to}` : (role.to ?? role.from);
  const others = fields.filter((field) => field !== 'role');
  const changed = others.length === 0 ? '' : `; changed: ${others.join(', ')}`;
  return `${SIGNS[action]} client ${serial}: ${roles}${description === '' ? '' : `, ${quote(description)}`}${changed}`;
}

function safetyLine({ object, field, from, to }: SafetyChange): string {
  return `~ ${object} ${field}: ${arrow({ from, to })}`;
}

function heldLines(plan: Plan): readonly string[] {
  const { held } = plan;
  if (held === null) return [];
  const { kind, deletes, instances, waiting, reason } = held;
  const all = kind === 'nothing left' ? 'the merge' : namesText(instances);
  const wait = `${countOf(deletes, 'delete')} ${deletes === 1 ? 'waits' : 'wait'} for an approval`;
  const stays = waiting.length === 1 ? 'stays as it is' : 'stay as they are';
  return [
    deletes === 0 ? `nothing of ${all} changes until it is approved` : `${wait}, with every other change of ${all}`,
    `because ${reason}`,
    ...(waiting.length === 0 ? [] : [`${namesText(waiting)} ${stays} until then`]),
    `if it is meant: ${isMerge(plan) ? 'after the merge, ' : ''}"treeline held" shows the command to approve it`,
    ...(kind === 'budget'
      ? [
          `or ${isMerge(plan) ? 'the commit of the merge' : 'a later commit'} has the trailer Treeline-Approve-Deletes: ${deletes}`,
        ]
      : []),
  ];
}

/** Returns the number of servers of each action, deletes first. */
function totalsOf(changes: readonly ServerChange[]): string {
  const counts = Object.entries(DONE).map(([action, done]) => {
    return [changes.filter((change) => change.action === action).length, done] as const;
  });
  return counts.flatMap(([count, done]) => (count === 0 ? [] : [`${count} ${done}`])).join(', ');
}

function changeLines(changes: readonly ServerChange[]): readonly string[] {
  const actions = Object.keys(DONE);
  const groups = Map.groupBy(changes, ({ action, reason, file, line, properties }) =>
    JSON.stringify([action, reason, file, line, properties]),
  );
  const sorted = [...groups.values()].sort((a, b) => rankOf(a) - rankOf(b));
  return sorted.flatMap(inParts).flatMap((equal) => {
    const [first] = equal;
    if (first === undefined) return [];
    const { action, reason, properties } = first;
    return [
      `${SIGNS[action]} ${namesText(namesOf(equal), isDestroyed(first) ? PART_MAX : NAMES_MAX)}: ${reason}`,
      ...Object.entries(properties).map(([name, difference]) => `    ${name}: ${arrow(difference)}`),
      ...placeLine(first),
    ];
  });

  function inParts(equal: readonly ServerChange[]): readonly (readonly ServerChange[])[] {
    return equal[0] !== undefined && isDestroyed(equal[0]) ? partsOf(equal) : [equal];
  }

  function rankOf([change]: readonly ServerChange[]): number {
    return actions.indexOf(change?.action ?? '');
  }
}

function isDestroyed({ action }: ServerChange): boolean {
  return action === 'delete' || action === 'replace';
}

function namesOf(servers: readonly RetainedServer[]): readonly string[] {
  return servers.map(({ resource }) => resource);
}

function partsOf<Server>(servers: readonly Server[]): readonly (readonly Server[])[] {
  return Array.from({ length: Math.ceil(servers.length / PART_MAX) }, (_, index) =>
    servers.slice(index * PART_MAX, (index + 1) * PART_MAX),
  );
}

function retainedLines(retained: readonly RetainedServer[]): readonly string[] {
  const groups = Map.groupBy(retained, ({ reason, file, line }) => JSON.stringify([reason, file, line]));
  return [...groups.values()]
    .flatMap(partsOf)
    .flatMap((equal) => [
      `${namesText(namesOf(equal), PART_MAX)}: ${equal[0]?.reason}`,
      ...(equal[0] === undefined ? [] : placeLine(equal[0])),
    ]);
}

function renameLine({ instance, into, deletes, creates }: Rename): string {
  const what = instance === into ? `servers of ${instance}` : `${instance} becomes ${into}`;
  const counts = `${countOf(deletes, 'delete')}, ${countOf(creates, 'create')}`;
  return `${what}: ${counts}; servers that keep their names (property "name") stay`;
}

function configurationLines({ key, from, to, nodes, examples, source }: ConfigurationChange): readonly string[] {
  const names = `${examples.join(', ')}${nodes > examples.length ? ', …' : ''}`;
  const { type, name } = source;
  const object = source.file === null ? [] : [`    ${type} ${name}, ${placeText(source)}`];
  return [`~ ${key}: ${arrow({ from, to })}`, `    on ${countOf(nodes, 'node')}: ${names}`, ...object];
}

function nodeLine({ action, node, file }: NodeChange): string {
  return `${SIGNS[action]} ${node} (${visibleLine(file)})`;
}

/** Returns why there is no effect where the changed files are not committed. */
function sameCommitLine(plan: Plan): readonly string[] {
  if (isMerge(plan) || !hasNoEffect(plan)) return [];
  return ['Base and head are the same commit: what is not committed is in no plan'];
}

function knownLine({ knownProblems }: Plan): readonly string[] {
  if (knownProblems === 0) return [];
  return [
    `${countOf(knownProblems, 'problem')} of base ${knownProblems === 1 ? 'stays' : 'stay'}; see treeline validate`,
  ];
}

function placeLine(place: { readonly file: string | null; readonly line: number | null }): readonly string[] {
  return place.file === null ? [] : [`    ${placeText(place)}`];
}

function placeText({ file, line }: { readonly file: string | null; readonly line: number | null }): string {
  const path = visibleLine(file ?? '');
  return line === null ? path : `${path}:${line}`;
}

function namesText(names: readonly string[], max: number = NAMES_MAX): string {
  const shown = names.slice(0, max).join(', ');
  return names.length <= max ? shown : `${shown} and ${names.length - max} more`;
}

/** Of two lists, what is added and removed; where only their order differs, both. */
function arrow({ from, to }: Difference): string {
  if (from === SECRET_VALUE || to === SECRET_VALUE) return secretText({ from, to });
  if (Array.isArray(from) && Array.isArray(to)) {
    const [old, now] = [from as readonly Json[], to as readonly Json[]];
    const parts = [...itemsText('adds', missingIn(now, old)), ...itemsText('removes', missingIn(old, now))];
    if (parts.length > 0) return parts.join(', ');
  }
  return `${valueText(from)} -> ${valueText(to)}`;
}

function itemsText(verb: string, items: readonly Json[]): readonly string[] {
  return items.length === 0 ? [] : [`${verb} ${namesText(items.map(quote))}`];
}

function valueText(value: Json | null): string {
  if (isKnownAfter(value)) return visibleLine(value);
  return value === null ? '(none)' : quote(value);
}
