// The provider program marking-server.sh: the keys of its entries, what it has made, and what its log says of each server.
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './command-line.ts';

/**
 * Returns the keys `name`, `command` and `environment` of a provider entry, in flow style, whose servers are in a directory. Changes take
 * `seconds`; `replica` is who makes the calls, for the log.
 */
export function markingEntry(
  directory: string,
  { seconds, replica = 'any' }: { readonly seconds: number; readonly replica?: string },
): string {
  for (const each of ['servers', 'locks']) mkdirSync(join(directory, each), { recursive: true });
  const command = [join(ROOT, 'test/support/programs/marking-server.sh'), directory];
  const environment = { REPLICA: replica, SECONDS_OF_CALL: String(seconds), PATH: process.env.PATH };
  return `name: files, command: ${JSON.stringify(command)}, environment: ${JSON.stringify(environment)}`;
}

/** A line of the log. */
interface MarkedCall {
  readonly at: bigint;
  readonly replica: string;
  readonly server: string;
  readonly event: 'begin' | 'end' | 'overlap' | 'found';
  readonly operation: string;
  /** `<server>.<incarnation>.<operation>…`. */
  readonly action: string;
}

/** Returns what exists: the release of each server, by its name. */
export function markedServers(directory: string): Readonly<Record<string, string>> {
  const folder = join(directory, 'servers');
  const names = readdirSync(folder).sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), 'utf8').trim()]));
}

/** Returns the actions that were begun, oldest first. */
export function actionsIn(directory: string): readonly MarkedCall[] {
  return readCalls(directory).filter(({ event, operation }) => event === 'begin' && operation !== 'check');
}

/**
 * Returns what must not be: a call that began while another one for its server ran, a create that found its server, and an action
 * that was begun again without a check in between.
 */
export function callFaults(directory: string): readonly string[] {
  return [...Map.groupBy(readCalls(directory), ({ server }) => server)].flatMap(([server, calls]) => {
    const faults: string[] = [];
    let unchecked = '';
    for (const { event, operation, action } of calls) {
      if (event === 'overlap' || event === 'found') faults.push(`${action}: ${event}`);
      if (event !== 'begin') continue;
      if (operation !== 'check' && action === unchecked) faults.push(`${action}: begun again, unchecked`);
      unchecked = operation === 'check' ? '' : action;
    }
    if (faults.length === 0) return [];
    const course = calls.map(
      ({ at, replica, event, operation, action }) => `  ${at} ${replica} ${event} ${operation} ${action}`,
    );
    return [[`${server}: ${faults.join('; ')}`, ...course].join('\n')];
  });
}

function readCalls(directory: string): readonly MarkedCall[] {
  const path = join(directory, 'calls.log');
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  return lines.map((line) => {
    const [at = '', replica = '', server = '', event = '', operation = '', action = ''] = line.split(' ');
    return { at: BigInt(at), replica, server, event: event as MarkedCall['event'], operation, action };
  });
}
