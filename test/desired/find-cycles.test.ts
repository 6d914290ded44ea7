import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findCycles } from '../../src/desired/find-cycles.ts';

type Graph = Readonly<Record<string, readonly string[]>>;

function firstCycle(starts: readonly string[], next: (node: string) => readonly string[]) {
  const [cycle] = findCycles(starts, { next });
  return cycle;
}

function cycleIn(graph: Graph, starts: readonly string[] = Object.keys(graph)): readonly string[] | undefined {
  return firstCycle(starts, (node) => graph[node] ?? []);
}

describe('finds', () => {
  test.each<[string, Graph, readonly string[] | undefined]>([
    ['nothing in an empty graph', {}, undefined],
    ['nothing in a chain', { a: ['b'], b: ['c'] }, undefined],
    ['nothing where two ways lead to one node', { a: ['b', 'c'], b: ['d'], c: ['d'] }, undefined],
    ['a node that needs itself', { a: ['a'] }, ['a', 'a']],
    ['two that need one another', { a: ['b'], b: ['a'] }, ['a', 'b', 'a']],
    ['a circle without the way that leads to it', { a: ['b'], b: ['c'], c: ['d'], d: ['b'] }, ['b', 'c', 'd', 'b']],
    ['a circle behind a dead end', { a: ['b', 'c'], b: [], c: ['a'] }, ['a', 'c', 'a']],
  ])('%s', (_what, graph, cycle) => {
    expect(cycleIn(graph)).toEqual(cycle);
  });

  test('only what can be reached from where it starts', () => {
    const graph = { a: ['b'], b: [], c: ['d'], d: ['c'] };
    expect(cycleIn(graph, ['a'])).toBe(undefined);
    expect(cycleIn(graph, ['a', 'd'])).toEqual(['d', 'c', 'd']);
  });
});

test('looks at every node once, however many ways lead to it', () => {
  const asked: string[] = [];
  // Each of 40 layers of two needs both of the next: 2^40 ways.
  const next = (node: string): readonly string[] => {
    asked.push(node);
    const layer = Number.parseInt(node, 10);
    return layer === 40 ? [] : [`${layer + 1}a`, `${layer + 1}b`];
  };
  expect(firstCycle(['0a'], next)).toBe(undefined);
  expect(new Set(asked).size).toBe(asked.length);
});

test('a long chain is walked to its end', () => {
  const length = 20_000;
  const next = (node: string): readonly string[] => [String((Number(node) + 1) % length)];
  expect(firstCycle(['0'], next)).toHaveLength(length + 1);
  expect(firstCycle(['0'], (node) => (node === String(length) ? [] : [String(Number(node) + 1)]))).toBe(undefined);
});

const NODES = ['a', 'b', 'c', 'd', 'e', 'f'];
const anyGraph: fc.Arbitrary<Graph> = fc.record(
  Object.fromEntries(NODES.map((node) => [node, fc.subarray(NODES, { maxLength: 3 })])),
);

test('finds one exactly where a node can come back to itself, and what it finds is one', () => {
  fc.assert(
    fc.property(anyGraph, fc.subarray(NODES), (graph, starts) => {
      const cycle = cycleIn(graph, starts);
      const inReach = new Set([...starts, ...starts.flatMap((start) => [...afterOf(graph, start)])]);
      const hasCycle = [...inReach].some((node) => afterOf(graph, node).has(node));
      expect(cycle !== undefined).toBe(hasCycle);
      if (cycle === undefined) return;
      expect(cycle[0]).toBe(cycle.at(-1));
      expect(new Set(cycle).size).toBe(cycle.length - 1);
      for (const [position, node] of cycle.slice(0, -1).entries()) expect(graph[node]).toContain(cycle[position + 1]);
      expect(inReach).toContain(cycle[0]);
    }),
  );
});

/** Every node that one or more steps lead to, found the slow way: by taking steps until nothing is new. */
function afterOf(graph: Graph, start: string): ReadonlySet<string> {
  let found = new Set(graph[start]);
  for (let size = -1; found.size !== size; ) {
    size = found.size;
    found = new Set([...found, ...[...found].flatMap((node) => graph[node] ?? [])]);
  }
  return found;
}
