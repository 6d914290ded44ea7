// `treeline status`: prints the status of the stacks and the followed commit.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { countOf, visible } from '../base/wording.ts';
import type { AttentionItem, FoundRecovery, Overview, RecoveredServers, Recovery } from '../service/answers.ts';
import type { InstanceView } from '../service/read/instance-views.ts';
import { CommandFailure } from './command-failure.ts';
import {
  belowHeading,
  type Format,
  firstLine,
  formatCounts,
  formatItem,
  formatOption,
  formatReplicas,
  print,
  printAs,
  SECONDS_MAX,
  screenOf,
  visibleLine,
  wholeNumber,
} from './output.ts';
import { addServerOptions, getFrom, type ServerOptions } from './server-connection.ts';
import { waitUntilSettled } from './wait-until-settled.ts';

const EXIT_NOT_DONE = 1;
const TIMEOUT_SECONDS = 300;
/** The maximum number of server names in a line of a recovery. */
const RECOVERED_MAX = 20;
/** The results of a recovery, in words. */
const RECOVERED: Readonly<Record<keyof RecoveredServers, string>> = {
  found: 'found, as recorded',
  drifted: 'found otherwise than recorded, or gone',
  waiting: 'waits for an operator (adopt, retain)',
  unchecked: 'not checked yet',
  create: 'absent, to be created',
  update: 'to be updated',
  replace: 'to be replaced',
  delete: 'to be deleted',
};

interface Options extends ServerOptions {
  readonly format: Format;
  readonly exitCode?: true;
  readonly problems?: true;
  readonly wait?: string;
  readonly delivered?: true;
  readonly watch?: true;
  readonly timeout: number;
}

/**
 * Adds the command. Exit code 0: shown, and with `--wait` everything is done; 1: with `--wait`, it is not, or with
 * `--exit-code`, an unacknowledged cause needs an operator; 3: could not run.
 */
export function addStatusCommand(program: Command): void {
  const command = program
    .command('status')
    .description('show instances, servers and the followed commit')
    .argument('[instance]', 'show this one, with its servers')
    .option('--wait <commit>', 'first wait until this commit is followed and applied')
    .option('--delivered', 'with --wait: also wait until nodes run its records')
    .option('--timeout <seconds>', 'how long --wait waits', wholeNumber(1, SECONDS_MAX), TIMEOUT_SECONDS)
    .option('--watch', 'show it again every two seconds, until Ctrl-C')
    .option('--exit-code', 'end with 1 if something unacknowledged needs an operator')
    .option('--problems', 'show only what is not done')
    .addOption(formatOption())
    .addHelpText(
      'after',
      '\nCOMMIT is an id, 7 digits of it, or HEAD.\nWith --wait, exit code 0: all is done, 1: it is not, 3: could not run.',
    );
  addServerOptions(command).action(async (instance: string | undefined, options: Options) => {
    if (options.delivered && options.wait === undefined)
      throw new CommandFailure('--delivered requires --wait COMMIT; to see what is delivered now: treeline delivered');
    const isGone = options.wait === undefined ? false : await wait(instance, { ...options, wait: options.wait });
    if (isGone) print(`${instance}: gone`);
    else if (options.watch) await watch(instance, options);
    else {
      const { value, text, attention } = await readStatus(instance, options);
      // Keeps an exit code of 1 from --wait.
      if (options.exitCode && attention.some(({ acknowledged }) => acknowledged === null))
        process.exitCode = EXIT_NOT_DONE;
      printAs(options.format, value, () => text);
    }
  });
}

/** Waits, sets the exit code, and resolves with whether the named instance is gone. */
async function wait(instance: string | undefined, options: Options & { readonly wait: string }): Promise<boolean> {
  const { delivered = false } = options;
  const timeoutMs = options.timeout * 1000;
  const progress = (line: string): void => void process.stderr.write(`${visibleLine(line)}\n`);
  const outcome = await waitUntilSettled(options, { commit: options.wait, instance, delivered, timeoutMs, progress });
  if (!outcome.isDone) process.exitCode = EXIT_NOT_DONE;
  if (outcome.reason !== undefined) process.stderr.write(`treeline: ${visible(outcome.reason)}\n`);
  return outcome.isGone === true;
}

interface Shown {
  readonly value: unknown;
  readonly text: string;
  readonly attention: Overview['attention'];
}

const WATCH_MS = 2_000;
/** The default for terminals that report no rows or columns. */
const ROWS = 24;
const COLUMNS = 80;
/** Terminal codes: move to the first line, and clear everything below. */
const CLEAR = '\u001b[H\u001b[J';

/**
 * Updates the status in place on a terminal; otherwise prints new lines. Shows failed reads, but throws if the first
 * fails.
 */
async function watch(instance: string | undefined, options: Options): Promise<never> {
  if (options.format === 'json') throw new CommandFailure('--watch prints text: leave out --format json');
  process.on('SIGINT', () => process.exit(0));
  let last: readonly string[] = [];
  for (;;) {
    const { text } = await readStatus(instance, options).catch((error: unknown) => {
      if (last.length === 0 || !(error instanceof CommandFailure)) throw error;
      return { text: `treeline: ${error.message}` };
    });
    const lines = text.split('\n');
    const { isTTY, rows, columns } = process.stdout;
    if (isTTY) {
      process.stdout.write(CLEAR);
      print(screenOf(text, { rows: (rows || ROWS) - 1, columns: columns || COLUMNS }));
    } else for (const line of lines.filter((one) => !last.includes(one))) print(line);
    last = lines;
    await sleep(WATCH_MS);
  }
}

/** Reads the status of one instance with its servers, or that of all instances. */
async function readStatus(instance: string | undefined, options: Options): Promise<Shown> {
  const isAll = instance === undefined;
  const resources = isAll ? {} : await readServers(instance, options);
  const overview = (await getFrom(options, '/operations/status')) as Overview;
  const instances = overview.instances.filter(({ name, status }) =>
    isAll ? options.problems === undefined || status !== 'Done' : name === instance,
  );
  // Includes causes that concern no instance in particular.
  const attention = overview.attention.filter((item) => isAll || isAbout(item.instances, instance));
  const held = overview.held.filter(
    (item) => isAll || isAbout(item.instance === null ? [] : [item.instance], instance),
  );
  const { counts } = isAll ? overview : (instances[0] ?? overview);
  const recovery = isAll && attention.some(({ kind }) => kind === 'recovery') ? await readRecovery(options) : null;
  const shown = { ...overview, held, attention, ...(recovery && { recovery }) };
  const lines = [
    ...formatAttention(attention, isAll ? overview.attentionLeftOut : 0),
    ...(recovery === null ? [] : formatRecovery(recovery)),
    ...instances.map(formatInstance),
    ...serverLines(resources),
    ...formatCounts(counts),
    ...formatCommit(overview),
    ...(isAll ? await pageLines(options) : []),
  ];
  const { instances: _, ...ofOne } = { ...shown, ...instances[0], resources };
  return { value: isAll ? { ...shown, instances } : ofOne, text: lines.join('\n'), attention };
}

function isAbout(instances: readonly string[], instance: string): boolean {
  return instances.length === 0 || instances.includes(instance);
}

type Servers = Readonly<Record<string, Readonly<Record<string, { readonly state: string }>>>>;

async function readServers(instance: string, options: Options): Promise<Servers> {
  const path = `/stacks/instances/${encodeURIComponent(instance)}/status/full`;
  const groups = Object.entries((await getFrom(options, path)) as InstanceView['resources']);
  const isShown = (state: string): boolean => options.problems === undefined || state !== 'done';
  return Object.fromEntries(
    groups.map(([key, group]) => [
      key,
      Object.fromEntries(Object.entries(group).filter(([, { state }]) => isShown(state))),
    ]),
  );
}

function serverLines(resources: Servers): readonly string[] {
  return Object.entries(resources).flatMap(([key, group]) =>
    Object.entries(group).map(([server, { state }]) => `  ${key}  ${server}: ${state}`),
  );
}

async function readRecovery(options: Options): Promise<Recovery | null> {
  return ((await getFrom(options, '/operations/recovery')) as FoundRecovery).recovery;
}

/** Resolves with lines about the page, and how to see it without a certificate. */
async function pageLines(options: Options): Promise<readonly string[]> {
  if (options.format === 'json') return [];
  const { page, message } = (await getFrom(options, '/')) as { readonly page: string; readonly message: string };
  return [`page ${options.server.replace(/\/+$/, '')}${page}`, belowHeading(message)];
}

function formatInstance({ name, status, summary }: Overview['instances'][number]): string {
  return status === 'Done' ? `${name}: ${status}` : `${name}: ${status}: ${firstLine(summary)}`;
}

/** Returns lines for the items that need an operator, then for acknowledged ones; empty if there are none. */
function formatAttention(items: Overview['attention'], leftOut = 0): readonly string[] {
  const [open, known] = [
    items.filter((item) => item.acknowledged === null),
    items.filter((item) => item.acknowledged !== null),
  ];
  return [
    ...(open.length === 0 ? [] : ['needs an operator:', ...open.map(formatAttentionItem)]),
    ...(leftOut === 0 ? [] : [`  and ${leftOut} more`]),
    ...(known.length === 0 ? [] : ['acknowledged:', ...known.map(formatAttentionItem)]),
    ...(items.length === 0 ? [] : ['']),
  ];
}

function formatAttentionItem({ id, reason, since, action, acknowledged }: AttentionItem): string {
  const details: string[] = [];
  if (acknowledged !== null) {
    const { by, until, reason: why } = acknowledged;
    details.push(belowHeading(`acknowledged by ${by} until ${until}${why === '' ? '' : `: ${why}`}`));
  }
  return formatItem({ title: `  ${visibleLine(id)}`, since, reason, details, action });
}

function formatCommit({ commit, author, ...replicas }: Overview): readonly string[] {
  const who = author ? `, by ${visibleLine(author)}` : '';
  return [`commit ${commit} is followed${who}`, ...formatReplicas(replicas)];
}

/** Returns the lines of a recovery: its reason, the earliest resume, and the servers of each instance. */
function formatRecovery({ id, reason, since, notBefore, instances }: Recovery): readonly string[] {
  const lines = [
    `recovery ${id}, since ${since}: ${visibleLine(reason)}`,
    `  end it with: treeline resume --recovery ${id} (from ${notBefore} on, or with --force)`,
  ];
  for (const { instance, isHeld, ...servers } of instances) {
    lines.push(`${visibleLine(instance)}${isHeld ? ', deletes and replacements are held (treeline held)' : ''}`);
    for (const [group, words] of Object.entries(RECOVERED)) {
      const names = servers[group as keyof RecoveredServers];
      if (names.length > 0) lines.push(`  ${words}: ${recoveredNames(group, names)}`);
    }
  }
  return lines;
}

function recoveredNames(group: string, names: readonly string[]): string {
  const count = countOf(names.length, 'server');
  if (group === 'found') return count;
  const left = names.length - RECOVERED_MAX;
  return `${names.slice(0, RECOVERED_MAX).map(visibleLine).join(', ')}${left > 0 ? ` and ${left} more` : ''}`;
}
