// `treeline events`: prints the events of an instance or of all instances; with --follow, also new ones.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { shortOid } from '../base/wording.ts';
import type { EventView, ListedEvents } from '../service/answers.ts';
import { CommandFailure } from './command-failure.ts';
import { type Format, formatOption, print, visibleLine } from './output.ts';
import { addServerOptions, getFrom, RefusedRequest, type ServerOptions, streamFrom } from './server-connection.ts';
import { spanMs } from './time-span.ts';

const PAGE = 1_000;
/** The retries while a controller restarts or a replica ends. */
const RETRY = { afterMs: 2_000, countMax: 30 };

type EventOptions = ServerOptions & {
  readonly format: Format;
  readonly follow?: true;
  readonly since?: string;
};

/** Adds the command. Exit code 0: printed; 3: could not run. With --follow it runs until it is interrupted. */
export function addEventsCommand(program: Command): void {
  const command = program
    .command('events')
    .description('show the events of instances and servers')
    .argument('[instance]', 'left out: all instances')
    .option('--follow', 'wait for new events and print them')
    .option('--since <when>', 'only events since 30m, 12h, 7d, a time (RFC 3339) or an id')
    .addOption(formatOption());
  addServerOptions(command).action(async (instance: string | undefined, options: EventOptions) => {
    const first = options.since === undefined ? '0' : String(readSince(options.since, Date.now()) - 1);
    const last = await printAfter(instance, first, options);
    if (options.follow) await follow(instance, last, options);
    else if (last === first && options.format === 'text') print('there are no events');
  });
}

/** Returns the smallest id of an event at that time. An id is at least its time in milliseconds. */
function readSince(since: string, now: number): number {
  const span = spanMs(since);
  const written = /^\d+$/.test(since) ? Number(since) : Date.parse(since);
  const id = span === undefined ? written : now - span;
  if (Number.isSafeInteger(id) && id > 0) return id;
  throw new CommandFailure(`--since is 30m, 12h, 7d, a time such as 2026-11-23T18:00:00Z, or an id, not "${since}"`);
}

/** Prints all events after `first`, and resolves with the id of the last one. */
async function printAfter(instance: string | undefined, first: string, options: EventOptions): Promise<string> {
  const path = instance === undefined ? '/operations' : `/stacks/instances/${encodeURIComponent(instance)}`;
  let after = first;
  let isGapTold = false;
  for (let isMore = true; isMore; ) {
    const query = `?after=${encodeURIComponent(after)}&limit=${PAGE}`;
    const { events, gap } = (await getFrom(options, `${path}/events${query}`)) as ListedEvents;
    if (gap && !isGapTold) printGap(options);
    isGapTold = gap;
    for (const event of events) printEvent(event, options);
    after = String(events.at(-1)?.id ?? after);
    isMore = events.length === PAGE;
  }
  return after;
}

/** Prints new events, and resumes after the last one if the stream ends. Throws if the stream is refused. */
async function follow(instance: string | undefined, first: string, options: EventOptions): Promise<void> {
  const named = instance === undefined ? '' : `&instance=${encodeURIComponent(instance)}`;
  let after = first;
  for (let failures = 0; ; failures += 1) {
    const failure = await streamFrom(options, `/events?after=${after}${named}`, ({ id, event, data }) => {
      failures = 0;
      if (event === 'gap') printGap(options);
      if (event !== 'instance') return;
      const { instance: about, ...rest } = JSON.parse(data) as EventView;
      printEvent(instance === undefined ? { ...rest, instance: about } : rest, options);
      after = id;
    }).catch((error: unknown) => error);
    const isRefused = failure instanceof RefusedRequest && failure.status < 500;
    if (isRefused || failures >= RETRY.countMax) throw failure;
    await sleep(RETRY.afterMs);
  }
}

function printGap({ format }: EventOptions): void {
  if (format === 'text') print('(events before the next one are not kept any more)');
}

/** Without `instance` if the user named one. */
type PrintedEvent = Omit<EventView, 'instance'> & Partial<Pick<EventView, 'instance'>>;

function printEvent(event: PrintedEvent, { format }: EventOptions): void {
  print(format === 'json' ? JSON.stringify(event) : formatEvent(event));
}

/** Returns an event as one line: time, instance, server, states, reason, then commit and client. */
function formatEvent(event: PrintedEvent): string {
  const { time, instance, resource, from, to, reason, commit, client, clientName } = event;
  const about = instance === undefined ? '' : (instance ?? 'every instance');
  const states = from === null && to === null ? '' : `${from ?? 'nothing'} -> ${to ?? 'nothing'}`;
  const what = [resource ?? '', states].filter((part) => part !== '').join(': ');
  const who = clientName === null ? `client ${client}` : `client ${client} "${clientName}"`;
  const causes = [commit === null ? '' : `commit ${shortOid(commit)}`, client === null ? '' : who];
  const cause = causes.filter((part) => part !== '').join(', ');
  const words = [time, about, what, reason].filter((part) => part !== '').join('  ');
  return visibleLine(cause === '' ? words : `${words}  (${cause})`);
}
