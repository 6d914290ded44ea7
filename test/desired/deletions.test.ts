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
      ...{ receiversOf: () => undetermined, holdOf: () => hold },
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
  'nothing that goes': { removed: {} },
  'as many as the limit': { removed: { shop: ['a', 'b'] } },
  'one more than the limit': { removed: { shop: ['a', 'b', 'c'] }, held: ['shop'] },
  'a limit of nothing': { removed: { shop: ['a'] }, facts: { limit: 0 }, held: ['shop'] },
  'instances that are over the limit together: all of them': {
    removed: { shop: ['a', 'b'], office: ['x'] },
    held: ['office', 'shop'],
  },
  'some that would go, after others within the hour': {
    removed: { shop: ['a'] },
    facts: { recent: 2 },
    held: ['shop'],
  },
  'some that are under way already, and too many beside them: both instances': {
    removed: { shop: ['a', 'b'] },
    facts: { underWay: underWay({ office: ['x'] }) },
    held: ['office', 'shop'],
  },
  'too many under way without a commit, as replacements are': {
    removed: {},
    facts: { underWay: underWay({ shop: ['a', 'b'], office: ['x'] }) },
    held: ['office', 'shop'],
  },
  'some under way that end with this commit, and too many beside them': {
    removed: { shop: ['a', 'b', 'c'] },
    facts: { underWay: underWay({ shop: ['d'], office: ['x', 'y'] }), goesOn: (server) => server === 'y' },
    held: ['office', 'shop'],
  },
  'some that have begun and are not over: these count once': {
    removed: { shop: ['a'] },
    facts: { underWay: underWay({ office: ['x'] }), recent: 1, isRecent: ({ server }) => server === 'x' },
  },
  'some that have begun, and end with this commit: these count': {
    removed: { shop: ['a'] },
    facts: {
      ...{ underWay: underWay({ office: ['x', 'y'] }), recent: 2, isRecent: ({ server }) => server !== 'a' },
      goesOn: () => false,
    },
    held: ['shop'],
  },
  'some that have begun, and are approved by now: these do not count': {
    removed: { shop: ['a', 'b'] },
    facts: {
      ...{ underWay: underWay({ office: ['x'] }), recent: 1, isRecent: ({ server }) => server === 'x' },
      isApproved: (one) => one === digest('x'),
    },
    approved: ['office'],
  },
  'some under way of an instance that retains its servers by now': {
    removed: { shop: ['a', 'b'] },
    facts: { underWay: underWay({ kept: ['x', 'y'] }) },
  },
  'servers of which some are recorded: only these': {
    removed: { shop: ['a', 'b', 'c'] },
    facts: { incarnationOf: (server) => (server === 'c' ? undefined : 1) },
  },
  'too many, all of them approved': {
    removed: { shop: ['a', 'b', 'c'] },
    facts: { isApproved: (one) => one === digest('a', 'b', 'c') },
    approved: ['shop'],
  },
  'an approval of fewer of them': {
    removed: { shop: ['a', 'b', 'c'] },
    facts: { isApproved: (one) => one === digest('a', 'b') },
    held: ['shop'],
  },
  'an approval of the building before': {
    removed: { shop: ['a', 'b', 'c'] },
    facts: { isApproved: (one) => one === digest('a', 'b', 'c'), incarnationOf: () => 2 },
    held: ['shop'],
  },
  'an approval of one of two, and too many in the other': {
    removed: { shop: ['a', 'b', 'c'], office: ['x', 'y', 'z'] },
    facts: { isApproved: (one) => one === digest('a', 'b', 'c') },
    held: ['office'],
    approved: ['shop'],
  },
  'an approval of what is within the limit': {
    removed: { shop: ['a'] },
    facts: { isApproved: () => true },
    approved: ['shop'],
  },
  'what is held, though time has passed and it would fit': {
    removed: { shop: ['a', 'b'] },
    facts: { heldBefore: heldBefore('shop', 'a', 'b') },
    held: ['shop'],
  },
  'what was held, and is less that fits by now': {
    removed: { shop: ['a'] },
    facts: { heldBefore: heldBefore('shop', 'a', 'b', 'c') },
    held: ['shop'],
  },
  'something else than what was held, which fits': {
    removed: { shop: ['d'] },
    facts: { heldBefore: heldBefore('shop', 'a', 'b', 'c') },
  },
  'what was held, under the name of another instance': {
    removed: { shop: ['a', 'b'] },
    facts: { heldBefore: heldBefore('office', 'a', 'b') },
  },
  'a trailer with enough': {
    removed: { shop: ['a', 'b', 'c'], office: ['x'] },
    facts: { approvedCount: 4 },
    approved: ['office', 'shop'],
  },
  'a trailer with too small a number': {
    removed: { shop: ['a', 'b', 'c'], office: ['x'] },
    facts: { approvedCount: 3 },
    held: ['office', 'shop'],
  },
  'a trailer with too small a number, within the limit': {
    removed: { shop: ['a', 'b'] },
    facts: { approvedCount: 1 },
  },
  'a trailer for what is held, and for what is under way': {
    removed: { shop: ['a', 'b', 'c'] },
    facts: {
      approvedCount: 4,
      heldBefore: heldBefore('shop', 'a', 'b', 'c'),
      underWay: underWay({ office: ['x'] }),
    },
    approved: ['office', 'shop'],
  },
  'a trailer beside an approval: what is approved already needs no number': {
    removed: { shop: ['a', 'b', 'c'], office: ['x', 'y', 'z'] },
    facts: { approvedCount: 3, isApproved: (one) => one === digest('a', 'b', 'c') },
    approved: ['office', 'shop'],
  },
  'a few that may be meant for a wrong instance: those of every instance': {
    removed: { shop: ['a'], office: ['x'] },
    undetermined: ['b'],
    held: ['office', 'shop'],
  },
  'some that may be meant for a wrong instance, and were never made': {
    removed: { shop: ['a'] },
    facts: { incarnationOf: () => undefined },
    undetermined: ['b'],
  },
  'some that are under way while another instance becomes wrong': {
    removed: {},
    facts: { underWay: underWay({ shop: ['a'] }) },
    undetermined: ['b'],
  },
  'one that may be meant for a wrong instance, and is approved': {
    removed: { shop: ['a'] },
    facts: { isApproved: (one) => one === digest('a') },
    undetermined: ['b'],
    approved: ['shop'],
  },
  'one that may be meant for a wrong instance, and a trailer': {
    removed: { shop: ['a'] },
    facts: { approvedCount: 1 },
    undetermined: ['b'],
    approved: ['shop'],
  },
  'one that was held for a wrong instance, though more goes with it now': {
    removed: { shop: ['a', 'c'] },
    facts: { heldBefore: heldForReceiver('shop', 'a') },
    held: ['shop'],
  },
  'others than those that were held for a wrong instance': {
    removed: { shop: ['c'] },
    facts: { heldBefore: heldForReceiver('shop', 'a') },
  },
};

describe('what is held of', () => {
  it.each(Object.entries(CASES))(
    '%s',
    (_name, { removed, facts, undetermined = [], hold, held = [], approved = [] }) => {
      const judgement = judge(removed, facts, { undetermined, hold });
      expect([...judgement.held.keys()].sort()).toEqual(held);
      expect([...judgement.approved].sort()).toEqual(approved);
    },
  );
});

test('a held instance is told with its servers, sorted, the digest of these, and the sum of all', () => {
  const facts = { underWay: underWay({ shop: ['b'] }), recent: 1 };
  expect(judge({ shop: ['c', 'a'], office: ['x'] }, facts).held.get('shop')).toEqual({
    digest: digest('a', 'b', 'c'),
    removals: removalsOf('a', 'b', 'c'),
    reason:
      'over all instances, 4 servers would be deleted or replaced without approval, and 1 were within the last hour; the limit is 2',
  });
});

test('what was handed in stays as it is', () => {
  const open = underWay({ shop: ['b'] });
  judge({ shop: ['c', 'a'] }, { underWay: open });
  expect(open).toEqual(underWay({ shop: ['b'] }));
});

it('never lets more go without a yes than the limit leaves', () => {
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

it('a digest is SHA-256 over sorted lines of name and incarnation', () => {
  const known = '34cf2346b0a56b0953de26ce7fd8adaefb71ef30a1da1ee192d44ebac24cb84a';
  expect([digest('b', 'a'), digest('a', 'b')]).toEqual([known, known]);
});

test('what may be meant for wrong instances is told with these, and keeps being told so', () => {
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
