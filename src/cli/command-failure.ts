// Defines the error of a command, with a message for the user, and describes an error of the operating system: its
// cause, its place and what to do.
import { dirname } from 'node:path';
import { whyUnusable } from '../base/wording.ts';

/** Exit code of a command that found errors in its input. */
export const EXIT_PROBLEMS = 1;

/** Exit code of a command that could not run. */
export const EXIT_FAILED = 3;

/** Exit code of `serve` and `proxy` if another start may succeed: a port is taken, a disk is full. */
export const EXIT_TRY_AGAIN = 4;

/** Ends the command with an exit code, 3 by default, and this message, without a stack trace. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: number;

  constructor(
    message: string,
    { exitCode = EXIT_FAILED, ...options }: ErrorOptions & { readonly exitCode?: number } = {},
  ) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** Runs `work`, and turns an error of one of `kinds` into a failure of the command: its message says what to do. */
export async function expecting<Result>(
  kinds: readonly (abstract new (...args: never[]) => Error)[],
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Error && kinds.some((kind) => error instanceof kind)) {
      throw new CommandFailure(error.message, { cause: error });
    }
    throw error;
  }
}

interface SystemError extends Error {
  readonly code: string;
  readonly syscall: string;
  readonly path?: string;
  readonly address?: string;
  /** -1 or missing: the address is the path of a Unix socket. */
  readonly port?: number;
  /** The setting of the port. */
  readonly setting?: string;
}

/** Returns one line for an error of the operating system, or undefined for any other error. */
export function describeSystemError(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return undefined;
  const { code, path, address = '', port = -1, setting = 'port' } = error as SystemError;
  if (port >= 0) {
    const where = `${address}:${port}`;
    if (code === 'EADDRINUSE') return `${where} is in use by another program: stop that one, or set another ${setting}`;
    if (code === 'EACCES') return `${where} may not be listened on by this user: set ${setting} above 1023`;
  }
  // For a Unix socket, the message has the folder, which the user chose.
  const place = path ?? (address === '' ? undefined : dirname(address));
  return place === undefined ? error.message : `${place} cannot be used: ${whyUnusable(error)}`;
}
