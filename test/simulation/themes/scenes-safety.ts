// Scenes in which deletes nobody meant are near: approvals, lifted protection and budgets that meet something else.
import type { Edit } from '../actions.ts';
import { PLAIN, TEMPLATE } from '../stacks.ts';
import { after, commit, INSTANCES, north, plain, removal, sceneTheme, set, type Theme, unreadName } from './theme.ts';

/** A write comes while something else that it draws on cannot be read. */
const writes = sceneTheme(
  'write beside what cannot be read',
  () => plain(['a', 'b'], { web: 1 }),
  (chance) => [
    commit({ path: TEMPLATE, spoil: chance.pick(['link', 'submodule', 'folder', 'yml']) }),
    after(20_000, { kind: 'put', instance: chance.pick(['a', 'b']), set: { size: chance.pick(['2', '3']) } }),
    after(20_000, commit({ path: TEMPLATE, is: 'corrected' })),
  ],
);

/** Somebody merges their own branch; or the branch into their own and pushes that: what was followed comes in from the side. */
const pulls = sceneTheme(
  'the branch is merged into a side',
  () => plain(['a', 'b'], { web: 3, protected: true }),
  (chance) => [
    after(60_000, { kind: 'side', side: 's', edits: [set('a', { protected: false })] }),
    commit(set('b', { size: chance.pick(['2', '3']) })),
    after(60_000, {
      kind: 'merge',
      side: 's',
      edits: [set('a', { web: 1 + chance.below(3) })],
      isPulled: chance.is(0.5),
    }),
  ],
);

/** Protection is lifted and many servers are taken away in one push, and a person says yes. */
const lifts = sceneTheme(
  'a lift waits for a yes',
  () => plain(['a', 'b'], { web: 3, db: true, protected: true }),
  (chance) => {
    const instance = chance.pick(['a', 'b']);
    return [
      after(60_000, commit(set(instance, { protected: false }))),
      after(0, commit(set(instance, { web: 0, db: false }))),
      after(60_000, { kind: 'approve all' }),
    ];
  },
);

/** A replacement begins while a commit that takes servers away is being read. */
const replacements = sceneTheme(
  'a replacement meets a commit',
  () => plain(['a', 'b', 'c'], { web: 2 }),
  (chance) => [
    north('lying'),
    after(4_000_000, commit(set('a', { size: chance.pick(['2', '3', '4']) }))),
    after(chance.below(4_000), commit(set(chance.pick(['b', 'c']), { web: 0 }))),
  ],
);

/** A person says yes just before the controller dies. */
const cutYes = sceneTheme(
  'a yes before a crash',
  () => plain(['a', 'b'], { web: 4 }),
  (chance) => [
    after(60_000, commit(set(chance.pick(['a', 'b']), { web: 0 }))),
    after(60_000, { kind: 'approve', pick: 0 }),
    after(10 + chance.below(200), { kind: 'stop', loses: 'nothing', downMs: 0 }),
  ],
);

/** A person says yes while the commit comes that needs none any more. */
const lateYes = sceneTheme(
  'a yes for what is not held any more',
  () => plain(['a', 'b'], { web: 4 }),
  (chance) => {
    const instance = chance.pick(['a', 'b']);
    return [
      after(60_000, commit(set(instance, { web: 0 }))),
      after(60_000, commit(set(instance, { web: 4 }))),
      after(0, { kind: 'poll' }),
      after(chance.below(400), { kind: 'approve', pick: 0 }),
    ];
  },
  // The moment at which it matters is short.
  { times: (chance) => 3 + chance.below(4) },
);

/** The history is rewritten, and nothing is left. */
const nothingLeft = sceneTheme(
  'rewritten, and nothing is left',
  () => plain(['a', 'b'], { web: 1 }),
  (chance) => {
    const edits = INSTANCES.map((name) => ({ path: `stacks/instances/${name}.yaml`, is: 'removed' as const }));
    return [
      commit(set('a', { size: chance.pick(['2', '3']) })),
      after(60_000, { kind: 'rewrite', back: 1, edits }),
      after(60_000, { kind: 'approve all' }),
    ];
  },
);

/** Somebody depends on a server that a protected instance was to lose. */
const needed = sceneTheme(
  'a protected server is needed',
  () => [...plain(['a'], { web: 1, db: true, protected: true }), ...plain(['b'], { web: 1, webNeeds: 'a-db' })],
  (chance) => [
    after(60_000, commit(set('a', { db: false }), set('b', { size: chance.pick(['2', '3', '4']) }))),
    after(60_000, chance.is(0.3) ? removal('b') : commit(set('a', { db: true }))),
  ],
);

/** The local copy is lost while the history is rewritten, so that the followed commit is nowhere any more. */
const lostHistory = sceneTheme(
  'a lost copy and a rewritten history',
  () => [...plain(['a'], { web: 3, db: true, protected: true }), ...plain(['b', 'c'], { web: 2, db: true })],
  (chance) => {
    const edits: Edit[] = [set('a', { web: chance.below(4) }), set('b', { web: chance.below(3), db: chance.is(0.5) })];
    if (chance.is(0.3)) edits.push({ path: 'stacks/instances/c.yaml', is: 'removed' });
    return [
      after(60_000, commit(set(chance.pick(['b', 'c']), { size: chance.pick(['2', '3', '4']) }))),
      after(chance.below(60_000), { kind: 'stop', loses: 'copy', downMs: 20_000 }),
      after(chance.below(20_000), { kind: 'rewrite', back: 1, edits }),
      after(chance.below(90_000), { kind: 'accept history' }),
      after(chance.below(2_000), { kind: 'stop', loses: chance.pick(['nothing', 'copy']), downMs: 0 }),
      after(60_000, { kind: chance.pick(['accept history', 'approve all']) }),
    ];
  },
);

/** A server goes with the commit that makes another instance wrong, or renames one; then one more goes. */
const wrongTakers = sceneTheme(
  'a server goes beside a wrong instance',
  () => plain(['a', 'b', 'c'], { web: 2 }),
  (chance) => {
    const giver = chance.pick(['a', 'b']);
    const receiver = chance.pick(['c', 'd']);
    const slip = chance.is(0.6)
      ? [set(giver, { web: 1 }), set(receiver, { template: 'stak', size: chance.pick(['1', '2', '3']) })]
      : [{ instance: giver, name: unreadName(chance, 'd') }];
    return [
      after(60_000, commit(...slip)),
      after(60_000, chance.is(0.3) ? { kind: 'stop', loses: 'nothing', downMs: 0 } : { kind: 'poll' }),
      after(60_000, commit(set(giver, { web: 0 }))),
    ];
  },
  { times: (chance) => 1 + chance.below(2) },
);

/** An instance is wrong, and later another one makes fewer servers. */
const knownWrong = sceneTheme(
  'an instance is wrong already',
  () => plain(['a', 'b'], { web: 2 }),
  (chance) => [
    after(60_000, commit(set(chance.pick(['c', 'd']), { template: 'stak', size: chance.pick(['1', '2', '3']) }))),
    after(60_000, chance.is(0.5) ? { kind: 'stop', loses: 'nothing', downMs: 0 } : { kind: 'poll' }),
    after(60_000, commit(set(chance.pick(['a', 'b']), { web: 1 }))),
  ],
);

/** Servers of a protected instance are handed to another one, which may not be protected, or be held for what it loses. */
const protectedGivers = sceneTheme(
  'a protected instance hands over',
  () => [...plain(['a', 'b'], { web: 2, protected: true }), ...plain(['d'], { web: 3 })],
  (chance) => {
    const from = chance.pick(['a', 'b']);
    const lift = chance.is(0.5) ? [after(0, commit(set(from, { protected: false })))] : [];
    const shape = { protected: chance.is(0.3), size: chance.pick(['1', '2']) };
    return [
      after(60_000, north(chance.pick(['well', 'lying']))),
      ...lift,
      after(0, commit({ instance: chance.pick(['c', 'd']), from, set: shape })),
      after(60_000, { kind: 'approve all' }),
    ];
  },
);

/** New servers that were checked at one site, and wait for another server, move to the other site. */
const moved = sceneTheme(
  'new servers move to another site',
  () => plain(['a'], { web: 1, db: true }),
  (chance) => {
    const instance = chance.pick(['b', 'c', 'd']);
    const shape = { ...PLAIN, prefix: instance, webNeeds: 'a-db', site: 'south' };
    return [
      after(60_000, north('sluggish')),
      after(0, commit(set('a', { size: chance.pick(['2', '3', '4']) }), set(instance, shape))),
      after(chance.pick([1_000, 5_000, 10_000]), commit(set(instance, { site: 'north' }))),
      after(60_000, north('well')),
    ];
  },
);

/** Returns the scenes. */
export const SAFETY_SCENES: readonly Theme[] = [
  ...[writes, pulls, lifts, replacements, cutYes, lateYes, nothingLeft, needed, lostHistory],
  ...[wrongTakers, knownWrong, protectedGivers, moved],
];
