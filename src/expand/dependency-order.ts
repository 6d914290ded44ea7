// Sorts nodes by their dependencies, and finds cycles. It works on any kind of node.

const CYCLES_MAX = 10;
const CYCLE_SHOWN_MAX = 20;

interface Ordering<Node> {
  /** Every node that can be reached, each after all it needs, but for the needs that close a cycle. */
  readonly order: readonly Node[];
  /** Each from one node along its needs back to the same node, which is not repeated. At most ten of them. */
  readonly cycles: readonly (readonly Node[])[];
}

interface Visit<Node> {
  readonly node: Node;
  readonly needs: Iterator<Node>;
}

/** Returns an order of nodes by what they need, the same for the same input. Nodes are distinguished by identity. */
export function dependencyOrder<Node>(nodes: Iterable<Node>, needsOf: (node: Node) => Iterable<Node>): Ordering<Node> {
  const order: Node[] = [];
  const cycles: (readonly Node[])[] = [];
  const seen = new Map<Node, 'open' | 'done'>();
  // A path of our own instead of recursion: a chain may be longer than the runtime's stack.
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

/** Returns a cycle as an operator reads it: `a → b → a`, with the middle left out where it is very long. */
export function printCycle(labels: readonly string[]): string {
  const round = [...labels, ...labels.slice(0, 1)];
  if (round.length <= CYCLE_SHOWN_MAX) return round.join(' → ');
  const half = CYCLE_SHOWN_MAX / 2;
  return [...round.slice(0, half), `… (${round.length - CYCLE_SHOWN_MAX} more)`, ...round.slice(-half)].join(' → ');
}
