// The delete budget by itself: what would go and what is known go in, what is held and what is approved come out.

import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  type DeleteJudgement,
  type DeletionFacts,
  type HeldBefore,
  judgeDeletions,
} from '../../src/desired/deletions.ts';
import { deletesDigest } from '../../src/machine/hold-digests.ts';
import { deletionFacts, removalsOf } from './facts.ts';

type Removed = Readonly<Record<string, readonly string[]>>;

function judge(
  removed: Removed,
  facts: Partial<DeletionFacts> = {},
  { undetermined = [], hold }: { readonly undetermined?: readonly string[]; readonly hold?: string | undefined } = {},
): DeleteJudgement {
  return judgeDeletions(
    {
      removed: new Map(Object.entries(removed)),
      versionsFor: () => ({ specOf: () => undefined, retains: (it) => it === 'kept', isPinned: () => false }),
      receiversOf: () => undetermined,
      holdOf: () => hold,
    },
    deletionFacts(facts),
  );
}

function underWay(removals: Removed): DeletionFacts['underWay'] {
  return new Map(Object.entries(removals).map(([instance, servers]) => [instance, removalsOf(...servers)]));
}

/** An approval, or an earlier hold, of these servers. */
function digest(...servers: readonly string[]): string {
  return deletesDigest(removalsOf(...servers));
}

function heldBefore(instance: string, ...servers: readonly string[]): ReadonlyMap<string, HeldBefore> {
  return new Map([[instance, { digest: digest(...servers), servers, reason: 'because' }]]);
}

/** Held until now as they may be meant for a wrong instance. */
function heldForReceiver(instance: string, ...servers: readonly string[]): ReadonlyMap<string, HeldBefore> {
  const before = { digest: digest(...servers), servers, reason: '"b" is wrong', isHandOver: true };
  return new Map([[instance, before]]);
}

interface Case {
  readonly removed: Removed;
  /** Instances that are wrong in this commit, so that nobody can tell what they make. */
  readonly undetermined?: readonly string[];
  readonly hold?: string;
  readonly facts?: Partial<DeletionFacts>;
  /** Names of the instances. */
  readonly held?: readonly string[];
  readonly approved?: readonly string[];
}

// The limit is 2 in all of them.
const CASES: Readonly<Record<string, Case>> = {
  'no delete': { removed: {} },
  'as many deletes as the limit': { removed: { shop: ['a', 'b'] } },
  'one delete more than the limit': { removed: { shop: ['a', 'b', 'c'] }, held: ['shop'] },
  'one delete with a limit of 0': { removed: { shop: ['a'] }, facts: { limit: 0 }, held: ['shop'] },
  'all instances that exceed the limit together': {
    removed: { shop: ['a', 'b'], office: ['x'] },
    held: ['office', 'shop'],
  },
  'a delete after other deletes within the hour': {
    removed: { shop: ['a'] },
    facts: { recent: 2 },
    held: ['shop'],
  },
  'both instances if new deletes and those under way exceed the limit': {
    removed: { shop: ['a', 'b'] },
    facts: { underWay: underWay({ office: ['x'] }) },
    held: ['office', 'shop'],
  },
  'replacements under way that exceed the limit without a commit': {
    removed: {},
    facts: { underWay: underWay({ shop: ['a', 'b'], office: ['x'] }) },
    held: ['office', 'shop'],
  },
  'too many deletes besides deletes under way that this commit ends': {
    removed: { shop: ['a', 'b', 'c'] },
    facts: { underWay: underWay({ shop: ['d'], office: ['x', 'y'] }), isContinued: (server) => server === 'y' },
    held: ['office', 'shop'],
  },
  'a delete under way once, although it also counts as recent': {
    removed: { shop: ['a'] },
    facts: { underWay: underWay({ office: ['x'] }), recent: 1, isRecent: ({ server }) => server === 'x' },
  },
  'deletes that began and end with this commit': {
    removed: { shop: ['a'] },
    facts: {
      underWay: underWay({ office: ['x', 'y'] }),
      recent: 2,
      isRecent: ({ server }) => server !== 'a',
      isContinued: () => false,
    },
    held: ['shop'],
  },
  'no deletes that were approved after they began': {
    removed: { shop: ['a', 'b'] },
    facts: {
      underWay: underWay({ office: ['x'] }),
      recent: 1,
      isRecent: ({ server }) => server === 'x',
      isApproved: (one) => one === digest('x'),
    },
    approved: ['office'],
  },
  'no deletes under way of an instance that now retains its servers': {
    removed: { shop: ['a', 'b'] },
    facts: { underWay: underWay({ kept: ['x', 'y'] }) },
  },
  'only recorded servers': {
    removed: { shop: ['a', 'b', 'c'] },
    facts: { incarnationOf: (server) => (server === 'c' ? undefined : 1) },
  },
  'too many deletes that are all approved': {
    removed: { shop: ['a', 'b', 'c'] },
    facts: { isApproved: (one) => one === digest('a', 'b', 'c') },
    approved: ['shop'],
  },
  'more deletes than were approved': {
    removed: { shop: ['a', 'b', 'c'] },
    facts: { isApproved: (one) => one === digest('a', 'b') },
    held: ['shop'],
  },
  'deletes approved for an earlier incarnation': {
    removed: { shop: ['a', 'b', 'c'] },
    facts: { isApproved: (one) => one === digest('a', 'b', 'c'), incarnationOf: () => 2 },
    held: ['shop'],
  },
  'only the instance without approval': {
    removed: { shop: ['a', 'b', 'c'], office: ['x', 'y', 'z'] },
    facts: { isApproved: (one) => one === digest('a', 'b', 'c') },
    held: ['office'],
    approved: ['shop'],
  },
  'approved deletes within the limit': {
    removed: { shop: ['a'] },
    facts: { isApproved: () => true },
    approved: ['shop'],
  },
  'a hold that would fit the limit after a while': {
    removed: { shop: ['a', 'b'] },
    facts: { heldBefore: heldBefore('shop', 'a', 'b') },
    held: ['shop'],
  },
  'a hold whose deletes became fewer than the limit': {
    removed: { shop: ['a'] },
    facts: { heldBefore: heldBefore('shop', 'a', 'b', 'c') },
    held: ['shop'],
  },
  'other deletes than the held ones': {
    removed: { shop: ['d'] },
    facts: { heldBefore: heldBefore('shop', 'a', 'b', 'c') },
  },
  'held deletes that another instance now owns': {
    removed: { shop: ['a', 'b'] },
    facts: { heldBefore: heldBefore('office', 'a', 'b') },
  },
  'deletes that a trailer approves': {
    removed: { shop: ['a', 'b', 'c'], office: ['x'] },
    facts: { approvedCount: 4 },
    approved: ['office', 'shop'],
  },
  'more deletes than a trailer approves': {
    removed: { shop: ['a', 'b', 'c'], office: ['x'] },
    facts: { approvedCount: 3 },
    held: ['office', 'shop'],
  },
  'deletes within the limit although a trailer approves fewer': {
    removed: { shop: ['a', 'b'] },
    facts: { approvedCount: 1 },
  },
  'held deletes and deletes under way that a trailer approves': {
    removed: { shop: ['a', 'b', 'c'] },
    facts: {
      approvedCount: 4,
      heldBefore: heldBefore('shop', 'a', 'b', 'c'),
      underWay: underWay({ office: ['x'] }),
    },
    approved: ['office', 'shop'],
  },
  'approved deletes, which do not count for a trailer': {
    removed: { shop: ['a', 'b', 'c'], office: ['x', 'y', 'z'] },
    facts: { approvedCount: 3, isApproved: (one) => one === digest('a', 'b', 'c') },
    approved: ['office', 'shop'],
  },
  'servers of all instances that an invalid instance may take over': {
    removed: { shop: ['a'], office: ['x'] },
    undetermined: ['b'],
    held: ['office', 'shop'],
  },
  'no servers that were never created, although an invalid instance may take them over': {
    removed: { shop: ['a'] },
    facts: { incarnationOf: () => undefined },
    undetermined: ['b'],
  },
  'no deletes under way when another instance becomes invalid': {
    removed: {},
    facts: { underWay: underWay({ shop: ['a'] }) },
    undetermined: ['b'],
  },
  'an approved delete of a server that an invalid instance may take over': {
    removed: { shop: ['a'] },
    facts: { isApproved: (one) => one === digest('a') },
    undetermined: ['b'],
    approved: ['shop'],
  },
  'a delete approved by a trailer of a server that an invalid instance may take over': {
    removed: { shop: ['a'] },
    facts: { approvedCount: 1 },
    undetermined: ['b'],
    approved: ['shop'],
  },
  'a hold for an invalid instance with one more delete': {
    removed: { shop: ['a', 'c'] },
    facts: { heldBefore: heldForReceiver('shop', 'a') },
    held: ['shop'],
  },
  'no other servers than those held for an invalid instance': {
    removed: { shop: ['c'] },
    facts: { heldBefore: heldForReceiver('shop', 'a') },
  },
};

describe('judgeDeletions judges', () => {
  it.each(Object.entries(CASES))(
    '%s',
    (_name, { removed, facts, undetermined = [], hold, held = [], approved = [] }) => {
      const judgement = judge(removed, facts, { undetermined, hold });
      expect([...judgement.held.keys()].sort()).toEqual(held);
      expect([...judgement.approved].sort()).toEqual(approved);
    },
  );
});

test('a hold has the sorted servers, their digest, and the sum of all deletes as its reason', () => {
  const facts = { underWay: underWay({ shop: ['b'] }), recent: 1 };
  expect(judge({ shop: ['c', 'a'], office: ['x'] }, facts).held.get('shop')).toEqual({
    digest: digest('a', 'b', 'c'),
    removals: removalsOf('a', 'b', 'c'),
    reason:
      'over all instances, 4 servers would be deleted or replaced without approval, and 1 were within the last hour; the limit is 2',
  });
});

test('judgeDeletions does not change its arguments', () => {
  const open = underWay({ shop: ['b'] });
  judge({ shop: ['c', 'a'] }, { underWay: open });
  expect(open).toEqual(underWay({ shop: ['b'] }));
});

it('judgeDeletions never exceeds the limit without an approval', () => {
  const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'), { maxLength: 7 });
  const numbers = fc.record({ limit: fc.nat(4), recent: fc.nat(4), parts: fc.integer({ min: 1, max: 3 }) });
  fc.assert(
    fc.property(names, numbers, fc.boolean(), (servers, { limit, recent, parts }, isApproved) => {
      const removed = Object.fromEntries(
        Array.from({ length: parts }, (_, part) => [`i${part}`, servers.filter((_name, at) => at % parts === part)]),
      );
      const facts = { limit, recent, isApproved: (one: string) => isApproved && one === digest(...(removed.i0 ?? [])) };
      const { held, approved } = judge(removed, facts);
      const going = Object.entries(removed).filter(([instance]) => !held.has(instance) && !approved.has(instance));
      const count = going.flatMap(([, some]) => some).length;
      expect(count).toBeLessThanOrEqual(Math.max(0, limit - recent));
    }),
  );
});

it('deletesDigest is SHA-256 over sorted lines of name and incarnation', () => {
  const known = '34cf2346b0a56b0953de26ce7fd8adaefb71ef30a1da1ee192d44ebac24cb84a';
  expect([digest('b', 'a'), digest('a', 'b')]).toEqual([known, known]);
});

test('a hold for invalid instances names them, and keeps its reason', () => {
  const names = ['b', 'c', 'd', 'e', 'f', 'g', 'h'];
  const { held } = judge({ shop: ['a'] }, {}, { undetermined: names });
  expect(held.get('shop')).toMatchObject({
    reason:
      '"b", "c", "d", "e", "f" and 2 more are wrong in the commit that takes these servers away, and may be what takes them over: correct them, or approve the deletes',
    isHandOver: true,
  });
  expect(judge({ shop: ['a'] }, {}, { undetermined: ['b'] }).held.get('shop')?.reason).toBe(
    '"b" is wrong in the commit that takes these servers away, and may be what takes them over: correct it, or approve the deletes',
  );
  const later = judge({ shop: ['a'] }, { heldBefore: heldForReceiver('shop', 'a') });
  expect(later.held.get('shop')).toMatchObject({ reason: '"b" is wrong', isHandOver: true });
});
