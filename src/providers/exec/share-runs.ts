// Shares costly searches: many callers at once get the result of one.

/** Returns a function that shares runs among its callers. No caller gets a run that began before its call. */
export function shareRuns<Value>(run: () => Promise<Value>): () => Promise<Value> {
  let current: Promise<Value> | undefined;
  let next: Promise<Value> | undefined;
  function begin(): Promise<Value> {
    next = undefined;
    const begun = run().finally(() => {
      if (current === begun) current = undefined;
    });
    current = begun;
    return begun;
  }
  return () => {
    if (current === undefined) return begin();
    next ??= current.then(begin, begin);
    return next;
  };
}
