// Defines the error of a command, with a message for the user, and describes an error of the operating system: its
// cause, its place and what to do.
import { dirname } from 'node:path';

/** Exit code of a command that found errors in what it looked at. */
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
  /** The setting that holds the port. */
  readonly setting?: string;
}

type Describe = (error: SystemError) => string;

const BY_CODE: Readonly<Record<string, Describe>> = {
  EADDRINUSE: (error) =>
    `${addressOf(error)} is in use by another program: stop that one, or set another ${error.setting ?? 'port'}`,
  EACCES: (error) =>
    hasPort(error)
      ? `${addressOf(error)} may not be listened on by this user: set ${error.setting ?? 'a port'} above 1023`
      : `${pathOf(error)} cannot be used: permission denied. Choose another place, or change its owner or mode`,
  EROFS: (error) => `${pathOf(error)} cannot be written: the file system is read-only. Choose another place`,
  ENOENT: (error) => `${pathOf(error)} is not there: make its folder first, or check the path`,
  ENOSPC: (error) => `${pathOf(error)} cannot be written: no space is left on its disk`,
};

/** Returns one line for an error of the operating system, or undefined for any other error. */
export function describeSystemError(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return undefined;
  const system = error as SystemError;
  return Object.hasOwn(BY_CODE, system.code) ? BY_CODE[system.code]?.(system) : system.message;
}

function hasPort({ port = -1 }: SystemError): boolean {
  return port >= 0;
}

function addressOf(error: SystemError): string {
  const { address = 'the address', port } = error;
  return hasPort(error) ? `${address}:${port}` : address;
}

/** A Unix socket is named by its folder: its own name says nothing to the user who chose the folder. */
function pathOf(error: SystemError): string {
  const { path, address } = error;
  if (path === undefined && address !== undefined && !hasPort(error)) return dirname(address);
  return path ?? 'a file';
}
