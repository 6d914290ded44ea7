// Has answers that take long made one after the other.
import type { ServerResponse } from 'node:http';

/** Resolves with the result of work, or with undefined where the client went away while it waited: then nothing is done. */
type RunSerially = <Result>(response: ServerResponse, work: () => Promise<Result>) => Promise<Result | undefined>;

/** Returns a function that does one piece of work at a time, first come first served. A failure is for its caller alone. */
export function createSerialWork(): RunSerially {
  let last: Promise<void> = Promise.resolve();
  return (response, work) => {
    // Work for a client that went away would hold up all who come after.
    const result = last.then(() => (response.destroyed ? undefined : work()));
    // Without the result, which may be large.
    last = result.then(
      () => undefined,
      () => undefined,
    );
    return result;
  };
}
