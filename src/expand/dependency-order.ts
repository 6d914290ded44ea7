// Sorts nodes by their dependencies, and finds cycles. It works on any kind of node.

const CYCLES_MAX = 10;
const CYCLE_SHOWN_MAX = 20;

interface Ordering<Node> {
  /** Every reachable node, each after all nodes that it needs, except needs that close a cycle. */
  readonly order: readonly Node[];
  /** At most ten cycles. Each begins with one node and ends before the same node. */
  readonly cycles: readonly (readonly Node[])[];
}

interface Visit<Node> {
  readonly node: Node;
  readonly needs: Iterator<Node>;
}

/** Returns the nodes ordered by their needs. The order is deterministic. Nodes are compared by identity. */
export function dependencyOrder<Node>(nodes: Iterable<Node>, needsOf: (node: Node) => Iterable<Node>): Ordering<Node> {
  const order: Node[] = [];
  const cycles: (readonly Node[])[] = [];
  const seen = new Map<Node, 'open' | 'done'>();
  // An explicit stack instead of recursion: a chain may be longer than the runtime's stack allows.
  const path: Visit<Node>[] = [];
  function open(node: Node): void {
    seen.set(node, 'open');
    path.push({ node, needs: needsOf(node)[Symbol.iterator]() });
  }
  function close(node: Node): void {
    seen.set(node, 'done');
    path.pop();
    order.push(node);
  }
  for (const start of nodes) {
    if (!seen.has(start)) open(start);
    for (let visit = path.at(-1); visit !== undefined; visit = path.at(-1)) {
      const next = visit.needs.next();
      if (next.done === true) close(visit.node);
      else if (!seen.has(next.value)) open(next.value);
      else if (seen.get(next.value) === 'open' && cycles.length < CYCLES_MAX) cycles.push(cycleTo(next.value, path));
    }
  }
  return { order, cycles };
}

function cycleTo<Node>(node: Node, path: readonly Visit<Node>[]): readonly Node[] {
  const names = path.map((visit) => visit.node);
  return names.slice(names.lastIndexOf(node));
}

/** Returns a cycle for messages: `a → b → a`. Leaves out the middle of a very long one. */
export function printCycle(labels: readonly string[]): string {
  const loop = [...labels, ...labels.slice(0, 1)];
  if (loop.length <= CYCLE_SHOWN_MAX) return loop.join(' → ');
  const half = CYCLE_SHOWN_MAX / 2;
  return [...loop.slice(0, half), `… (${loop.length - CYCLE_SHOWN_MAX} more)`, ...loop.slice(-half)].join(' → ');
}
