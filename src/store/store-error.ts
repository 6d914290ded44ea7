// Why the store cannot be opened or written. Its message is for the operator: what happened, where, and what to do.

export class StoreError extends Error {
  override readonly name = 'StoreError';
}

/** Returns what the system said, to be quoted inside another message. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns the system's code of an error (`ENOSPC`, `ENOENT`), or undefined. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
