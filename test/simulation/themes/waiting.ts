// Themes about servers that wait: for one another, for their turn, for a site.
import { PLAIN, pathOf, TEMPLATE } from '../stacks.ts';
import { about, aName, commit, plain, set, type Theme } from './theme.ts';

const waits: Theme = {
  name: 'waits',
  startsLate: 0.4,
  first: (chance) => [
    set('a', { ...PLAIN, prefix: 'a', web: 2, links: chance.is(0.6), db: true, lists: chance.is(0.5), adopt: true }),
    set('b', { ...PLAIN, prefix: 'b', web: 1, db: true, webNeeds: chance.pick(['db', 'a-db', '']) }),
  ],
  deeds: about(20, [
    [3, () => [commit(set('b', { webNeeds: 'db', dbNeeds: '' }))]],
    [3, () => [commit(set('b', { webNeeds: '', dbNeeds: 'web' }))]],
    [2, (chance) => [commit(set('a', { size: chance.pick(['1', '2', '3']) }))]],
    [2, (chance) => [commit({ path: TEMPLATE, value: chance.pick(['1', '2', '3']) })]],
    [2, (chance) => [commit(set('a', { db: chance.is(0.3), lists: chance.is(0.5) }))]],
    [2, (chance) => [commit({ path: pathOf(chance.pick(['a', 'b'])), is: 'removed' })]],
    [3, (chance) => [{ kind: 'site', site: 'north', mood: chance.pick(['failing', 'broken', 'lying', 'throwing']) }]],
    [2, () => [{ kind: 'site', site: 'north', mood: 'well' }]],
    [2, (chance) => [{ kind: 'stranger', name: chance.pick(['a-web-1', 'a-web-2', 'a-db']), site: 'north' }]],
    [2, (chance) => [{ kind: 'vanish', name: aName(chance), site: 'north' }]],
    [1, () => [{ kind: 'adopt', instance: null }]],
  ]),
};

const rollouts: Theme = {
  name: 'rollouts',
  first: () => plain(['a', 'b', 'c'], { web: 3, unavailable: '2' }),
  deeds: about(16, [
    [3, (chance) => [commit({ path: TEMPLATE, value: chance.pick(['1', '2', '3']) })]],
    [3, (chance) => [{ kind: 'site', site: 'north', mood: chance.pick(['broken', 'broken', 'failing']) }]],
    [3, () => [{ kind: 'site', site: 'north', mood: 'well' }]],
    [2, (chance) => [{ kind: 'suspend', instance: chance.pick(['a', 'b', 'c']), forMs: null }]],
    [1, (chance) => [{ kind: 'retry', instance: chance.pick(['a', 'b', 'c']) }]],
    [1, (chance) => [{ kind: 'approve', pick: chance.below(4) }]],
  ]),
};

const starving: Theme = {
  name: 'starving',
  first: () => [...plain(['a', 'b'], { web: 3, db: true }), set('c', { ...PLAIN, prefix: 'c', web: 3, db: true })],
  deeds: about(8, [
    [4, () => [{ kind: 'site', site: 'north', mood: 'deaf' }]],
    [2, () => [{ kind: 'site', site: 'north', mood: 'dead' }]],
    [4, (chance) => [commit(set('d', { ...PLAIN, prefix: 'd', site: 'south', web: 1 + chance.below(3) }))]],
    [1, () => [{ kind: 'site', site: 'north', mood: 'well' }]],
  ]),
};

/** Returns the themes. */
export const WAITING_THEMES: readonly Theme[] = [waits, waits, rollouts, starving];
