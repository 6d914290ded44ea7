// Writes what a plan says as sections of Markdown: access, safety, servers, renames, configuration, problems, invalid
// instances, and what would be held.

import { countOf, grouped } from '../../base/wording.ts';
import { isError, type Problem, placeOf } from '../../model/problem.ts';
import type {
  AccessChange,
  ConfigurationChange,
  NodeChange,
  Plan,
  PlannedHold,
  Rename,
  RetainedServer,
  SafetyChange,
  ServerChange,
} from '../../plan/plan.ts';
import type { Item, Section } from './markdown-section.ts';
import { code, differenceText, propertyText, prose, valueText } from './markdown-text.ts';
import { problemCounts, secretText } from './plan-headline.ts';

const NAMES_MAX = 5;
const ACCESS_VERBS = { add: 'adds', remove: 'removes', change: 'changes' } as const;

/** Returns the section of the clients; none where they stay as they are. */
export function accessSection(access: readonly AccessChange[]): readonly Section[] {
  const items = access.map(({ action, serial, description, role, fields }) => {
    const called = description === '' ? '' : ` ${code(description)}`;
    const roles =
      role.from === null || role.to === null || role.from === role.to
        ? valueText(role.to ?? role.from)
        : differenceText(role);
    const others = fields.filter((field) => field !== 'role').map((field) => code(field));
    const changed = others.length === 0 ? '' : `; changes ${others.join(', ')}`;
    return itemOf(`${ACCESS_VERBS[action]} client ${code(serial)}${called}: role ${roles}${changed}`);
  });
  return sectionOf({ noun: 'access change', heading: `Access: ${countOf(access.length, 'change')}`, items });
}

/** Returns the section of what protects servers, or decides for many; none where it stays as it is. */
export function safetySection(safety: readonly SafetyChange[]): readonly Section[] {
  const items = safety.map(({ object, field, from, to }) =>
    itemOf(`${code(object)}${field === '' ? '' : `, ${code(field)}`}: ${differenceText({ from, to })}`),
  );
  return sectionOf({ noun: 'safety change', heading: `Safety: ${countOf(safety.length, 'change')}`, items });
}

/** Returns the section of servers that are deleted and created under other names. */
export function renameSection(renames: readonly Rename[]): readonly Section[] {
  const items = renames.map(({ instance, into, deletes, creates }) => {
    const names = into === instance ? code(instance) : `${code(instance)} into ${code(into)}`;
    const counts = `${countOf(deletes, 'delete')}, ${countOf(creates, 'create')}`;
    return itemOf(`rename of ${names}: ${counts}`);
  });
  return sectionOf({
    noun: 'rename',
    heading: `Renames: ${grouped(renames.length)}`,
    note: 'The name identifies a server. Servers that keep theirs, by the property `name`, are neither deleted nor created.',
    items,
  });
}

/** Returns the section of the keys that change in the configuration of nodes. */
export function configurationSection(
  configuration: readonly ConfigurationChange[],
  prefix: string,
): readonly Section[] {
  const items = configuration.map((change) => {
    const { key, nodes, examples, isSecret, source } = change;
    const object = `${prose(source.type)} ${code(source.name)}${placeText(source, prefix)}`;
    // A computed value is from no file.
    const fromText = source.file === null ? '' : `, from ${object}`;
    const names = examples.slice(0, NAMES_MAX).map((name) => code(name));
    const more = nodes > names.length && names.length > 0 ? ', …' : '';
    const on = `on ${countOf(nodes, 'node')}${names.length === 0 ? '' : ` (${names.join(', ')}${more})`}`;
    const value = isSecret ? secretText(change) : differenceText(change);
    return itemOf(`${code(key)}: ${value} ${on}${fromText}`);
  });
  const heading = `Configuration: ${countOf(configuration.length, 'change')}`;
  return sectionOf({ noun: 'configuration change', heading, items });
}

/** Returns the section of hand-written clientcerts, whose records come and go without a server. */
export function nodesSection(nodes: readonly NodeChange[], prefix: string): readonly Section[] {
  const items = nodes.map(({ action, node, file }) =>
    itemOf(`${ACCESS_VERBS[action]} ${code(node)}${placeText({ file, line: null }, prefix)}`),
  );
  const heading = `Records without a server: ${countOf(nodes.length, 'change')}`;
  return sectionOf({ noun: 'record', heading, items });
}

/** Returns the section of the problems that head brings, errors first. */
export function problemsSection(problems: readonly Problem[], prefix: string): readonly Section[] {
  const errors = problems.filter(isError);
  const warnings = problems.filter((problem) => !isError(problem));
  const items = [...errors, ...warnings].map((problem) => problemItem(problem, prefix));
  const heading = `Problems: ${problemCounts(problems).join(', ')}`;
  return sectionOf({ noun: 'problem', heading, items });
}

function problemItem(problem: Problem, prefix: string): Item {
  const { severity, code: name, message, hint, instances = [] } = problem;
  const place = placeOf(problem);
  const at = place === '' ? '' : ` at ${code(`${prefix}${place}`)}`;
  const more = instances.length > NAMES_MAX ? ` and ${grouped(instances.length - NAMES_MAX)} more` : '';
  const stopped = instances.slice(0, NAMES_MAX).map((instance) => code(instance));
  return {
    line: `${severity} ${code(name)}${at}: ${prose(message)}`,
    below: [
      ...(hint === null ? [] : [`hint: ${prose(hint)}`]),
      ...(stopped.length === 0 ? [] : [`stops ${stopped.join(', ')}${more}`]),
    ],
    count: 1,
  };
}

/** Returns the section of the instances that become invalid. */
export function invalidSection(invalid: readonly string[]): readonly Section[] {
  return sectionOf({
    noun: 'invalid instance',
    heading: `Invalid: ${countOf(invalid.length, 'instance')}`,
    note: 'Each stays whole at its last valid version, or is not made where it has none, until its problems are corrected.',
    items: invalid.map((instance) => itemOf(code(instance))),
  });
}

/** Returns the section of the instances that would be held, and what lets them go on. */
export function heldSection(held: Plan['held']): readonly Section[] {
  if (held === null) return [];
  const { kind, instances, waiting } = held;
  return [
    {
      noun: 'held instance',
      heading: kind === 'nothing left' ? 'Held: the whole commit' : `Held: ${countOf(instances.length, 'instance')}`,
      note: `${holdText(held)} ${ADVICE}${trailerAdvice(held)}.`,
      items: [
        ...instances.map((instance) => itemOf(code(instance))),
        ...waiting.map((instance) => itemOf(`${code(instance)} stays as it is until then`)),
      ],
    },
  ];
}

const ADVICE =
  'If it is meant, an administrator reads the digest with `treeline held` after the merge and says `treeline approve DIGEST`';

function holdText({ kind, deletes, instances, reason }: PlannedHold): string {
  const all = kind === 'nothing left' ? 'the merge' : instances.length === 1 ? 'this instance' : 'these instances';
  if (deletes === 0) return `Nothing of ${all} changes until it is approved: ${prose(reason)}.`;
  const wait = `${countOf(deletes, 'delete')} ${deletes === 1 ? 'waits' : 'wait'} for an approval`;
  return `${wait}, with every other change of ${all}: ${prose(reason)}.`;
}

function trailerAdvice({ kind, deletes }: PlannedHold): string {
  return kind === 'budget'
    ? `, or the commit of the merge has the trailer \`Treeline-Approve-Deletes: ${deletes}\``
    : '';
}

function itemOf(line: string): Item {
  return { line, below: [], count: 1 };
}

/** Returns the section; none where it has no items. */
function sectionOf(section: Section): readonly Section[] {
  return section.items.length === 0 ? [] : [section];
}

/** Servers of one large item that are named. */
const SERVERS_NAMED_MAX = 8;
/** Servers of one item that are all named. Where they are deleted or left, each has to be seen: no item has more. */
const DELETED_NAMES_MAX = 20;
/** Properties of one item that are shown. Together with its first line and the last one no more than an unfolded list has. */
const PROPERTIES_MAX = 10;

const HEADINGS = [
  { action: 'delete', noun: 'delete', verb: 'Deletes' },
  { action: 'replace', noun: 'replacement', verb: 'Replaces' },
  { action: 'update', noun: 'update', verb: 'Updates' },
  { action: 'create', noun: 'create', verb: 'Creates' },
] as const satisfies readonly {
  readonly action: ServerChange['action'];
  readonly noun: string;
  readonly verb: string;
}[];

/** Returns a section for each action that occurs; servers for which the same happens share an item. The files begin with `prefix`. */
export function serverSections(changes: readonly ServerChange[], prefix: string): readonly Section[] {
  return HEADINGS.flatMap(({ action, noun, verb }) => {
    const some = changes.filter((change) => change.action === action);
    if (some.length === 0) return [];
    const groups = action === 'delete' ? groupAlike(some, DELETED_NAMES_MAX) : groupAlike(some);
    const items = groups.map((alike) => ({ ...serversItem(alike, prefix), below: propertiesText(alike[0]) }));
    return [{ noun, heading: `${verb} ${countOf(some.length, 'server')}`, items }];
  });
}

/** Returns the section of servers that no version wants any more and that stay. */
export function retainedSection(retained: readonly RetainedServer[], prefix: string): readonly Section[] {
  if (retained.length === 0) return [];
  const items = groupAlike(retained, DELETED_NAMES_MAX).map((alike) => serversItem(alike, prefix));
  const [they, them, their] = retained.length === 1 ? ['it is', 'it', 'Its'] : ['they are', 'them', 'Their'];
  const heading = `Leaves ${countOf(retained.length, 'server')} as ${they}`;
  const note = `No version wants ${them} any more. ${their} instance says \`deletion: retain\`: Treeline forgets ${them}, and nothing deletes ${them}.`;
  return [{ noun: 'server', heading, note, items }];
}

/** Servers for which the same happens, in their order: one or more. */
type Alike<Server> = readonly [first: Server, ...others: readonly Server[]];

/** Groups servers, also of several instances. No group has more than `sizeMax` of them. */
function groupAlike<Server extends RetainedServer>(
  servers: readonly Server[],
  sizeMax = servers.length,
): readonly Alike<Server>[] {
  const groups = Map.groupBy(servers, ({ resource: _resource, instance: _instance, ...rest }) => JSON.stringify(rest));
  return [...groups.values()].flatMap((group) => {
    const parts = Array.from({ length: Math.ceil(group.length / sizeMax) }, (_, index) =>
      group.slice(index * sizeMax, (index + 1) * sizeMax),
    );
    return parts.flatMap(([first, ...others]) => (first === undefined ? [] : [[first, ...others] as const]));
  });
}

/** Names all servers of a group of at most {@link DELETED_NAMES_MAX}, and the first of a larger one. */
function serversItem(alike: Alike<RetainedServer>, prefix: string): Item {
  const [first] = alike;
  const namesMax = alike.length > DELETED_NAMES_MAX ? SERVERS_NAMED_MAX : DELETED_NAMES_MAX;
  const names = alike.slice(0, namesMax).map(({ resource }) => code(resource));
  const more = alike.length > namesMax ? ` and ${grouped(alike.length - namesMax)} more` : '';
  const instances = new Set(alike.map(({ instance }) => instance)).size;
  const of = instances === 1 ? code(first.instance) : countOf(instances, 'instance');
  return {
    line: `${names.join(', ')}${more} of ${of}, group ${code(first.group)}: ${prose(first.reason)}${placeText(first, prefix)}`,
    below: [],
    count: alike.length,
  };
}

/** Returns where a change is caused, to be put behind a sentence; '' where no line causes it. */
function placeText({ file, line }: Pick<ServerChange, 'file' | 'line'>, prefix: string): string {
  if (file === null) return '';
  return ` (${code(`${prefix}${file}${line === null ? '' : `:${line}`}`)})`;
}

function propertiesText({ properties }: ServerChange): readonly string[] {
  const entries = Object.entries(properties);
  const shown = entries.slice(0, PROPERTIES_MAX).map(([name, difference]) => propertyText(name, difference));
  const more = entries.length - shown.length;
  return more === 0 ? shown : [...shown, countOf(more, 'more property', 'more properties')];
}
