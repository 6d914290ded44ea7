// One run of a seed, from its script to the promises that it broke.
import type { Action } from './actions.ts';
import { settle } from './end.ts';
import { act } from './people.ts';
import { lastTurn } from './scheduler.ts';
import { type Script, scriptOf } from './script.ts';
import { type Violation, World } from './world.ts';

export interface Run {
  readonly seed: number;
  readonly theme: string;
  readonly violation: Violation | undefined;
  /** The events of the run, a line each; empty unless asked for. */
  readonly story: readonly string[];
  /** Simulated events and calls to sites, for figures. */
  readonly events: number;
  readonly calls: number;
}

export interface RunOptions {
  readonly script?: Script;
  /** Writes the story. */
  readonly isTold?: boolean;
}

/** Returns what became of a seed. The same seed and script give the same run. */
export async function simulate(
  seed: number,
  { script = scriptOf(seed), isTold = false }: RunOptions = {},
): Promise<Run> {
  const world = new World(seed, script, isTold);
  const onRejection = (error: unknown): void => world.fail('no promise is forgotten', String(error));
  process.on('unhandledRejection', onRejection);
  const { stackTraceLimit } = Error;
  // Sites fail all the time, and where their errors were made says nothing.
  if (!isTold) Error.stackTraceLimit = 0;
  try {
    await play(world, script.actions);
    if (world.violation === undefined) await settle(world, script.approvesAtEnd);
  } finally {
    world.controller.close();
    await lastTurn();
    for (const site of world.sites) site.close();
    Error.stackTraceLimit = stackTraceLimit;
    process.off('unhandledRejection', onRejection);
  }
  const { violation, story } = world;
  const figures = { events: world.scheduler.count, calls: world.calls.count };
  return { seed, theme: script.theme, violation, story: story ?? [], ...figures };
}

async function play(world: World, actions: readonly Action[]): Promise<void> {
  for (const action of actions) {
    await world.run(world.scheduler.now + action.after);
    if (world.violation !== undefined) return;
    act(world, action);
    await world.settleTurn();
  }
  // A script without a start would have nothing to watch.
  world.controller.start();
}
