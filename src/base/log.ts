// Creates the log: pino, one JSON object per line on standard output.
import { type Logger, pino } from 'pino';
import type { LogLevel } from '../model/settings.ts';
import { visible } from './wording.ts';

export type { Logger } from 'pino';

/** Returns a logger. Secrets never reach it: callers log names and counts, not contents. */
export function createLog(level: LogLevel, destination?: { write(line: string): void }): Logger {
  const serializers = DETAILED.has(level) ? {} : { err: serializeError };
  // JSON does not escape control characters above U+007E and direction marks.
  const hooks = { streamWrite: visible };
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers, hooks };
  return destination === undefined ? pino(options) : pino(options, destination);
}

const DETAILED: ReadonlySet<LogLevel> = new Set(['trace', 'debug']);
/** Errors of external failures whose message explains them, so that no stack is needed. */
const FORESEEN: ReadonlySet<string> = new Set(['GitError']);

/** Returns an error for the log, with the stack only if the program itself may be at fault. */
function serializeError(error: Error): object {
  const { stack, ...serialized } = pino.stdSerializers.err(error);
  return error instanceof Error && FORESEEN.has(error.name) ? serialized : { ...serialized, stack };
}
