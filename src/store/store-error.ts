// Defines the error of a store that cannot be opened or written. Its message tells the operator what happened, where,
// and what to do.

/** The store cannot be opened or written. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

/** Somebody else keeps the store from being used, and that passes: to wait and to try again helps. */
export class StoreUnavailable extends StoreError {}

/** This process does not lead, so it may save nothing. */
export class NotLeading extends StoreError {}

/** Returns the system's code of an error (`ENOSPC`, `ENOENT`), or undefined. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Returns the error for a file that a newer version of Treeline wrote; `what` says what is not known in it. */
export function newerVersion(path: string, what: string): StoreError {
  return new StoreError(
    `${path} was written by another version of Treeline: it has ${what}. Start that version on it. Or move it away: ` +
      'then everything is found again by looking, as after a lost store (docs/operations.md)',
  );
}
