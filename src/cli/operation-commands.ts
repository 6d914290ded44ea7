// Adds one command for each operation of docs/rest.md.
import type { Command } from 'commander';
import { systemClock } from '../base/clock.ts';
import { momentOf } from '../base/wording.ts';
import type { Problem } from '../model/problem.ts';
import type { AuthoredHold, HeldItem, SentNotification } from '../service/answers.ts';
import { CommandFailure } from './command-failure.ts';
import { formatProblem } from './format-problem.ts';
import { belowHeading, type Format, formatOption, print, printAs, visibleLine } from './output.ts';
import { addServerOptions, getFrom, postTo, type ServerOptions } from './server-connection.ts';
import { findDigest, findHeldHistory } from './short-ids.ts';
import { spanMs } from './time-span.ts';

type Showing = ServerOptions & { readonly format: Format };
type Asking = ServerOptions & { readonly reason?: string };
type Resumption = { readonly recovery?: string; readonly force?: true };
type Aiming = Asking & { readonly resource?: string; readonly provider?: string; readonly all?: true };

const WHOLE = 'an instance, --all';
const CHECKED = 'an instance, --resource';
const TARGETS = 'an instance, --resource, --provider, --all';

/** Adds the commands. Exit code 0: done; 3: could not run, or the controller refused. */
export function addOperationCommands(program: Command): void {
  addShowing(program);
  asking(
    program,
    'approve <digest>',
    'let happen what is held under a digest, or its first 20 digits; see treeline held',
  ).action(async (text: string, options: Asking) =>
    sendOperation(options, 'approve', { digest: await findDigest(options, text) }),
  );
  asking(
    program,
    'accept-history <commit>',
    'follow a rewritten history, at exactly this commit; 20 digits are enough for a held one',
  ).action(async (text: string, options: Asking) =>
    sendOperation(options, 'accept-history', { commit: await findHeldHistory(options, text) }),
  );
  asking(program, 'suspend [instance]', 'start no action of an instance, or of any')
    .option('--all', 'every instance')
    .option('--until <time>', 'when it ends by itself, such as 2026-11-20T18:00:00Z')
    .action((instance: string | undefined, { until, ...options }: Aiming & { readonly until?: string }) =>
      sendOperation(options, 'suspend', { ...wholeOf(instance, options), until }),
    );
  asking(program, 'resume [instance]', 'end the suspension of an instance, the one of all, or a recovery')
    .option('--all', 'the suspension of every instance')
    .option('--recovery <id>', 'the recovery with that id')
    .option('--force', 'end a recovery although an action may still run that is not recorded')
    .action((instance: string | undefined, { recovery, force, ...options }: Aiming & Resumption) => {
      const isOfRecovery = recovery !== undefined && instance === undefined && options.all === undefined;
      return sendOperation(options, 'resume', isOfRecovery ? { recovery, force } : wholeOf(instance, options));
    });
  addAcknowledge(program);
  aiming(
    program,
    'retry [instance]',
    'try again at once what has failed; of an instance or a server also bring back what has drifted',
  )
    .option('--provider <name>', 'all servers of a provider entry')
    .option('--ignore-order', 'with --resource: it does not wait for other servers any more; breaks a cycle of waits')
    .action((instance: string | undefined, { ignoreOrder, ...options }: Aiming & { readonly ignoreOrder?: true }) =>
      sendOperation(options, 'retry', { ...readTarget(instance, options, TARGETS), ignoreOrder }),
    );
  aiming(program, 'adopt [instance]', 'take over servers that were there before, or that another entry made')
    .option('--provider <name>', 'all servers of a provider entry, also where it answers from another place now')
    .action((instance: string | undefined, options: Aiming) =>
      sendOperation(options, 'adopt', readTarget(instance, options, TARGETS)),
    );
  addRequests(program);
  addCheck(program);
  addNotifications(program);
}

/** `treeline acknowledge`: a known problem. */
function addAcknowledge(program: Command): void {
  asking(program, 'acknowledge <instance>', 'silence the known problems of an instance for a time')
    .option(
      '--until <time>',
      'when it ends by itself: after 24h, 90m or 7d, or at 2026-11-20T18:00:00Z; at most 30 days',
    )
    .option('--end', 'end it now')
    .addHelpText('after', '\nIt stays listed, last. Another kind of problem that comes later is news.')
    .action(
      (instance: string, { until, end, ...options }: Asking & { readonly until?: string; readonly end?: true }) => {
        if ((until === undefined) === (end === undefined))
          throw new CommandFailure('name exactly one of: --until, --end');
        return sendOperation(options, 'acknowledge', {
          instance,
          ...(until === undefined ? { end } : { until: timeOf(until) }),
        });
      },
    );
}

/** Returns the time at which a span from now ends; any other text as it is, for the controller to judge. */
function timeOf(text: string): string {
  const span = spanMs(text);
  return span === undefined ? text : momentOf(systemClock.now() + span);
}

function addRequests(program: Command): void {
  asking(program, 'retain <server>', 'forget a server that no commit wants, and leave it as it is').action(
    (resource: string, options: Asking) => sendOperation(options, 'retain', { resource }),
  );
  asking(program, 'replace <server>', 'delete a server and create it again')
    .addHelpText(
      'after',
      '\nWhat is stored on the server is lost with it. The request is the approval of that, so it counts against no delete budget.',
    )
    .action((resource: string, options: Asking) => sendOperation(options, 'replace', { resource }));
}

/** `treeline check`: an instance or a server, and never every server. */
function addCheck(program: Command): void {
  asking(program, 'check [instance]', 'compare servers with what was applied now, whatever their drift policy')
    .option('--resource <server>', 'only this server')
    .action((instance: string | undefined, options: Aiming) =>
      sendOperation(options, 'check', readTarget(instance, options, CHECKED)),
    );
}

function addShowing(program: Command): void {
  addServerOptions(
    program.command('held').description('show what waits for an approval').addOption(formatOption()),
  ).action(async (options: Showing) => {
    const { held } = (await getFrom(options, '/operations/held')) as { readonly held: readonly AuthoredHold[] };
    printAs(options.format, { held }, () => (held.length === 0 ? 'nothing is held' : held.map(formatHeld).join('\n')));
  });
  addServerOptions(
    program.command('problems').description('show what is wrong in the newest commit').addOption(formatOption()),
  ).action(async (options: Showing) => {
    const answer = (await getFrom(options, '/operations/problems')) as { commit: string; problems: readonly Problem[] };
    const { commit, problems } = answer;
    printAs(options.format, answer, () => {
      if (problems.length === 0) return `nothing is wrong in ${commit}`;
      return [`commit ${commit}`, ...problems.map((problem) => formatProblem(problem))].join('\n');
    });
  });
}

function addNotifications(program: Command): void {
  addServerOptions(
    program
      .command('notifications')
      .description('show the last attempts to send events to the subscribers of the settings, with each answer')
      .addOption(formatOption()),
  ).action(async (options: Showing) => {
    const answer = (await getFrom(options, '/operations/notifications')) as {
      readonly notifications: readonly SentNotification[];
    };
    printAs(options.format, answer, () =>
      answer.notifications.length === 0 ? 'no event was sent' : answer.notifications.map(formatSent).join('\n'),
    );
  });
}

function formatSent({ id, subscriber, type, subject, state, triedAt, answer }: SentNotification): string {
  return visibleLine(`${triedAt}  ${subscriber}  ${type}  ${subject}: ${state} (${answer})  ${id}`);
}

function asking(program: Command, usage: string, description: string): Command {
  const command = program.command(usage).description(description);
  return addServerOptions(command).option('--reason <words>', 'why; kept with the operation');
}

function aiming(program: Command, usage: string, description: string): Command {
  return asking(program, usage, description)
    .option('--resource <server>', 'only this server')
    .option('--all', 'every server');
}

async function sendOperation(
  options: Asking,
  operation: string,
  body: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { reason } = options;
  const answer = await postTo(options, `/operations/${operation}`, {
    ...body,
    ...(reason === undefined ? {} : { reason }),
  });
  print((answer as { readonly message: string }).message);
}

function readTarget(
  instance: string | undefined,
  { resource, provider, all }: Aiming,
  choices: string,
): Readonly<Record<string, unknown>> {
  const target = { instance, resource, provider, all };
  const named = Object.entries(target).filter(([, value]) => value !== undefined);
  if (named.length === 1) return Object.fromEntries(named);
  throw new CommandFailure(`name exactly one of: ${choices}`);
}

/** Over REST, no instance is every instance. A command says so: a variable that is not set would stop everything. */
function wholeOf(instance: string | undefined, options: Aiming): { readonly instance?: unknown } {
  const { all, ...whole } = readTarget(instance, options, WHOLE);
  return whole;
}

const HISTORY = 'history-';

function releaseOf({ kind, digest, check }: HeldItem): string {
  const commit = digest.startsWith(HISTORY) ? digest.slice(HISTORY.length) : digest;
  const accept = kind === 'history' ? `treeline accept-history ${commit}` : `treeline approve ${digest}`;
  return check === undefined ? accept : `${check}; if it is meant: ${accept}`;
}

function formatHeld(item: AuthoredHold): string {
  const { kind, instance, reason, since, resources, commit, author } = item;
  const lines = [`${instance ?? 'commit'}: ${kind}, since ${since}`, belowHeading(reason)];
  if (commit !== null) lines.push(`    commit: ${commit}${author ? `, by ${visibleLine(author)}` : ''}`);
  if (resources.length > 0) lines.push(`    servers: ${resources.join(', ')}`);
  return [...lines, `    release with: ${releaseOf(item)}`].join('\n');
}
