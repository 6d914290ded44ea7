// Starts the demo's controller again where another program has taken a port between the search for a free one and its use.

const TRIES_MAX = 3;

/** How a start is prepared, and what it is. */
interface FreePortStart<Prepared, Started> {
  /** Searches for free ports, and tells everything that has to know them. */
  readonly prepare: () => Promise<Prepared>;
  /** Throws an error with the code EADDRINUSE if a port is taken; then nothing of it may be left. */
  readonly start: (prepared: Prepared) => Promise<Started>;
}

/** Returns what was started. Prepares anew and tries again where a port was taken meanwhile, at most three times in all. */
export async function startOnFreePorts<Prepared, Started>({
  prepare,
  start,
}: FreePortStart<Prepared, Started>): Promise<Started> {
  for (let count = 1; ; count++) {
    const prepared = await prepare();
    try {
      return await start(prepared);
    } catch (error) {
      const isInUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
      if (!isInUse || count === TRIES_MAX) throw error;
    }
  }
}
