// Writes what happens to servers as sections of Markdown. Servers that change alike share an item; each delete has its own.
import type { ServerChange } from '../../plan/plan.ts';
import type { Item, Section } from './markdown-section.ts';
import { code, countOf, prose } from './markdown-text.ts';
import { propertyText } from './markdown-value.ts';

/** Servers of one item that are named. */
const NAMES_MAX = 8;
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

/** Returns how many servers are deleted, replaced, updated and created, in this order, without those of which there are none. */
export function serverCounts(changes: readonly ServerChange[]): readonly string[] {
  return HEADINGS.flatMap(({ action, noun }) => {
    const count = changes.filter((change) => change.action === action).length;
    return count === 0 ? [] : [countOf(count, noun)];
  });
}

/** Returns a section for each action that occurs. The files begin with `prefix`. */
export function serverSections(changes: readonly ServerChange[], prefix: string): readonly Section[] {
  return HEADINGS.flatMap(({ action, noun, verb }) => {
    const some = changes.filter((change) => change.action === action);
    if (some.length === 0) return [];
    const groups = action === 'delete' ? some.map((one) => [one]) : [...Map.groupBy(some, sameness).values()];
    const items = groups.flatMap(([first, ...others]) => (first === undefined ? [] : [itemOf(first, others, prefix)]));
    return [{ noun, heading: `${verb} ${countOf(some.length, 'server')}`, note: null, items }];
  });
}

function sameness({ instance, group, reason, file, line, properties }: ServerChange): string {
  return JSON.stringify([instance, group, reason, file, line, properties]);
}

function itemOf(first: ServerChange, others: readonly ServerChange[], prefix: string): Item {
  const { instance, group, reason } = first;
  const servers = [first, ...others];
  const names = servers.slice(0, NAMES_MAX).map(({ resource }) => code(resource));
  const more = servers.length > NAMES_MAX ? ` and ${countOf(servers.length - NAMES_MAX, 'more', 'more')}` : '';
  const of = `of ${code(instance)}, group ${code(group)}`;
  return {
    line: `${names.join(', ')}${more} ${of}: ${prose(reason)}${placeText(first, prefix)}`,
    below: propertiesText(first),
  };
}

/** Returns where a change is caused, to be put behind a sentence; '' where no line causes it. */
export function placeText({ file, line }: Pick<ServerChange, 'file' | 'line'>, prefix: string): string {
  if (file === null) return '';
  return ` (${code(`${prefix}${file}${line === null ? '' : `:${line}`}`)})`;
}

function propertiesText({ properties }: ServerChange): readonly string[] {
  const entries = Object.entries(properties);
  const shown = entries.slice(0, PROPERTIES_MAX).map(([name, difference]) => propertyText(name, difference));
  const more = entries.length - shown.length;
  return more === 0 ? shown : [...shown, countOf(more, 'more property', 'more properties')];
}
