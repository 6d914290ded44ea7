// Prints one line for each instance of the demo that is done.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Controller } from '../../compose.ts';
import { finish } from '../../model/steps.ts';
import type { Reader } from '../../service/reader.ts';
import { CommandFailure } from '../command-failure.ts';

const POLL_MS = 200;
/** The sample needs a few seconds; a desired state that a user has filled may need longer, and goes on without being watched. */
const WATCH_MS_MAX = 60_000;

/**
 * Resolves when every instance is done, or no longer waits for anything but a person, or a minute has passed. Prints
 * nothing where all is up from the beginning.
 */
export async function watchUntilDone(controller: Controller, print: (line: string) => void): Promise<void> {
  const told = new Map<string, string>();
  for (let waited = 0; waited < WATCH_MS_MAX; waited += POLL_MS) {
    const ready = controller.ready();
    if (ready === true && tellAll(controller.reader, told, print)) return;
    await sleep(POLL_MS);
  }
  const ready = controller.ready();
  if (ready !== true) throw new CommandFailure(`the controller does not get ready: ${ready}`);
}

/** Prints every status that is new, and returns true where nothing is in progress. */
function tellAll(reader: Reader, told: Map<string, string>, print: (line: string) => void): boolean {
  const statuses = finish(reader.instances()).map(({ name }) => [name, reader.status(name)] as const);
  const isOver = statuses.every(([, status]) => status !== 'In progress' && status !== 'Marked for delete');
  if (told.size === 0 && isOver) return true;
  if (told.size === 0) print('Bringing the stacks up:');
  for (const [name, status] of statuses) {
    if (told.get(name) !== status) print(`  ${name}: ${status}`);
    told.set(name, status);
  }
  return isOver;
}
