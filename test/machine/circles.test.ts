import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { circleWords, findCircles, type GroupSlots, type WaitGraph } from '../../src/machine/circles.ts';
import type { Wait } from '../../src/machine/wait.ts';

function depends(server: string): Wait {
  return { kind: 'dependency', server };
}

function isNeededBy(server: string): Wait {
  return { kind: 'holder', server };
}

function slotOf(group: string): Wait {
  return { kind: 'slot', group, until: undefined };
}

const CAPACITY: Wait = { kind: 'capacity', provider: 'lab', instance: 'i' };

function graphOf(waits: Readonly<Record<string, Wait>>, groups: Readonly<Record<string, GroupSlots>> = {}): WaitGraph {
  return { waitOf: (server) => waits[server], slotsOf: (group) => groups[group] ?? { occupants: [], missing: 0 } };
}

/** The servers of every circle, the one that goes first at the beginning. */
function circlesIn(
  waits: Readonly<Record<string, Wait>>,
  groups: Readonly<Record<string, GroupSlots>> = {},
): string[][] {
  const circles = findCircles(Object.keys(waits), graphOf(waits, groups));
  return circles.map(({ links }) => links.map(({ server }) => server));
}

describe('a circle', () => {
  it('of deletes is broken at the smallest name, and those that lead to it go on too', () => {
    const waits = { c: isNeededBy('b'), b: isNeededBy('d'), d: isNeededBy('b'), x: isNeededBy('y') };
    expect(circlesIn(waits)).toEqual([['b', 'd']]);
  });

  it('with a wait for a slot is broken at the smallest of these', () => {
    const waits = {
      a: depends('web-2'),
      'web-1': slotOf('web'),
      'web-2': depends('link-2'),
      'link-2': depends('web-1'),
    };
    expect(circlesIn(waits, { web: { occupants: ['web-2'], missing: 1 } })).toEqual([['web-1', 'web-2', 'link-2']]);
  });

  it('of two groups is broken once', () => {
    const waits = { 'a-1': slotOf('a'), 'a-2': depends('b-1'), 'b-1': slotOf('b'), 'b-2': depends('a-1') };
    const groups = { a: { occupants: ['a-2'], missing: 1 }, b: { occupants: ['b-2'], missing: 1 } };
    expect(circlesIn(waits, groups)).toEqual([['a-1', 'a-2', 'b-1', 'b-2']]);
  });

  it('is none where one of those that occupy the slots can come back', () => {
    const waits = { 'web-1': slotOf('web'), 'web-2': depends('web-1'), 'web-3': CAPACITY };
    const occupants = ['web-2', 'web-3'];
    expect(circlesIn(waits, { web: { occupants, missing: 1 } })).toEqual([]);
    expect(circlesIn(waits, { web: { occupants, missing: 2 } })).toEqual([['web-1', 'web-2']]);
  });

  it('is none where a chain ends at a person, a time, or nobody', () => {
    const person: Wait = { kind: 'instance', instance: 'i', until: Number.POSITIVE_INFINITY };
    expect(circlesIn({ a: depends('b'), b: depends('c'), c: person })).toEqual([]);
    expect(circlesIn({ a: depends('b'), b: { kind: 'time', until: 1 }, c: depends('gone') })).toEqual([]);
    expect(circlesIn({ a: slotOf('g') }, { g: { occupants: [], missing: 0 } })).toEqual([]);
  });

  it('is told in words', () => {
    const waits = { a: slotOf('i/web'), b: depends('c'), c: isNeededBy('a') };
    const [circle] = findCircles(['c'], graphOf(waits, { 'i/web': { occupants: ['b'], missing: 1 } }));
    expect(circle && circleWords(circle)).toBe(
      'a waits for a slot of i/web, which b occupies; b waits for c, on which it depends; c waits for a, which still needs it',
    );
  });
});

it('a long one is found without a deep stack, and cut short in words', () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `s-${index}`);
  const waits = Object.fromEntries(names.map((name, at) => [name, isNeededBy(names[at + 1] ?? 's-0')]));
  const [circle, ...others] = findCircles(['s-5'], graphOf(waits));
  expect(circle?.links).toHaveLength(20_000);
  expect(others).toEqual([]);
  expect(circle && circleWords(circle)).toMatch(/^s-0 waits for s-1, .*; and 19994 more$/);
});

const SEVERAL = {
  waits: { g: isNeededBy('f'), b: depends('g'), a: slotOf('g2'), f: slotOf('g2'), c: slotOf('g1') },
  groups: {
    g1: { occupants: ['b', 'a', 'e', 'c'], missing: 4 },
    g2: { occupants: ['f', 'h', 'b', 'c'], missing: 4 },
  },
};

it('of each set of waits, all can end once those go first that it says', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  const server = fc.constantFrom(...names);
  const wait = fc.oneof(
    server.map(depends),
    server.map(isNeededBy),
    fc.constantFrom('g1', 'g2').map(slotOf),
    fc.constant(CAPACITY),
  );
  const slots = fc
    .uniqueArray(server, { maxLength: 4 })
    .chain((occupants) =>
      fc.record({ occupants: fc.constant(occupants), missing: fc.integer({ min: 0, max: occupants.length }) }),
    );
  const all = fc.record({ waits: fc.dictionary(server, wait), groups: fc.record({ g1: slots, g2: slots }) });
  fc.assert(
    fc.property(all, ({ waits, groups }) => {
      const first = findCircles(Object.keys(waits), graphOf(waits, groups)).map(({ links }) => links[0].server);
      const left = canNeverEnd(waits, groups, new Set(first));
      expect(left).toEqual([]);
      expect(first.length > 0).toBe(canNeverEnd(waits, groups, new Set()).length > 0);
      expect(new Set(first).size).toBe(first.length);
    }),
    // One in which a server is part of several circles by the slots that it waits for.
    { numRuns: 500, examples: [[SEVERAL]] },
  );
});

/** Takes away one server after the other whose wait can end; returns who is left. */
function canNeverEnd(
  waits: Readonly<Record<string, Wait>>,
  groups: Readonly<Record<string, GroupSlots>>,
  first: ReadonlySet<string>,
): string[] {
  const left = new Set(Object.keys(waits).filter((name) => !first.has(name)));
  const isFree = (name: string): boolean => {
    const wait = waits[name];
    if (wait?.kind === 'dependency' || wait?.kind === 'holder') return !left.has(wait.server);
    if (wait?.kind !== 'slot') return true;
    const { occupants, missing } = groups[wait.group] ?? { occupants: [], missing: 0 };
    return [...occupants].filter((occupant) => !left.has(occupant)).length >= missing;
  };
  for (let size = -1; size !== left.size; ) {
    size = left.size;
    for (const name of left) if (isFree(name)) left.delete(name);
  }
  return [...left];
}
