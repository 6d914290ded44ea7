// Finds cycles in a graph that is given as a function. Uses its own stack, so depth is limited by memory only.

interface Graph {
  readonly next: (node: string) => readonly string[];
  /** Returns true for a node that was removed from the graph during the search; default: none is. */
  readonly isGone?: (node: string) => boolean;
}

/**
 * Yields cycles reachable from `starts`, each in order and closed (`a, b, a`). The caller may remove nodes after each one: no later
 * cycle contains them. Every cycle that remains at the end was yielded, or shares an edge with one that was.
 */
export function* findCycles(
  starts: Iterable<string>,
  { next, isGone = () => false }: Graph,
): Generator<readonly string[]> {
  const finished = new Set<string>();
  for (const start of starts) {
    if (!finished.has(start) && !isGone(start)) yield* walk(start, { next, isGone, finished });
  }
}

interface Search extends Required<Graph> {
  readonly finished: Set<string>;
}

function* walk(start: string, { next, isGone, finished }: Search): Generator<readonly string[]> {
  const path = new Path(start, next);
  for (let step = path.step(); step !== undefined; step = path.step()) {
    if (step.done === true) finished.add(path.pop());
    else if (path.has(step.value)) {
      yield path.cycleTo(step.value);
      path.cutAt(isGone);
    } else if (!finished.has(step.value) && !isGone(step.value)) path.push(step.value);
  }
}

/** The nodes from the start to the current one, each with its successors that are still to be visited. */
class Path {
  readonly #next: Graph['next'];
  readonly #nodes: { readonly node: string; readonly steps: Iterator<string, unknown> }[] = [];
  readonly #positions = new Map<string, number>();

  constructor(start: string, next: Graph['next']) {
    this.#next = next;
    this.push(start);
  }

  has(node: string): boolean {
    return this.#positions.has(node);
  }

  push(node: string): void {
    this.#positions.set(node, this.#nodes.length);
    this.#nodes.push({ node, steps: this.#next(node)[Symbol.iterator]() });
  }

  pop(): string {
    const node = this.#nodes.pop()?.node ?? '';
    this.#positions.delete(node);
    return node;
  }

  /** Returns the next step from the current node; undefined: the path has ended. */
  step(): IteratorResult<string, unknown> | undefined {
    return this.#nodes.at(-1)?.steps.next();
  }

  cycleTo(node: string): string[] {
    return [...this.#nodes.slice(this.#positions.get(node)).map((visit) => visit.node), node];
  }

  /** Cuts the path before its first removed node. */
  cutAt(isGone: (node: string) => boolean): void {
    const at = this.#nodes.findIndex(({ node }) => isGone(node));
    while (at !== -1 && this.#nodes.length > at) this.pop();
  }
}
