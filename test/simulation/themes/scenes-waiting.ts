// Scenes in which servers wait for one another, or for somebody who does not come.
import { PLAIN, TEMPLATE } from '../stacks.ts';
import { after, commit, north, plain, removal, sceneTheme, set, type Theme } from './theme.ts';

/** A server that differs from what is wanted needs another one no longer, which is to go. */
const drifting = sceneTheme(
  'a drifted server needs another no more',
  () => plain(['a'], { web: 1 }),
  (chance) => {
    const instance = chance.pick(['b', 'c', 'd']);
    const shape = { ...PLAIN, prefix: instance, web: 1, db: true, webNeeds: 'db', adopt: true };
    return [
      { kind: 'stranger', name: `${instance}-web-1`, site: 'north' },
      after(0, commit(set(instance, shape))),
      after(60_000, commit(set(instance, { db: false, webNeeds: '' }))),
    ];
  },
);

/** A dependency is turned round while one of the two cannot follow, and then both are to go. */
const turned = sceneTheme(
  'a dependency is turned round',
  () => plain(['a', 'b', 'c'], { web: 1, db: true, webNeeds: 'db' }),
  (chance) => {
    const instance = chance.pick(['a', 'b', 'c']);
    return [
      after(60_000, north('broken')),
      after(0, commit(set(instance, { webNeeds: '', dbNeeds: 'web', small: false }))),
      after(30_000, removal(instance)),
      after(chance.pick([0, 3_000, 20_000]), north('well')),
    ];
  },
);

/** A member of a group fails; then everything changes, across groups. */
const crossed = sceneTheme(
  'a roll-out across groups',
  () => plain(['a', 'b'], { web: 2, links: true }),
  (chance) => [
    after(60_000, commit(set(chance.pick(['a', 'b']), { small: false }))),
    after(0, { kind: 'poll' }),
    after(chance.below(4_000), north('broken')),
    after(20_000, commit({ path: TEMPLATE, value: chance.pick(['1', '2', '3', '4']) })),
    after(chance.pick([0, 3_000]), north('well')),
  ],
);

/** A suspension without an end is given one. */
const ended = sceneTheme(
  'a suspension is given an end',
  () => plain(['a', 'b'], { web: 2 }),
  (chance) => {
    const instance = chance.pick(['a', 'b', null]);
    return [
      after(60_000, { kind: 'suspend', instance, forMs: null }),
      after(1_000, commit({ path: TEMPLATE, value: chance.pick(['1', '2', '3', '4']) })),
      after(20_000, { kind: 'suspend', instance, forMs: 60_000 }),
    ];
  },
);

/** A site with very many new servers does not even say no, and another one is well. */
const deafSite = sceneTheme(
  'a large site is deaf',
  () => plain(['d'], { site: 'south' }),
  (chance) => [
    after(60_000, north('deaf')),
    after(0, commit(...plain(['a', 'b', 'c'], { web: 9 }))),
    after(200_000, commit(set('d', { web: 3 + chance.below(3) }))),
    after(8_000_000, { kind: 'poll' }),
  ],
  { times: () => 2 },
);

/** The same within a site: it is deaf to one instance only. */
const deafInstance = sceneTheme(
  'a site is deaf to a large instance',
  () => plain(['b'], {}),
  (chance) => [
    after(60_000, north('deaf to a')),
    after(0, commit(...plain(['a'], { web: 24 }))),
    after(200_000, commit(set('b', { web: 3 + chance.below(3) }))),
    after(8_000_000, { kind: 'poll' }),
  ],
  { times: () => 2 },
);

/** An instance is refused since what it needs is removed; then come commits that have nothing to do with it. */
const deprived = sceneTheme(
  'what an instance needs is removed',
  (chance) => [
    ...plain(['a', 'b'], { web: 1 }),
    ...plain(['c'], { web: 1, webNeeds: chance.pick(['a-web-1', 'a-web-1', '']) }),
  ],
  (chance) => [
    ...(chance.is(0.3) ? [after(0, { kind: 'stop', loses: 'nothing', downMs: 1_000 } as const)] : []),
    after(60_000, north(chance.pick(['well', 'dead', 'broken']))),
    after(0, commit(set('c', { webNeeds: 'a-web-1' }))),
    after(chance.pick([0, 20_000]), removal('a')),
    after(chance.pick([0, 20_000]), chance.pick([{ kind: 'poll' } as const, commit(set('c', { size: '2' }))])),
    after(chance.pick([1_000, 20_000, 400_000]), commit(set('b', { size: chance.pick(['1', '2', '3']) }))),
    after(0, north('well')),
  ],
);

/** Returns the scenes. */
export const WAITING_SCENES: readonly Theme[] = [
  ...[drifting, turned, crossed, ended, deafSite, deafInstance],
  deprived,
];
