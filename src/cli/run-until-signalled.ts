// Runs a controller, proxy or renderer: its exit code if it cannot run, and its stop on a signal; a second signal exits
// at once.
import type { Logger } from '../base/log.ts';
import { reasonOf } from '../base/wording.ts';
import { LeftoverError } from '../programs/program-runner.ts';
import { codeOf, DirectoryInUse, NotLeading, StoreError, StoreUnavailable } from '../store/store-error.ts';
import { CommandFailure, describeSystemError, EXIT_FAILED, EXIT_TRY_AGAIN } from './command-failure.ts';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
/** npm passes Ctrl-C on although the terminal has already done so: the second of such a pair means nothing. */
const INSIST_MS = 1_000;
const EXIT_INSISTED = 130;

/** The exit codes of `serve` and `proxy`, for their help. */
export const EXIT_CODES_HELP =
  'Exit code 0: stopped, 3: the settings or what they name are wrong, 4: try again (a port is taken, a disk is full).';

type ErrorKinds = readonly (abstract new (...args: never[]) => Error)[];

/** What the settings name is not there, or may not be used: the next start meets the same. */
const FINAL_CODES: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS', 'EEXIST', 'ENOENT', 'ENOTDIR', 'EISDIR']);

/**
 * Runs `serve` or `proxy`. An error of one of the `final` kinds fails the command with exit code 3, since an operator has
 * to correct something; any other error fails it with 4, and a supervisor starts it again.
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

/** What runs. */
interface Running {
  stop(): Promise<void>;
  /** Resolves once it has to end by itself. */
  readonly over?: Promise<void>;
}

/**
 * Resolves when `running` has stopped: after a signal, or with true once it had to end by itself. A second signal, at
 * least a second later, exits at once. `stopWithInput`: the end of the standard input is a signal, too.
 */
export async function runUntilSignalled(running: Running, log: Logger, stopWithInput = false): Promise<boolean> {
  if (stopWithInput) stopWhenInputEnds();
  // Timers of the controller keep no process alive, and while stopping nothing else may do so either.
  const keepAlive = setInterval(() => undefined, 60_000);
  const signal = await Promise.race([firstSignal(log), ...(running.over === undefined ? [] : [running.over])]);
  log.info({ signal }, 'stopping');
  await running.stop();
  clearInterval(keepAlive);
  if (stopWithInput) process.stdin.destroy();
  log.info('stopped');
  return signal === undefined;
}

/** Sends this process the signal that stops it once its standard input ends. */
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
        log.warn({ signal }, 'stopping at once; actions under way are looked at by the next start');
        process.exit(EXIT_INSISTED);
      }
      resolve(signal);
    });
  }
  return promise;
}
