// The git starter: starts git for the process that has started it, and passes on its input and output. It stays small,
// since starting a program takes time in proportion to the memory of the process that starts it; see docs/decisions/0069.
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { endGroup, spawnGit } from './spawn-git.ts';
import type { GitOutput, StarterOrder, StarterReport } from './starter-messages.ts';

interface Run {
  readonly child: ChildProcessWithoutNullStreams;
  /** The outputs of which the next piece was asked for. */
  readonly wanted: Set<GitOutput>;
}

const runs = new Map<number, Run>();

// Its streams close with this process, so git ends too.
process.on('disconnect', () => process.exit(0));
// The process that started it decides when it ends, also where a terminal or a service manager signals all processes.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
process.on('message', (order: StarterOrder) => obey(order));

function obey(order: StarterOrder): void {
  if (order.kind === 'start') {
    start(order);
    return;
  }
  const run = runs.get(order.run);
  if (run === undefined) return;
  const { stdin } = run.child;
  if (order.kind === 'input') stdin.write(order.piece, () => report({ kind: 'taken', run: order.run }));
  else if (order.kind === 'input ends') stdin.end();
  else if (order.kind === 'more') ask(order.run, run, order.output);
  else end(run, order.ending);
}

function start({ run: id, ...what }: Extract<StarterOrder, { kind: 'start' }>): void {
  try {
    attend(id, spawnGit(what));
  } catch (error) {
    // Some failures are thrown, such as arguments that are too long or too little memory. They are no matter of other runs.
    const { message, code } = error as NodeJS.ErrnoException;
    report({ kind: 'failed', run: id, message, code });
  }
}

function attend(id: number, child: ChildProcessWithoutNullStreams): void {
  const run: Run = { child, wanted: new Set() };
  runs.set(id, run);
  child.on('error', ({ message, ...error }: NodeJS.ErrnoException) => {
    runs.delete(id);
    report({ kind: 'failed', run: id, message, code: error.code });
  });
  child.on('close', (code, signal) => {
    if (runs.delete(id)) report({ kind: 'closed', run: id, code, signal });
  });
  child.stdin.on('error', () => child.stdin.destroy());
  child.stdin.on('close', () => report({ kind: 'input closed', run: id }));
  for (const output of ['stdout', 'stderr'] as const) {
    child[output].on('readable', () => pass(id, run, output));
    child[output].on('end', () => report({ kind: 'output', run: id, output, piece: null }));
    child[output].on('error', () => child[output].destroy());
  }
}

function ask(id: number, run: Run, output: GitOutput): void {
  run.wanted.add(output);
  pass(id, run, output);
}

/** Passes on one piece if it was asked for and is there. */
function pass(id: number, { child, wanted }: Run, output: GitOutput): void {
  const piece: Uint8Array | null =
    wanted.has(output) || child[output].readableLength === 0 ? child[output].read() : null;
  if (piece === null) return;
  wanted.delete(output);
  report({ kind: 'output', run: id, output, piece });
}

function end({ child }: Run, ending: NodeJS.Signals): void {
  endGroup(child, ending);
  for (const output of [child.stdout, child.stderr]) output.removeAllListeners('readable').resume();
}

function report(message: StarterReport): void {
  // Without anybody to report to, there is nothing left to do here.
  process.send?.(message, undefined, undefined, (error: Error | null) => error !== null && process.exit(0));
}
