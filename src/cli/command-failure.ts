// Defines the error of a command, with a message for the user.

/** Exit code of a command that could not run. */
export const EXIT_FAILED = 3;

/** Ends the command with exit code 3 and this message, without a stack trace. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
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
