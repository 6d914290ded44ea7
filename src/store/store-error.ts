// Defines the errors of a store that cannot be opened or written. A message has the event, the place and the remedy.

/** The store cannot be opened or written. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

/** The store cannot be used now; a later attempt may succeed. */
export class StoreUnavailable extends StoreError {}

/** Another process uses the directory of the store. */
export class DirectoryInUse extends StoreError {}

/** This process does not lead, so it may not save. */
export class NotLeading extends StoreError {}

/** The codes of a full disk. */
const FULL: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT']);

/** Returns true for a temporary failure to open a store: the database is away, or the disk is full. */
export function mayPass(error: unknown): boolean {
  return error instanceof StoreUnavailable || FULL.has(codeOf(error));
}

/** Returns the system's code of an error (`ENOSPC`, `ENOENT`), or undefined. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Returns the error for a file of a newer version of Treeline. `what`: the unknown part. */
export function newerVersion(path: string, what: string): StoreError {
  return new StoreError(
    `${path} was written by another version of Treeline: it has ${what}. Start that version on it. Or move it away: ` +
      'then everything is found again by looking, as after a lost store (docs/operate.md)',
  );
}
