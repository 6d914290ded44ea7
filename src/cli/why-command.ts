// `treeline why`: prints why an instance is not done, and what to do about it.
import type { Command } from 'commander';
import { quote } from '../base/wording.ts';
import type { PropertyDifference, WaitingItem, Why } from '../service/operate/answers.ts';
import {
  belowHeading,
  type Format,
  firstLine,
  formatCounts,
  formatOption,
  formatReplicas,
  printAs,
  tableLines,
} from './output.ts';
import { addServerOptions, getFrom, type ServerOptions } from './server-connection.ts';

/** So many are printed; `--format json` has as many as the controller answers. */
const PRINTED_MAX = 50;

/** Adds the command. Exit code 0: answered, whatever the answer; 3: could not run. */
export function addWhyCommand(program: Command): void {
  const command = program
    .command('why')
    .description('show why an instance is not done: what it waits for, since when, until when, and what to do')
    .argument('<instance>')
    .addOption(formatOption());
  addServerOptions(command).action(async (instance: string, options: ServerOptions & { readonly format: Format }) => {
    const path = `/stacks/instances/${encodeURIComponent(instance)}/why`;
    const why = (await getFrom(options, path)) as Why;
    printAs(options.format, why, () => formatWhy(instance, why));
  });
}

function formatWhy(instance: string, why: Why): string {
  const { status, summary, counts, waiting } = why;
  const open = Object.values(counts).reduce((sum, count) => sum + count, 0) - (counts.done ?? 0);
  const printed = waiting.slice(0, PRINTED_MAX);
  const left = open - printed.filter(({ resource }) => resource !== null).length;
  return [
    waiting.length === 0 ? `${instance}: ${status}: ${firstLine(summary)}` : `${instance}: ${status}`,
    ...formatCounts(counts),
    ...printed.map(formatItem),
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

function formatItem({ resource, state, reason, since, until, action, difference = [] }: WaitingItem): string {
  const ends = state === 'retrying' || state === 'failed' ? 'tried again at' : 'until';
  const times = [since === null ? '' : `, since ${since}`, until === null ? '' : `, ${ends} ${until}`].join('');
  const lines = [`${resource === null ? '' : `${resource}: `}${state}${times}`, belowHeading(reason)];
  if (difference.length > 0) lines.push(...formatDifference(difference));
  if (action !== null) lines.push(`    do: ${action}`);
  return lines.join('\n');
}
