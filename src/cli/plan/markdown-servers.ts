// Writes what happens to servers as sections of Markdown. Servers for which the same happens share an item.
import { countOf, grouped } from '../../model/count-words.ts';
import type { RetainedServer, ServerChange } from '../../plan/plan.ts';
import type { Item, Section } from './markdown-section.ts';
import { code, prose } from './markdown-text.ts';
import { propertyText } from './markdown-value.ts';

/** Servers of one large item that are named. */
const NAMES_MAX = 8;
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

/** Returns a section for each action that occurs. The files begin with `prefix`. */
export function serverSections(changes: readonly ServerChange[], prefix: string): readonly Section[] {
  return HEADINGS.flatMap(({ action, noun, verb }) => {
    const some = changes.filter((change) => change.action === action);
    if (some.length === 0) return [];
    const groups = action === 'delete' ? alikeOf(some, DELETED_NAMES_MAX) : alikeOf(some);
    const items = groups.map((alike) => ({ ...itemOf(alike, prefix), below: propertiesText(alike[0]) }));
    return [{ noun, heading: `${verb} ${countOf(some.length, 'server')}`, note: null, items }];
  });
}

/** Returns the section of servers that no version wants any more and that stay. */
export function retainedSection(retained: readonly RetainedServer[], prefix: string): readonly Section[] {
  if (retained.length === 0) return [];
  const items = alikeOf(retained, DELETED_NAMES_MAX).map((alike) => itemOf(alike, prefix));
  const [they, them, their] = retained.length === 1 ? ['it is', 'it', 'Its'] : ['they are', 'them', 'Their'];
  const heading = `Leaves ${countOf(retained.length, 'server')} as ${they}`;
  const note = `No version wants ${them} any more. ${their} instance says \`deletion: retain\`: Treeline forgets ${them}, and nothing deletes ${them}.`;
  return [{ noun: 'server', heading, note, items }];
}

/** Servers for which the same happens, in their order: one or more. */
type Alike<Server> = readonly [first: Server, ...others: readonly Server[]];

/** Groups servers, also of several instances. No group has more than `sizeMax` of them. */
function alikeOf<Server extends RetainedServer>(
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
function itemOf(alike: Alike<RetainedServer>, prefix: string): Item {
  const [first] = alike;
  const namesMax = alike.length > DELETED_NAMES_MAX ? NAMES_MAX : DELETED_NAMES_MAX;
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
