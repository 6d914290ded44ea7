// `treeline events`: prints what happened to an instance, and with --follow what happens to it.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { shortOid } from '../base/wording.ts';
import type { InstanceEvent } from '../model/instance-event.ts';
import type { InstanceEvents } from '../service/operate/answers.ts';
import { type Format, formatOption, print, visibleLine } from './output.ts';
import { addServerOptions, getFrom, type ServerOptions } from './server-connection.ts';

const PAGE = 1_000;
const FOLLOW_MS = 2_000;

type EventOptions = ServerOptions & { readonly format: Format; readonly follow?: true; readonly after: string };

/** Adds the command. Exit code 0: printed; 3: could not run. With --follow it runs until it is interrupted. */
export function addEventsCommand(program: Command): void {
  const command = program
    .command('events')
    .description('show what happened to an instance: every step of its servers, its holds, and who asked for what')
    .argument('<instance>')
    .option('--follow', 'wait for more, and print it as it comes')
    .option('--after <id>', 'only events after the one with this id', '0')
    .addOption(formatOption());
  addServerOptions(command).action(async (instance: string, options: EventOptions) => {
    let after = await printAfter(instance, options.after, options);
    while (options.follow) {
      await sleep(FOLLOW_MS);
      after = await printAfter(instance, after, options);
    }
  });
}

/** Prints all events after one, and returns the id of the last one. */
async function printAfter(instance: string, first: string, options: EventOptions): Promise<string> {
  const path = `/stacks/instances/${encodeURIComponent(instance)}/events`;
  let after = first;
  for (let isMore = true; isMore; ) {
    const query = `?after=${encodeURIComponent(after)}&limit=${PAGE}`;
    const { events, gap } = (await getFrom(options, `${path}${query}`)) as InstanceEvents;
    if (gap && options.format === 'text') print('(events before the next one are not kept any more)');
    for (const event of events) print(options.format === 'json' ? JSON.stringify(event) : formatEvent(event));
    after = String(events.at(-1)?.id ?? after);
    isMore = events.length === PAGE;
  }
  return after;
}

/** Returns an event as one line: time, server, states, reason, then commit and client. */
function formatEvent({ time, resource, from, to, reason, commit, client, clientName }: InstanceEvent): string {
  const states = from === null && to === null ? '' : `${from ?? 'nothing'} -> ${to ?? 'nothing'}`;
  const what = [resource ?? '', states].filter((part) => part !== '').join(': ');
  const who = clientName === null ? `client ${client}` : `client ${client} "${clientName}"`;
  const causes = [commit === null ? '' : `commit ${shortOid(commit)}`, client === null ? '' : who];
  const cause = causes.filter((part) => part !== '').join(', ');
  const words = [time, what, reason].filter((part) => part !== '').join('  ');
  return visibleLine(cause === '' ? words : `${words}  (${cause})`);
}
