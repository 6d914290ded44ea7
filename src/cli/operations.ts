// The table of commands that send one request, with their requests and output. docs/rest.md describes the requests.
import { createInterface } from 'node:readline/promises';
import { systemClock } from '../base/clock.ts';
import { countOf, quote, toRfc3339 } from '../base/wording.ts';
import type { Problem } from '../model/problem.ts';
import type { HeldItem, PropertyDifference, SentNotification, WaitingItem, Why } from '../service/answers.ts';
import { CommandFailure } from './command-failure.ts';
import { askDelivered, formatDelivered } from './delivered.ts';
import { formatProblem } from './format-problem.ts';
import { firstLine, formatCounts, formatItem, formatReplicas, print, tableLines, visibleLine } from './output.ts';
import type { Given, RestCommand } from './rest-command.ts';
import { getFrom, sendTo } from './server-connection.ts';
import { findHeld } from './short-ids.ts';
import { spanMs } from './time-span.ts';

/** A command that posts to `/operations/NAME`. */
interface Operation extends Omit<RestCommand, 'ask'> {
  /**
   * Returns the body of the request without the reason. An optional argument may be undefined. Throws CommandFailure
   * for conflicting options.
   */
  readonly body: (argument: string, given: Given) => Body | Promise<Body>;
}

type Body = Readonly<Record<string, unknown>>;

/** The prefix of the digest of a held history; the commit follows. */
const HISTORY = 'history-';

const RESOURCE = { '--resource <server>': 'only this server' };
const ALL = { '--all': 'every server' };
const PROVIDER = { '--provider <name>': 'all servers of a provider entry' };

const OPERATIONS: readonly Operation[] = [
  {
    usage: 'approve <digest>',
    description: 'approve the held change with this digest',
    help: 'The first 20 digits are enough. "treeline held" prints the digest.',
    body: async (text, given) => ({ digest: await findHeld(given, text) }),
  },
  {
    usage: 'accept-history <commit>',
    description: 'follow a rewritten history, at exactly this commit',
    help: 'The first 20 digits of a held commit are enough. It shows what changes, and on a terminal asks first.',
    body: async (text, given) => {
      const commit = await findHeld(given, text, HISTORY);
      await confirmHistory(given);
      return { commit };
    },
  },
  {
    usage: 'suspend [instance]',
    description: 'suspend the actions of an instance, or of all',
    options: { '--all': 'every instance', '--until <time>': 'when it ends: 24h, 90m, 7d or a time' },
    body: (instance, { until, ...given }) => ({ ...wholeOf(instance, given, WHOLE), until: until && timeOf(until) }),
  },
  {
    usage: 'resume [instance]',
    description: 'end a suspension or a recovery',
    options: {
      '--all': 'the suspension of every instance',
      '--recovery <id>': 'the recovery with that id',
      '--force': 'end a recovery although an action may still run',
    },
    body(instance, { force, ...given }) {
      if (force && given.recovery === undefined) throw new CommandFailure('--force requires --recovery ID');
      return { ...wholeOf(instance, given, 'an instance, --recovery, --all'), force };
    },
  },
  {
    usage: 'acknowledge <instance>',
    description: 'silence the known problems of an instance',
    options: { '--until <time>': 'when it ends: 24h, 90m, 7d or a time; at most 30 days', '--end': 'end it now' },
    help: 'The problems stay listed, last. A later problem of another kind is reported.',
    body(instance, { until, end }) {
      if ((until === undefined) === (end === undefined))
        throw new CommandFailure('name exactly one of: --until, --end');
      return { instance, ...(until === undefined ? { end } : { until: timeOf(until) }) };
    },
  },
  {
    usage: 'retry [instance]',
    description: 'retry failed servers',
    options: {
      ...RESOURCE,
      ...ALL,
      ...PROVIDER,
      '--ignore-order': 'with --resource: do not wait for other servers',
    },
    help: 'For an instance or a server it also corrects drift. --ignore-order breaks a cycle of waits.',
    body: (instance, { ignoreOrder, ...given }) => ({ ...readTarget(instance, given, TARGETS), ignoreOrder }),
  },
  {
    usage: 'adopt [instance]',
    description: 'adopt servers that exist already',
    options: { ...RESOURCE, ...ALL, ...PROVIDER },
    help: 'With --provider it also accepts a new place of that entry.',
    body: (instance, given) => readTarget(instance, given, TARGETS),
  },
  {
    usage: 'retain <server>',
    description: 'forget a server that no commit wants, and leave it',
    body: (resource) => ({ resource }),
  },
  {
    usage: 'replace <server>',
    description: 'delete a server and create it again',
    help: 'The data on the server is lost. The request needs no approval and does not count against the delete budget.',
    body: (resource) => ({ resource }),
  },
  {
    usage: 'check [instance]',
    description: 'compare servers now with their applied spec',
    options: RESOURCE,
    help: 'It ignores the drift policy of the servers.',
    body: (instance, given) => readTarget(instance, given, 'an instance, --resource'),
  },
];

const TARGETS = 'an instance, --resource, --provider, --all';
const WHOLE = 'an instance, --all';

const READS: readonly RestCommand[] = [
  {
    usage: 'why <instance>',
    description: 'show why an instance is not done, and what to do',
    ask: (given, instance) => getFrom(given, `/stacks/instances/${encodeURIComponent(instance)}/why`),
    text: formatWhy,
  },
  {
    usage: 'delivered [instance]',
    description: 'show which nodes run an older record',
    options: {
      '--commit <commit>': 'the record of this commit or a later one',
      '--all': 'show also the nodes that run it',
    },
    help: 'Without INSTANCE: the nodes of all instances.',
    ask: askDelivered,
    text: formatDelivered,
  },
  {
    usage: 'held',
    description: 'show what waits for an approval',
    ask: listed,
    text: ({ held }: { readonly held: readonly HeldItem[] }) => linesOf(held, formatHeld, 'nothing is held'),
  },
  {
    usage: 'problems',
    description: 'show the problems of the newest commit',
    ask: listed,
    text({ commit, problems }: { readonly commit: string; readonly problems: readonly Problem[] }) {
      if (problems.length === 0) return `nothing is wrong in ${commit}`;
      return [`commit ${commit}`, ...problems.map((problem) => formatProblem(problem))].join('\n');
    },
  },
  {
    usage: 'notifications',
    description: 'show the last attempts to notify subscribers',
    ask: listed,
    text: ({ notifications }: { readonly notifications: readonly SentNotification[] }) =>
      linesOf(notifications, formatSent, 'no event was sent'),
  },
];

function listed(given: Given, _argument: string, name: string): Promise<unknown> {
  return getFrom(given, `/operations/${name}`);
}

/** The commands, in the order of the help. */
export const OPERATION_COMMANDS: readonly RestCommand[] = [
  ...READS,
  ...OPERATIONS.map(
    ({ body, ...row }): RestCommand => ({
      ...row,
      options: { ...row.options, '--reason <words>': 'the reason; recorded with the operation' },
      async ask(given, argument, name) {
        const { reason } = given;
        return await sendTo(given, { path: `/operations/${name}`, body: { ...(await body(argument, given)), reason } });
      },
    }),
  ),
];

function linesOf<Item>(items: readonly Item[], format: (item: Item) => string, none: string): string {
  return items.length === 0 ? none : items.map(format).join('\n');
}

/** Returns the time at the end of a span from now. Returns other text unchanged, for the controller to judge. */
function timeOf(text: string): string {
  const span = spanMs(text);
  return span === undefined ? text : toRfc3339(systemClock.now() + span);
}

function formatSent({ id, subscriber, type, subject, state, triedAt, answer }: SentNotification): string {
  return visibleLine(`${triedAt}  ${subscriber}  ${type}  ${subject}: ${state} (${answer})  ${id}`);
}

function readTarget(
  instance: string | undefined,
  { resource, provider, recovery, all }: Pick<Given, 'resource' | 'provider' | 'recovery' | 'all'>,
  choices: string,
): Readonly<Record<string, unknown>> {
  const target = { instance, resource, provider, recovery, all };
  const named = Object.entries(target).filter(([, value]) => value !== undefined);
  if (named.length === 1) return Object.fromEntries(named);
  throw new CommandFailure(`name exactly one of: ${choices}`);
}

/** Over REST, no instance means all instances. A command requires `--all`, because an unset variable could stop all. */
function wholeOf(instance: string | undefined, options: Partial<Given>, choices: string): Body {
  const { all, ...whole } = readTarget(instance, options, choices);
  return whole;
}

/**
 * Prints the held history with its effect, and asks for confirmation on a terminal. Throws CommandFailure after "no".
 */
async function confirmHistory(given: Given): Promise<void> {
  const { held } = (await getFrom(given, '/operations/held')) as { readonly held: readonly HeldItem[] };
  const found = held.filter(({ kind }) => kind === 'history');
  if (found.length === 0) return;
  print(linesOf(found, formatHeld, ''));
  if (!process.stdin.isTTY) return;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question('Accept it? (yes/no) ');
  terminal.close();
  if (answer.trim() !== 'yes') throw new CommandFailure('nothing was accepted');
}

function releaseOf({ kind, digest, check }: HeldItem): string {
  const commit = digest.startsWith(HISTORY) ? digest.slice(HISTORY.length) : digest;
  const accept = kind === 'history' ? `treeline accept-history ${commit}` : `treeline approve ${digest}`;
  return check === undefined ? accept : `${check}; if it is intended: ${accept}`;
}

function formatHeld(item: HeldItem): string {
  const { kind, instance, reason, since, resources, commit, author } = item;
  const details = [
    ...(commit === null ? [] : [`    commit: ${commit}${author ? `, by ${visibleLine(author)}` : ''}`]),
    ...(resources.length === 0 ? [] : [`    servers: ${resources.join(', ')}`]),
    `    release with: ${releaseOf(item)}`,
  ];
  return formatItem({ title: `${instance ?? 'commit'}: ${kind}`, since, reason, details });
}

/**
 * The limit of printed groups of servers with one reason. `--format json` has all servers of the controller's answer.
 */
const WHY_GROUPS_MAX = 50;
/** The limit of named servers in each group. */
const WHY_NAMES_MAX = 3;

/** Returns the lines of an answer. */
function formatWhy(why: Why, instance: string): string {
  const { status, summary, counts, waiting } = why;
  const open = Object.values(counts).reduce((sum, count) => sum + count, 0) - (counts.done ?? 0);
  const printed = groupByReason(waiting).slice(0, WHY_GROUPS_MAX);
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

/** Groups items that differ only in their servers and times, in the order of the first item of each group. */
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
  const more = names.length > WHY_NAMES_MAX ? ' …' : '';
  return `${countOf(names.length, 'server')} (${names.slice(0, WHY_NAMES_MAX).join(', ')}${more})`;
}

/** Returns the action. For several servers, a command for one server becomes one for their instance, if possible. */
function actionFor(instance: string, [{ resource, action }, ...others]: Group): string | null {
  return others.length === 0 || action === null ? action : action.replaceAll(`--resource ${resource}`, instance);
}
