import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dependencyOrder, printCycle } from '../../src/expand/dependency-order.ts';

type Graph = Readonly<Record<string, readonly string[]>>;

function orderOf(graph: Graph): ReturnType<typeof dependencyOrder<string>> {
  return dependencyOrder(Object.keys(graph), (node) => graph[node] ?? []);
}

describe('dependencyOrder', () => {
  test.each<[graph: Graph, order: readonly string[]]>([
    [{}, []],
    [{ a: [], b: [] }, ['a', 'b']],
    [{ a: ['b'], b: ['c'], c: [] }, ['c', 'b', 'a']],
    [{ a: ['b', 'c'], b: ['c'], c: [] }, ['c', 'b', 'a']],
    [{ a: ['elsewhere'] }, ['elsewhere', 'a']],
  ])('%j', (graph, order) => {
    expect(orderOf(graph)).toEqual({ order, cycles: [] });
  });

  test.each<[graph: Graph, cycles: readonly (readonly string[])[]]>([
    [{ a: ['a'] }, [['a']]],
    [{ a: ['b'], b: ['a'] }, [['a', 'b']]],
    [{ x: ['a'], a: ['b'], b: ['c'], c: ['a'] }, [['a', 'b', 'c']]],
    [{ a: ['a'], b: ['c'], c: ['b'] }, [['a'], ['b', 'c']]],
  ])('reports the cycle %j', (graph, cycles) => {
    expect(orderOf(graph).cycles).toEqual(cycles);
  });

  test('reports at most ten cycles', () => {
    const graph = Object.fromEntries(Array.from({ length: 50 }, (_, node) => [`n${node}`, [`n${node}`]]));
    expect(orderOf(graph).cycles).toHaveLength(10);
  });

  test('follows a chain that is longer than the call stack', () => {
    const { order } = dependencyOrder([0], (node) => (node < 200_000 ? [node + 1] : []));
    expect(order).toHaveLength(200_001);
    expect(order[0]).toBe(200_000);
  });

  test('puts each item after its dependencies', () => {
    const edges = fc.array(fc.tuple(fc.nat(20), fc.nat(20)), { maxLength: 60 });
    fc.assert(
      fc.property(edges, (pairs) => {
        const needs = (node: number): number[] =>
          pairs.filter(([from, to]) => from === node && to < from).map(([, to]) => to);
        const { order, cycles } = dependencyOrder(Array.from({ length: 21 }).keys(), needs);
        expect(cycles).toEqual([]);
        expect(order).toHaveLength(21);
        for (const [position, node] of order.entries()) {
          for (const need of needs(node)) expect(order.indexOf(need)).toBeLessThan(position);
        }
      }),
    );
  });
});

describe('printCycle', () => {
  test('omits the middle of a long cycle', () => {
    const printed = printCycle(Array.from({ length: 30 }, (_, node) => `n${node}`));
    expect(printed).toContain('n9 → … (11 more) → n21');
    expect(printed.startsWith('n0 → n1 →')).toBe(true);
    expect(printed.endsWith('n29 → n0')).toBe(true);
  });
});
