// Formats the answer of `/stacks/instances/NAME/why`: why an instance is not done, and what to do about it.
import { countOf, quote } from '../base/wording.ts';
import type { PropertyDifference, WaitingItem, Why } from '../service/answers.ts';
import { firstLine, formatCounts, formatItem, formatReplicas, tableLines } from './output.ts';

/**
 * So many are printed, each for all servers with one reason; `--format json` has as many servers as the controller
 * answers.
 */
const PRINTED_MAX = 50;
/** So many servers of those are named. */
const NAMED_MAX = 3;

/** Returns the lines of an answer. */
export function formatWhy(why: Why, instance: string): string {
  const { status, summary, counts, waiting } = why;
  const open = Object.values(counts).reduce((sum, count) => sum + count, 0) - (counts.done ?? 0);
  const printed = groupByReason(waiting).slice(0, PRINTED_MAX);
  const left = open - printed.flat().filter(({ resource }) => resource !== null).length;
  return [
    waiting.length === 0 ? `${instance}: ${status}: ${firstLine(summary)}` : `${instance}: ${status}`,
    ...formatCounts(counts),
    ...printed.map((group) => formatGroup(instance, group)),
    ...(left > 0 ? [`and ${left} more that are not done`] : []),
    ...formatReplicas(why),
  ].join('\n');
}

/** Returns a table: a row for each property, a column for each of the three values. */
function formatDifference(difference: readonly PropertyDifference[]): readonly string[] {
  const rows = difference.map(({ property, applied, observed, wanted }) => [
    property,
    ...[applied, observed, wanted].map((value) => quote(value)),
  ]);
  return tableLines([['property', 'applied', 'observed', 'wanted'], ...rows]);
}

type Group = readonly [WaitingItem, ...WaitingItem[]];

/** Returns the items that differ only in their servers and times together, in the order of the first of each. */
function groupByReason(waiting: readonly WaitingItem[]): readonly Group[] {
  const groups = Map.groupBy(waiting, ({ resource, state, reason, until, difference }) =>
    JSON.stringify([resource === null, state, reason, until === null, difference]),
  );
  return [...groups.values()].flatMap(([first, ...others]) => (first === undefined ? [] : [[first, ...others]]));
}

function formatGroup(instance: string, group: Group): string {
  const [{ resource, state, reason, difference = [] }] = group;
  const [since] = timesOf(group, 'since');
  const [until] = timesOf(group, 'until');
  const end = state === 'retrying' || state === 'failed' ? 'tried again at' : 'until';
  const times = [since === undefined ? '' : `, since ${since}`, until === undefined ? '' : `, ${end} ${until}`];
  return formatItem({
    title: `${resource === null ? '' : `${namesOf(group)}: `}${state}${times.join('')}`,
    reason,
    details: difference.length === 0 ? [] : formatDifference(difference),
    action: actionFor(instance, group),
  });
}

/** Returns the times of a group, the earliest first. */
function timesOf(group: Group, field: 'since' | 'until'): readonly string[] {
  return group.flatMap((item) => item[field] ?? []).sort();
}

function namesOf(group: Group): string {
  const names = group.flatMap(({ resource }) => resource ?? []);
  if (names.length === 1) return names.join();
  const more = names.length > NAMED_MAX ? ' …' : '';
  return `${countOf(names.length, 'server')} (${names.slice(0, NAMED_MAX).join(', ')}${more})`;
}

/** The action for several servers is that for their instance, if the command takes one. */
function actionFor(instance: string, [{ resource, action }, ...others]: Group): string | null {
  return others.length === 0 || action === null ? action : action.replaceAll(`--resource ${resource}`, instance);
}
