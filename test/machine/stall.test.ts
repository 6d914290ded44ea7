import { describe, expect, test } from 'vitest';
import { findStalls, type Stall, type StallGraph } from '../../src/machine/stall.ts';
import type { State } from '../../src/model/state.ts';

type Servers = Readonly<Record<string, readonly [state: State, ...needs: (string | undefined)[]]>>;

interface Counted extends StallGraph {
  reads: number;
}

function graphOf(servers: Servers, own: Readonly<Record<string, Stall>> = {}): Counted {
  const graph: Counted = {
    reads: 0,
    stateOf: (server) => servers[server]?.[0],
    judgeStall: (server) => own[server],
    *needsOf(server) {
      for (const need of servers[server]?.slice(1) ?? []) {
        graph.reads += 1;
        yield need;
      }
    },
    isNeeded: (other, server) => servers[server]?.includes(other) ?? false,
  };
  return graph;
}

const GRAPH: Servers = {
  a: ['pending', 'b'],
  b: ['pending', undefined, 'done', 'c'],
  c: ['failed'],
  done: ['done'],
  free: ['pending'],
  running: ['creating', 'c'],
  late: ['pending', 'running'],
  both: ['pending', 'running', 'gone', 'c'],
  terminating: ['marked for delete', 'stuck'],
  stuck: ['blocked'],
  x: ['marked for delete', 'y'],
  y: ['marked for delete', 'x'],
  z: ['pending', 'x', 'stuck'],
};

describe('the stalls of servers that wait', () => {
  test.each<[servers: readonly string[], stalls: readonly Stall[] | undefined]>([
    [[], []],
    [['a'], ['failed']],
    [
      ['a', 'b'],
      ['failed', 'failed'],
    ],
    [['terminating'], ['blocked']],
    [
      ['a', 'terminating'],
      ['failed', 'blocked'],
    ],
    [['free'], undefined],
    [['a', 'free'], undefined],
    [['late'], undefined],
    [['both'], ['failed']],
    [['x'], undefined],
    [['z'], ['blocked']],
  ])('%j: %j', (servers, stalls) => {
    expect(findStalls(servers, graphOf(GRAPH))).toEqual(stalls);
  });

  test('come from what keeps a server apart from others, too', () => {
    expect(findStalls(['free', 'late'], graphOf(GRAPH, { free: 'blocked', late: 'failed' }))).toEqual([
      'blocked',
      'failed',
    ]);
  });
});

describe('the walk', () => {
  const LENGTH = 50_000;
  const names = Array.from({ length: LENGTH }, (_, index) => `s${index}`);
  const chain: Servers = Object.fromEntries(
    names.map((name, index) => [name, index === 0 ? ['failed'] : ['pending', `s${index - 1}`]]),
  );

  test('goes over each server once, and over chains of any length', () => {
    const graph = graphOf(chain);
    expect(findStalls(names.slice(1).reverse(), graph)).toEqual(Array(LENGTH - 1).fill('failed'));
    expect(graph.reads).toBe(LENGTH - 1);
  });

  test('finds the one for which many wait at once, among all that each of them needs', () => {
    const data = Array.from({ length: 500 }, (_, index) => `d${index}`);
    const webs = Array.from({ length: 1_000 }, (_, index) => `w${index}`);
    const graph = graphOf({
      ...Object.fromEntries(data.map((name, index) => [name, [index === 499 ? 'failed' : 'done']])),
      ...Object.fromEntries(webs.map((name) => [name, ['pending', ...data]])),
    });
    expect(findStalls(webs, graph)).toHaveLength(webs.length);
    expect(graph.reads).toBe(data.length);
  });

  test('ends with the first server that has no stall', () => {
    const graph = graphOf({ ...chain, free: ['pending'] });
    expect(findStalls(['free', ...names.slice(1)], graph)).toBeUndefined();
    expect(graph.reads).toBe(0);
  });

  test('gives up after so many looks', () => {
    const graph = graphOf(chain);
    expect(findStalls(names.slice(1), graph, 1_000)).toBeUndefined();
    expect(graph.reads).toBeLessThanOrEqual(1_001);
  });
});
