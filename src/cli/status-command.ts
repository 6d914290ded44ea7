// `treeline status`: prints the status of the stacks and the commit that is followed.
import { type Command, Option } from 'commander';
import type { Overview, ReplicaFacts, Why } from '../service/operate/answers.ts';
import type { InstanceView } from '../service/read/instance-views.ts';
import { CommandFailure } from './command-failure.ts';
import {
  type Format,
  firstLine,
  formatCounts,
  formatOption,
  formatReplicas,
  print,
  printAs,
  visible,
  visibleLine,
} from './output.ts';
import { addServerOptions, getFrom, type ServerOptions } from './server-connection.ts';
import { findCommit } from './short-ids.ts';
import { waitUntilSettled } from './wait-until-settled.ts';
import { watchText } from './watch-text.ts';

const EXIT_NOT_DONE = 1;
const TIMEOUT_SECONDS = 300;
const TIMEOUT_SECONDS_MAX = 86_400;

interface Options extends ServerOptions {
  readonly format: Format;
  readonly wait?: string;
  readonly watch?: true;
  readonly timeout: number;
}

/** Adds the command. Exit code 0: shown, and with `--wait` all is done; 1: with `--wait`, it is not; 3: could not run. */
export function addStatusCommand(program: Command): void {
  const command = program
    .command('status')
    .description('show how far every instance of a running controller is, which commit it follows, and what is held')
    .argument('[instance]', 'show this one, with its servers')
    .option(
      '--wait <commit>',
      'first wait until that commit is followed and nothing is in progress: an id, 7 digits of it, or HEAD',
    )
    .addOption(new Option('--timeout <seconds>', 'how long --wait waits').argParser(secondsOf).default(TIMEOUT_SECONDS))
    .option('--watch', 'show it again every two seconds, until Ctrl-C; where the output is no terminal, what changes')
    .addOption(formatOption())
    .addHelpText('after', '\nWith --wait, exit code 0: all is done, 1: it is not, 3: could not run.');
  addServerOptions(command).action(async (instance: string | undefined, options: Options) => {
    const isGone = options.wait === undefined ? false : await wait(instance, { ...options, wait: options.wait });
    if (isGone) print(`${instance}: gone`);
    else if (options.watch) await watch(instance, options);
    else {
      const { value, text } = await readStatus(instance, options);
      printAs(options.format, value, () => text);
    }
  });
}

/** Waits, sets the exit code, and returns whether the named instance is gone. */
async function wait(instance: string | undefined, options: Options & { readonly wait: string }): Promise<boolean> {
  const { isDone, reason } = await waitUntilSettled(options, {
    ...{ commit: await findCommit(options, options.wait), instance, timeoutMs: options.timeout * 1000 },
    progress: (line) => void process.stderr.write(`${visibleLine(line)}\n`),
  });
  if (!isDone) process.exitCode = EXIT_NOT_DONE;
  if (reason !== undefined) process.stderr.write(`treeline: ${visible(reason)}\n`);
  if (instance === undefined || !isDone) return false;
  const { instances } = (await getFrom(options, '/operations/status')) as Overview;
  return !instances.some(({ name }) => name === instance);
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (/^\d+$/.test(text) && seconds >= 1 && seconds <= TIMEOUT_SECONDS_MAX) return seconds;
  throw new CommandFailure(`--timeout takes a number of seconds from 1 to ${TIMEOUT_SECONDS_MAX}, not "${text}"`);
}

interface Shown {
  readonly value: unknown;
  readonly text: string;
}

async function watch(instance: string | undefined, options: Options): Promise<void> {
  if (options.format === 'json') throw new CommandFailure('--watch prints text: leave out --format json');
  await watchText(async () => (await readStatus(instance, options)).text);
}

function readStatus(instance: string | undefined, options: Options): Promise<Shown> {
  return instance === undefined ? readAll(options) : readOne(instance, options);
}

async function readAll(options: Options): Promise<Shown> {
  const overview = (await getFrom(options, '/operations/status')) as Overview;
  const { instances, counts } = overview;
  const lines = [...instances.map(formatInstance), ...formatCounts(counts), ...formatCommits(overview)];
  return { value: overview, text: lines.join('\n') };
}

async function readOne(instance: string, options: Options): Promise<Shown> {
  const path = `/stacks/instances/${encodeURIComponent(instance)}`;
  const resources = (await getFrom(options, `${path}/status/full`)) as InstanceView['resources'];
  const { status, summary, counts } = (await getFrom(options, `${path}/why`)) as Why;
  const { commit, newest, held, repository, store, copied, leader, lag } = (await getFrom(
    options,
    '/operations/status',
  )) as Overview;
  const own = held.filter((item) => item.instance === null || item.instance === instance);
  const outages = { ...(repository && { repository }), ...(store && { store }), ...(copied && { copied }) };
  const replicas = { ...(leader !== undefined && { leader }), ...(lag && { lag }) };
  const commits = { commit, newest, held: own, ...outages, ...replicas };
  const servers = Object.entries(resources).flatMap(([key, group]) =>
    Object.entries(group).map(([server, { state }]) => `  ${key}  ${server}: ${state}`),
  );
  const lines = [formatInstance({ name: instance, status, summary, counts }), ...servers, ...formatCounts(counts)];
  return {
    value: { name: instance, status, summary, counts, resources, ...commits },
    text: [...lines, ...formatCommits(commits)].join('\n'),
  };
}

type Commits = Pick<Overview, 'commit' | 'newest' | 'held' | 'repository' | 'store' | 'copied' | 'statuses' | 'audit'> &
  ReplicaFacts;

function formatInstance({ name, status, summary }: Overview['instances'][number]): string {
  return status === 'Done' ? `${name}: ${status}` : `${name}: ${status}: ${firstLine(summary)}`;
}

function formatCommits(commits: Commits): readonly string[] {
  const { commit, newest, held, repository, store, copied, statuses, audit } = commits;
  const lines = [`commit ${commit} is followed`, ...formatReplicas(commits)];
  if (repository !== undefined) {
    const { since, sinceStart, reason } = repository;
    const when = sinceStart ? `the controller has started, ${since}` : since;
    lines.push(`the repository could not be followed since ${when}: ${firstLine(reason)}`);
  }
  if (copied !== undefined) {
    lines.push(
      `two controllers may work on these servers: ${copied.reason}`,
      '    do: stop one of the two; where that is the other one, start this one again',
    );
  }
  if (store !== undefined) lines.push(`nothing is saved since ${store.since}: ${firstLine(store.reason)}`);
  if (newest !== null) {
    lines.push(
      `the newest commit ${newest.commit} is not, since ${newest.since}: ${newest.reason}`,
      `    do: ${newest.action}`,
    );
  }
  if (statuses !== undefined) lines.push(`commit statuses are not sent, since ${statuses.since}: ${statuses.reason}`);
  if (audit !== undefined) lines.push(`the audit log loses lines, since ${audit.since}: ${audit.reason}`);
  for (const { kind, instance, since } of held) {
    lines.push(`held since ${since}: ${kind}${instance === null ? '' : ` of ${instance}`}; see treeline held`);
  }
  return lines;
}
