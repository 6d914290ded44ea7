// Themes about the life of single servers: strangers, spellings, restarts, failing sites, adoption, clocks.
import { pathOf, TEMPLATE } from '../stacks.ts';
import { about, aName, anInstance, commit, plain, set, type Theme } from './theme.ts';

const strangers: Theme = {
  name: 'strangers',
  first: (chance) => plain(['a', 'b'], { web: 2, db: true, webNeeds: chance.pick(['db', 'b-db', '']) }),
  deeds: about(20, [
    [5, (chance) => [{ kind: 'stranger', name: aName(chance), site: 'north' }]],
    [2, (chance) => [{ kind: 'site', site: 'north', mood: chance.pick(['failing', 'broken', 'well', 'well']) }]],
    [3, (chance) => [commit(set(chance.pick(['a', 'b', 'c']), { web: chance.below(4) }))]],
    [1, (chance) => [{ kind: 'suspend', instance: anInstance(chance), forMs: 1_200_000 }]],
    [2, (chance) => [{ kind: 'adopt', instance: chance.is(0.5) ? anInstance(chance) : null }]],
    [2, (chance) => [commit({ path: pathOf(anInstance(chance)), is: 'removed' })]],
    [1, (chance) => [{ kind: 'stop', loses: 'store', downMs: chance.pick([0, 10_000]) }]],
  ]),
};

const spelling: Theme = {
  name: 'spelling',
  ignoresCase: 0.8,
  first: () => plain(['a', 'b'], { web: 1, db: true, adopt: true }),
  deeds: about(14, [
    [4, (chance) => [commit(set('a', { prefix: chance.pick(['a', 'A']), adopt: chance.is(0.7) }))]],
    [1, () => [{ kind: 'adopt', instance: null }]],
    [1, (chance) => [commit(set('b', { prefix: chance.pick(['b', 'a', 'A']) }))]],
  ]),
};

const restarts: Theme = {
  name: 'restarts',
  first: () => plain(['a', 'b', 'c'], { web: 3 }),
  deeds: about(20, [
    [
      4,
      (chance) => [
        {
          kind: 'stop',
          loses: chance.weighted([
            [5, 'nothing'],
            [1, 'copy'],
          ]),
          downMs: chance.pick([0, 1_000]),
        },
      ],
    ],
    [
      3,
      (chance) => [
        { kind: 'approve', pick: chance.below(3) },
        { kind: 'stop', loses: 'nothing', downMs: 0 },
      ],
    ],
    [3, (chance) => [commit(set(chance.pick(['a', 'b', 'c']), { web: chance.below(4) }))]],
    [1, (chance) => [commit({ path: pathOf(anInstance(chance)), is: 'removed' })]],
    [1, (chance) => [{ kind: 'remote', mood: chance.pick(['gone', 'well', 'well']) }]],
  ]),
};

const storms: Theme = {
  name: 'storms',
  first: () => plain(['a', 'b'], { web: 2, db: true }),
  deeds: about(14, [
    [
      4,
      (chance) => [
        { kind: 'site', site: 'north', mood: chance.pick(['throwing', 'losing', 'losing', 'failing', 'broken']) },
      ],
    ],
    [2, () => [{ kind: 'site', site: 'north', mood: 'well' }]],
    [3, (chance) => [commit(set(chance.pick(['a', 'b']), { web: chance.below(3), size: chance.pick(['1', '2']) }))]],
    [1, () => [{ kind: 'retry', instance: null }]],
    [1, (chance) => [commit({ path: pathOf(chance.pick(['a', 'b'])), is: 'removed' })]],
  ]),
};

const adoptions: Theme = {
  name: 'adoptions',
  startsLate: 0.3,
  first: () => plain(['a', 'b'], { web: 2 }),
  deeds: about(16, [
    [3, (chance) => [{ kind: 'stranger', name: aName(chance), site: 'north' }]],
    [
      3,
      (chance) => [
        { kind: 'vanish', name: aName(chance), site: 'north' },
        { kind: 'stranger', name: aName(chance), site: 'north' },
      ],
    ],
    [3, () => [{ kind: 'adopt', instance: null }]],
    [
      2,
      (chance) => [{ kind: 'site', site: 'north', mood: chance.pick(['lying', 'throwing', 'broken', 'well', 'well']) }],
    ],
    [2, (chance) => [commit(set(chance.pick(['a', 'b']), { size: chance.pick(['1', '2', '3']) }))]],
    [1, () => [{ kind: 'retry', instance: null }]],
  ]),
};

const clocks: Theme = {
  name: 'clocks',
  first: () => plain(['a', 'b'], { web: 3 }),
  deeds: about(12, [
    [3, (chance) => [{ kind: 'clock', ms: chance.pick([40_000_000, 3_600_000]) }]],
    [3, (chance) => [{ kind: 'clock', ms: chance.pick([-40_000_000, -3_600_000]) }]],
    [3, (chance) => [commit({ path: TEMPLATE, value: chance.pick(['1', '2', '3']) })]],
    [1, (chance) => [{ kind: 'site', site: 'north', mood: chance.pick(['failing', 'broken', 'well']) }]],
  ]),
};

/** Returns the themes. */
export const LIFE_THEMES: readonly Theme[] = [strangers, spelling, restarts, storms, adoptions, clocks];
