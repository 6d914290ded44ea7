// Writes what a plan says beside servers as sections of Markdown: access, safety, renames, configuration, problems,
// invalid instances, and what would be held.
import { isError, type Problem, placeOf } from '../../model/problem.ts';
import type { AccessChange, ConfigurationChange, Plan, PlannedHold, Rename, SafetyChange } from '../../plan/plan.ts';
import type { Item, Section } from './markdown-section.ts';
import { placeText } from './markdown-servers.ts';
import { code, countOf, grouped, prose } from './markdown-text.ts';
import { differenceText, secretText, valueText } from './markdown-value.ts';

const NAMES_MAX = 5;
const ACCESS_VERBS = { add: 'adds', remove: 'removes', change: 'changes' } as const;

/** Returns the section of the clients; none where they stay as they are. */
export function accessSection(access: readonly AccessChange[]): readonly Section[] {
  const items = access.map(({ action, serial, description, role: { from, to } }) => {
    const role = action === 'change' ? `role ${differenceText({ from, to })}` : `role ${valueText(to ?? from)}`;
    const called = description === '' ? '' : ` ${code(description)}`;
    return itemOf(`${ACCESS_VERBS[action]} client ${code(serial)}${called}: ${role}`);
  });
  return sectionOf({
    noun: 'access change',
    heading: `Access: ${countOf(access.length, 'change')}`,
    note: null,
    items,
  });
}

/** Returns the section of what protects servers, or decides for many; none where it stays as it is. */
export function safetySection(safety: readonly SafetyChange[]): readonly Section[] {
  const items = safety.map(({ object, field, from, to }) =>
    itemOf(`${code(object)}${field === '' ? '' : `, ${code(field)}`}: ${differenceText({ from, to })}`),
  );
  return sectionOf({
    noun: 'safety change',
    heading: `Safety: ${countOf(safety.length, 'change')}`,
    note: null,
    items,
  });
}

/** Returns the section of servers that are deleted and created under other names. */
export function renameSection(renames: readonly Rename[]): readonly Section[] {
  const items = renames.map(({ instance, into, deletes, creates }) => {
    const names = into === instance ? code(instance) : `${code(instance)} into ${code(into)}`;
    const counts = `${countOf(deletes, 'delete')}, ${countOf(creates, 'create')}`;
    return itemOf(`rename of ${names}: ${counts}; give \`name\` to keep them`);
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
    const names = examples.slice(0, NAMES_MAX).map((name) => code(name));
    const more = nodes > names.length && names.length > 0 ? ', …' : '';
    const on = `on ${countOf(nodes, 'node')}${names.length === 0 ? '' : ` (${names.join(', ')}${more})`}`;
    const value = isSecret ? secretText(change) : differenceText(change);
    return itemOf(
      `${code(key)}: ${value} ${on}, from ${prose(source.type)} ${code(source.name)}${placeText(source, prefix)}`,
    );
  });
  const heading = `Configuration: ${countOf(configuration.length, 'change')}`;
  return sectionOf({ noun: 'configuration change', heading, note: null, items });
}

/** Returns the section of the problems, errors first. */
export function problemsSection(problems: readonly Problem[], prefix: string): readonly Section[] {
  const errors = problems.filter(isError);
  const warnings = problems.filter((problem) => !isError(problem));
  const items = [...errors, ...warnings].map((problem) => problemItem(problem, prefix));
  const heading = `Problems: ${problemCounts(problems).join(', ')}`;
  return sectionOf({ noun: 'problem', heading, note: null, items });
}

/** Returns how many errors and how many warnings there are, without those of which there are none. */
export function problemCounts(problems: readonly Problem[]): readonly string[] {
  const errors = problems.filter(isError).length;
  const warnings = problems.length - errors;
  return [
    ...(errors === 0 ? [] : [countOf(errors, 'error')]),
    ...(warnings === 0 ? [] : [countOf(warnings, 'warning')]),
  ];
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
  };
}

/** Returns the section of the instances that become invalid. */
export function invalidSection(invalid: readonly string[]): readonly Section[] {
  return sectionOf({
    noun: 'invalid instance',
    heading: `Invalid: ${countOf(invalid.length, 'instance')}`,
    note: 'Each stays whole at its last valid version, or is not made where it has none, until its problems are mended.',
    items: invalid.map((instance) => itemOf(code(instance))),
  });
}

/** Returns the section of the instances that would be held, and what lets them go on. */
export function heldSection(held: Plan['held']): readonly Section[] {
  if (held === null) return [];
  const { instances, kind } = held;
  const advice =
    'If it is meant, an administrator reads the digest with `treeline held` after the merge and says `treeline approve DIGEST`';
  const section = {
    noun: 'held instance',
    heading: kind === 'nothing left' ? 'Held: the whole commit' : `Held: ${countOf(instances.length, 'instance')}`,
    note: `${holdReason(held)} ${advice}${trailerAdvice(held)}.`,
    items: instances.map((instance) => itemOf(code(instance))),
  };
  return [section];
}

function holdReason({ kind, limit, deletes }: PlannedHold): string {
  if (kind === 'nothing left') {
    return 'After the merge no instance, no client or no file of the layout would be left: nothing of it is followed.';
  }
  const allowed = limit === null ? 'than the budget allows' : `than the ${grouped(limit)} that an hour allows`;
  return `${countOf(deletes, 'server')} would be deleted or replaced, more ${allowed}: no action of these instances starts.`;
}

function trailerAdvice({ kind, deletes }: PlannedHold): string {
  return kind === 'budget'
    ? `, or the commit of the merge has the trailer \`Treeline-Approve-Deletes: ${deletes}\``
    : '';
}

function itemOf(line: string): Item {
  return { line, below: [] };
}

/** Returns the section; none where it has no items. */
function sectionOf(section: Section): readonly Section[] {
  return section.items.length === 0 ? [] : [section];
}
