// Finds one cycle in a graph that is given as a function. Walks with its own stack, so depth is bounded by memory only.

/** Returns the nodes of a cycle reachable from `starts`, in order and closed (`a, b, a`), or undefined. */
export function findCycle(
  starts: Iterable<string>,
  next: (node: string) => readonly string[],
): readonly string[] | undefined {
  const finished = new Set<string>();
  for (const start of starts) {
    const cycle = finished.has(start) ? undefined : walk(start, next, finished);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

function walk(start: string, next: (node: string) => readonly string[], finished: Set<string>): string[] | undefined {
  const path = new Map([[start, next(start)[Symbol.iterator]()]]);
  let node: string | undefined = start;
  while (node !== undefined) {
    const step = path.get(node)?.next();
    if (step === undefined || step.done === true) {
      finished.add(node);
      path.delete(node);
      node = [...path.keys()].at(-1);
    } else if (path.has(step.value)) {
      const nodes = [...path.keys()];
      return [...nodes.slice(nodes.indexOf(step.value)), step.value];
    } else if (!finished.has(step.value)) {
      node = step.value;
      path.set(node, next(node)[Symbol.iterator]());
    }
  }
  return undefined;
}
