// Ends the wait for work that does not end by itself.

/** Returns the result of `work`, or throws the signal's reason as soon as that comes, whatever the work does. */
export async function untilAborted<Value>(
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(signal.reason);
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([work(signal), promise]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}
