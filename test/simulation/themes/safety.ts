// Themes about what may be deleted: unreadable files, protection, budget, approvals, first commits, newcomers.
import { SPOILS } from '../actions.ts';
import { PLAIN, pathOf, TEMPLATE } from '../stacks.ts';
import {
  about,
  anInstance,
  changeOf,
  commit,
  handOver,
  INSTANCES,
  plain,
  scaleIn,
  set,
  someInstances,
  spoils,
  type Theme,
  unreadName,
} from './theme.ts';

const unreadable: Theme = { name: 'unreadable', first: someInstances, deeds: about(14, spoils) };

const protection: Theme = {
  name: 'protection',
  first: (chance) => plain(['a', 'b'], { web: 2 + chance.below(2), protected: chance.is(0.5), retain: chance.is(0.3) }),
  deeds: about(20, [
    [4, (chance) => [commit(set('a', { protected: chance.is(0.6) }))]],
    [3, (chance) => [commit(set('a', { protected: chance.is(0.5), web: chance.below(3) })), commit(changeOf(chance))]],
    [3, (chance) => [commit(set('a', { web: chance.below(4) }))]],
    [
      2,
      (chance) => [commit(set('a', { retain: chance.is(0.5), ...(chance.is(0.5) ? { web: chance.below(3) } : {}) }))],
    ],
    [1, () => [commit({ path: pathOf('a'), is: 'removed' })]],
    [1, () => [commit({ path: pathOf('a'), is: 'corrected' })]],
    [3, (chance) => [{ kind: 'side', side: 's', edits: [set('a', { web: chance.below(3) })] }]],
    [3, () => [{ kind: 'merge', side: 's', edits: [] }]],
    [1, () => [{ kind: 'site', site: 'north', mood: 'lying' }]],
    [1, (chance) => [commit(set('a', { size: chance.pick(['1', '2', '3']) }))]],
  ]),
};

const budget: Theme = {
  name: 'budget',
  first: () => plain(['a', 'b', 'c', 'd'], { web: 2 }),
  deeds: about(20, [
    [6, (chance) => [commit(set(anInstance(chance), { web: 0 }), set(anInstance(chance), { web: 2 }))]],
    [3, (chance) => [commit(set(anInstance(chance), { web: chance.below(3) }))]],
    [2, (chance) => [{ kind: 'site', site: 'north', mood: chance.pick(['well', 'failing', 'lying', 'dead']) }]],
    [2, () => [{ kind: 'site', site: 'north', mood: 'well' }]],
    [3, (chance) => [commit(set(anInstance(chance), { size: chance.pick(['1', '2', '3']) }))]],
    [2, (chance) => [{ kind: 'approve', pick: chance.below(4) }]],
    [1, (chance) => [{ kind: 'approve', pick: 0 }, commit(set(anInstance(chance), { web: 2 }))]],
    [1, (chance) => [commit({ path: TEMPLATE, value: chance.pick(['1', '2', '3']) })]],
    [1, () => [commit({ path: TEMPLATE, value: '4' }), { kind: 'stop', loses: 'nothing', downMs: 0 }]],
  ]),
};

const approvals: Theme = {
  name: 'approvals',
  first: () => plain(['a', 'b'], { web: 3 }),
  deeds: about(16, [
    [3, (chance) => [commit(set(chance.pick(['a', 'b']), { web: 0 }))]],
    [
      3,
      (chance) => [
        commit(set(chance.pick(['c', 'd']), { size: chance.pick(['1', '2', '3']) })),
        { kind: 'approve', pick: 0 },
      ],
    ],
    [3, () => [{ kind: 'approve all' }]],
    [
      2,
      (chance) => [
        {
          kind: 'rewrite',
          back: 1 + chance.below(3),
          edits: INSTANCES.map((name) => ({ path: pathOf(name), is: 'removed' as const })),
        },
      ],
    ],
    [1, () => [commit(...INSTANCES.map((name) => ({ path: pathOf(name), is: 'removed' as const })))]],
    [2, () => [{ kind: 'accept history' }]],
  ]),
};

const beginnings: Theme = {
  name: 'beginnings',
  startsLate: 0.8,
  first: () => plain(['a', 'b', 'c'], { web: 1 }),
  deeds: about(14, [
    [4, (chance) => [commit(set('a', { template: 'stak' }), set(chance.pick(['b', 'c']), { prefix: 'a' }))]],
    [3, (chance) => [commit(set(anInstance(chance), { template: 'stak' }))]],
    [2, (chance) => [commit({ path: pathOf(anInstance(chance)), spoil: chance.pick(SPOILS) })]],
    [1, (chance) => [commit({ path: pathOf(anInstance(chance)), is: 'corrected' })]],
    [1, () => [{ kind: 'stop', loses: 'store', downMs: 0 }]],
  ]),
};

const newcomers: Theme = {
  name: 'newcomers',
  first: () => plain(['a', 'b'], { web: 2, db: true }),
  deeds: about(12, [
    [3, (chance) => [commit(set('c', { ...PLAIN, prefix: chance.pick(['c', 'a', 'b']), web: 1 }))]],
    [2, () => [commit({ path: pathOf('c'), is: 'removed' })]],
    [2, (chance) => [commit(set('b', { webNeeds: chance.pick(['a-db', 'a-web-1', '']) }))]],
    [2, (chance) => [commit(set('a', { protected: chance.is(0.7) }))]],
    [2, () => [commit({ path: pathOf('a'), is: 'removed' })]],
    [1, (chance) => [{ kind: 'suspend', instance: chance.pick(['c', 'a']), forMs: null }]],
    [1, (chance) => [commit({ path: pathOf(chance.pick(['a', 'c'])), is: 'corrected' })]],
    [2, (chance) => [commit({ path: `types/clientcert/${chance.pick(['c', 'd'])}-web-1.yaml`, value: '1' })]],
    [
      2,
      (chance) => [commit(set(chance.pick(['c', 'd']), { web: 1, webNeeds: chance.pick(['a-link-1', 'x-db', '']) }))],
    ],
  ]),
};

/** Servers go from one instance to another, which may be wrong, or be in a file that is not read. */
const handOvers: Theme = {
  name: 'hand-overs',
  first: (chance) => plain(['a', 'b'], { web: 1 + chance.below(2), db: true, protected: chance.is(0.3) }),
  deeds: about(20, [
    [3, (chance) => [commit(handOver(chance, {}))]],
    [3, (chance) => [commit(handOver(chance, { protected: chance.is(0.5) }))]],
    [3, (chance) => [commit(handOver(chance, { template: 'stak' }))]],
    [3, (chance) => [commit({ instance: anInstance(chance), name: unreadName(chance) })]],
    [3, (chance) => [commit(set(anInstance(chance), { template: 'stak' }), scaleIn(chance))]],
    [4, (chance) => [commit(scaleIn(chance))]],
    [2, (chance) => [commit({ path: pathOf(anInstance(chance)), spoil: chance.pick(SPOILS) }, scaleIn(chance))]],
    [2, (chance) => [commit(set(anInstance(chance), { protected: chance.is(0.5) }))]],
    [3, (chance) => [commit({ path: pathOf(anInstance(chance)), is: 'corrected' })]],
    [1, (chance) => [{ kind: 'approve', pick: chance.below(4) }]],
    [1, () => [{ kind: 'stop', loses: 'nothing', downMs: 0 }]],
  ]),
};

/** Returns the themes. */
export const SAFETY_THEMES: readonly Theme[] = [
  unreadable,
  protection,
  budget,
  budget,
  approvals,
  beginnings,
  newcomers,
  handOvers,
];
