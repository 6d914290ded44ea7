// Runs a controller, proxy or renderer: sets the exit code if it cannot run, and stops it on a signal. A second signal
// exits immediately.
import type { Logger } from '../base/log.ts';
import { reasonOf } from '../base/wording.ts';
import { LeftoverError } from '../programs/program-runner.ts';
import { codeOf, DirectoryInUse, NotLeading, StoreError, StoreUnavailable } from '../store/store-error.ts';
import { CommandFailure, describeSystemError, EXIT_FAILED, EXIT_TRY_AGAIN } from './command-failure.ts';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
/** npm passes Ctrl-C on although the terminal has already sent it, so a second signal within this time is ignored. */
const INSIST_MS = 1_000;
const EXIT_INSISTED = 130;

/** The exit codes of `serve` and `proxy`, for their help. */
export const EXIT_CODES_HELP =
  'Exit code 0: stopped, 3: the settings or what they name are wrong, 4: try again (a port is taken, a disk is full).';

type ErrorKinds = readonly (abstract new (...args: never[]) => Error)[];

/** Errors of missing or inaccessible files, which would fail the next start too. */
const FINAL_CODES: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS', 'EEXIST', 'ENOENT', 'ENOTDIR', 'EISDIR']);

/**
 * Runs `serve` or `proxy`. An error of one of the `final` kinds, which an operator has to correct, gives exit code 3.
 * Any other error gives exit code 4, and a supervisor starts it again.
 */
export async function serving(final: ErrorKinds, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    const isOf = (kinds: ErrorKinds): boolean => kinds.some((kind) => error instanceof kind);
    const mayPass = isOf([StoreUnavailable, DirectoryInUse, NotLeading]);
    const isFinal = !mayPass && (isOf(final) || FINAL_CODES.has(codeOf(error) ?? ''));
    // Only unexpected errors are printed with a stack trace.
    const isKnown = isOf([...final, StoreError, LeftoverError]);
    const message = isKnown || !(error instanceof Error) ? reasonOf(error) : (error.stack ?? error.message);
    const exitCode = isFinal ? EXIT_FAILED : EXIT_TRY_AGAIN;
    throw new CommandFailure(describeSystemError(error) ?? message, { cause: error, exitCode });
  }
}

/** A running controller, proxy or renderer. */
interface Running {
  stop(): Promise<void>;
  /** Resolves when it has to end without a signal. */
  readonly over?: Promise<void>;
}

/**
 * Resolves when `running` has stopped: after a signal, or with true if it had to end without a signal. A second
 * signal, at least a second later, exits immediately. `stopWithInput`: the end of the standard input counts as a
 * signal.
 */
export async function runUntilSignalled(running: Running, log: Logger, stopWithInput = false): Promise<boolean> {
  if (stopWithInput) stopWhenInputEnds();
  // Keeps the process alive: the controller's timers do not, and while it stops, possibly nothing else does.
  const keepAlive = setInterval(() => undefined, 60_000);
  const signal = await Promise.race([firstSignal(log), ...(running.over === undefined ? [] : [running.over])]);
  log.info({ signal }, 'stopping');
  await running.stop();
  clearInterval(keepAlive);
  if (stopWithInput) process.stdin.destroy();
  log.info('stopped');
  return signal === undefined;
}

/** Sends this process the stop signal when its standard input ends. */
function stopWhenInputEnds(): void {
  const stop = (): void => void process.kill(process.pid, 'SIGTERM');
  process.stdin.once('end', stop).once('error', stop).resume();
}

function firstSignal(log: Logger): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let firstAt: number | undefined;
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      const now = performance.now();
      firstAt ??= now;
      if (now - firstAt >= INSIST_MS) {
        log.warn({ signal }, 'stopping immediately; the next start checks running actions');
        process.exit(EXIT_INSISTED);
      }
      resolve(signal);
    });
  }
  return promise;
}
