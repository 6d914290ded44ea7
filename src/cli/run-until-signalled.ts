// Stops a controller, proxy or renderer on a signal; a second signal exits at once.
import type { Logger } from '../base/log.ts';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
/** npm passes Ctrl-C on although the terminal has already done so: the second of such a pair means nothing. */
const INSIST_MS = 1_000;
const EXIT_INSISTED = 130;

/** Resolves when a signal has come and `running` has stopped. A second signal, at least a second later, exits at once. */
export async function runUntilSignalled(running: { stop(): Promise<void> }, log: Logger): Promise<void> {
  // Timers of the controller keep no process alive, and while stopping nothing else may do so either.
  const keepAlive = setInterval(() => undefined, 60_000);
  const signal = await firstSignal(log);
  log.info({ signal }, 'stopping');
  await running.stop();
  clearInterval(keepAlive);
  log.info('stopped');
}

/** Sends this process the signal that stops it once its standard input ends. */
export function stopWhenInputEnds(): void {
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
