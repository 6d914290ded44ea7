// What people and sites do in a run. A theme is a mixture that brings some things together more often than chance would;
// every theme has a little of everything.
import { type Deed, type Edit, SPOILS } from './actions.ts';
import type { Chance } from './chance.ts';
import { GLOBAL, LAB, PLAIN, pathOf, type Shape, SMALL, TEMPLATE, TREE } from './stacks.ts';

export interface Theme {
  readonly name: string;
  /** What the first commit holds. */
  readonly first: (chance: Chance) => readonly Edit[];
  /** What happens next: one thing, or a few in a row. */
  readonly deeds: (chance: Chance) => readonly Deed[];
  readonly ignoresCase?: number;
  /** How likely the controller starts only after some commits. */
  readonly startsLate?: number;
}

export const INSTANCES = ['a', 'b', 'c', 'd'] as const;
export const SITES = ['north', 'south'] as const;

type Doing = (chance: Chance) => readonly Deed[];
type Mix = readonly [readonly [number, Doing], ...(readonly [number, Doing])[]];

function anInstance(chance: Chance): string {
  return chance.pick(INSTANCES);
}

function commit(...edits: readonly Edit[]): Deed {
  return { kind: 'commit', edits };
}

function set(instance: string, shape: Partial<Shape>): Edit {
  return { instance, set: shape };
}

/** A change of one instance that makes sense. */
function change(chance: Chance, instance: string = anInstance(chance)): Partial<Shape> {
  return chance.weighted<() => Partial<Shape>>([
    [6, () => ({ web: chance.below(4) })],
    [4, () => ({ size: chance.pick(['1', '2', '3']) })],
    [3, () => ({ db: chance.is(0.5) })],
    [2, () => ({ webNeeds: chance.pick(['', 'db', `${anInstance(chance)}-db`, `${anInstance(chance)}-web-1`]) })],
    [2, () => ({ dbNeeds: chance.pick(['', 'web', `${anInstance(chance)}-db`]) })],
    [1, () => ({ lists: chance.is(0.6), db: true })],
    [1, () => ({ links: chance.is(0.6) })],
    [1, () => ({ protected: chance.is(0.6) })],
    [1, () => ({ retain: chance.is(0.5) })],
    [1, () => ({ adopt: chance.is(0.5) })],
    [1, () => ({ prefix: chance.pick([instance, instance, instance.toUpperCase(), anInstance(chance)]) })],
    [1, () => ({ site: chance.pick(SITES) })],
    [1, () => ({ unavailable: chance.pick(['1', '2']), pause: chance.pick(['0', '0', '30']) })],
    [1, () => ({ template: chance.pick(['stack', 'stak']) })],
    [1, () => ({ lab: chance.is(0.5), small: chance.is(0.5) })],
  ])();
}

function firstShape(chance: Chance, instance: string): Partial<Shape> {
  const web = 1 + chance.below(3);
  return { ...PLAIN, prefix: instance, web, db: chance.is(0.4), ...(chance.is(0.4) ? change(chance, instance) : {}) };
}

function someInstances(chance: Chance): readonly Edit[] {
  return INSTANCES.slice(0, 2 + chance.below(3)).map((instance) => set(instance, firstShape(chance, instance)));
}

const edits: Mix = [
  [10, (chance) => [commit(changeOf(chance))]],
  [3, (chance) => [commit(changeOf(chance), changeOf(chance))]],
  [2, (chance) => [commit({ path: pathOf(anInstance(chance)), is: 'removed' })]],
  [2, (chance) => [commit({ path: pathOf(anInstance(chance)), is: 'mended' })]],
  [1, (chance) => [commit({ path: chance.pick([GLOBAL, LAB, SMALL, TEMPLATE]), value: chance.pick(['1', '2', '3']) })]],
  [1, (chance) => [{ ...commit(changeOf(chance)), approves: 1 + chance.below(4) } as Deed]],
  [1, () => [{ kind: 'revert' }]],
];

function changeOf(chance: Chance): Edit {
  const instance = anInstance(chance);
  return set(instance, change(chance, instance));
}

const spoils: Mix = [
  [
    1,
    (chance) => [commit({ folder: chance.pick(['stacks/instances', 'types/common', 'types/environment', 'types']) })],
  ],
  [1, () => [{ kind: 'revert' }]],
  [4, (chance) => [commit({ path: pathOf(anInstance(chance)), spoil: chance.pick(SPOILS) })]],
  [3, (chance) => [commit({ path: chance.pick([GLOBAL, LAB, SMALL, TEMPLATE]), spoil: chance.pick(SPOILS) })]],
  [2, (chance) => [commit({ path: chance.pick([GLOBAL, LAB, SMALL, TEMPLATE, TREE]), is: 'mended' })]],
  [1, (chance) => [commit({ path: pathOf(anInstance(chance)), spoil: chance.pick(SPOILS) }, changeOf(chance))]],
];

const branches: Mix = [
  [3, (chance) => [{ kind: 'side', side: 's', edits: [changeOf(chance)] }]],
  [3, () => [{ kind: 'merge', side: 's', edits: [] }]],
  [1, (chance) => [{ kind: 'merge', side: 's', edits: [changeOf(chance)] }]],
  [1, (chance) => [{ kind: 'rewrite', back: 1 + chance.below(3), edits: chance.is(0.5) ? [changeOf(chance)] : [] }]],
  [1, () => [{ kind: 'accept history' }]],
];

const people: Mix = [
  [4, (chance) => [{ kind: 'approve', pick: chance.below(4) }]],
  [2, () => [{ kind: 'approve all' }]],
  [
    1,
    (chance) => [
      {
        kind: 'suspend',
        instance: chance.is(0.8) ? anInstance(chance) : null,
        forMs: chance.pick([null, 60_000, 1_200_000]),
      },
    ],
  ],
  [2, (chance) => [{ kind: 'resume', instance: chance.is(0.7) ? anInstance(chance) : null }]],
  [2, (chance) => [{ kind: 'retry', instance: chance.is(0.5) ? anInstance(chance) : null }]],
  [2, (chance) => [{ kind: 'adopt', instance: chance.is(0.5) ? anInstance(chance) : null }]],
  [2, (chance) => [{ kind: 'put', instance: anInstance(chance), set: change(chance) }]],
  [1, (chance) => [{ kind: 'delete', instance: anInstance(chance) }]],
  [1, () => [{ kind: 'look' }]],
];

function aName(chance: Chance): string {
  const prefix = anInstance(chance);
  return `${prefix}-${chance.pick(['web-1', 'web-2', 'web-3', 'db'])}`;
}

const sites: Mix = [
  [
    3,
    (chance) => [
      {
        kind: 'site',
        site: chance.pick(SITES),
        mood: chance.pick(['well', 'failing', 'throwing', 'dead', 'deaf', 'lying', 'broken']),
      },
    ],
  ],
  [
    3,
    (chance) => [
      { kind: 'site', site: 'north', mood: chance.pick(['failing', 'throwing', 'losing', 'lying', 'broken']) },
    ],
  ],
  [4, (chance) => [{ kind: 'site', site: chance.pick(SITES), mood: 'well' }]],
  [1, (chance) => [{ kind: 'stranger', name: aName(chance), site: chance.pick(SITES) }]],
  [1, (chance) => [{ kind: 'vanish', name: aName(chance), site: 'north' }]],
];

const faults: Mix = [
  [3, (chance) => [{ kind: 'stop', loses: 'nothing', downMs: chance.pick([0, 1_000, 100_000]) }]],
  [1, (chance) => [{ kind: 'stop', loses: chance.pick(['copy', 'copy', 'store']), downMs: 1_000 }]],
  [2, (chance) => [{ kind: 'remote', mood: chance.pick(['gone', 'slow', 'refuses', 'loses answers']) }]],
  [2, () => [{ kind: 'remote', mood: 'well' }]],
  [1, () => [{ kind: 'disk', isFull: true }]],
  [2, () => [{ kind: 'disk', isFull: false }]],
  [1, (chance) => [{ kind: 'clock', ms: chance.pick([-40_000_000, -60_000, 60_000, 3_600_000, 40_000_000]) }]],
];

function mixed(...parts: readonly (readonly [number, Mix])[]): Doing {
  return (chance) => {
    const [first = [1, edits] as const, ...rest] = parts;
    return chance.weighted(chance.weighted([first, ...rest]))(chance);
  };
}

/** A little of everything. */
const ANYTHING: readonly (readonly [number, Mix])[] = [
  [6, edits],
  [1, spoils],
  [1, branches],
  [2, people],
  [2, sites],
  [2, faults],
];

/** Mixes what a theme is about with everything else. */
function about(weight: number, mix: Mix): Doing {
  return mixed([weight, mix], ...ANYTHING);
}

function plain(names: readonly string[], shape: Partial<Shape>): readonly Edit[] {
  return names.map((name) => set(name, { ...PLAIN, prefix: name, ...shape }));
}

const general: Theme = { name: 'everything', first: someInstances, deeds: mixed(...ANYTHING) };

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
    [1, () => [commit({ path: pathOf('a'), is: 'mended' })]],
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

const beginnings: Theme = {
  name: 'beginnings',
  startsLate: 0.8,
  first: () => plain(['a', 'b', 'c'], { web: 1 }),
  deeds: about(14, [
    [4, (chance) => [commit(set('a', { template: 'stak' }), set(chance.pick(['b', 'c']), { prefix: 'a' }))]],
    [3, (chance) => [commit(set(anInstance(chance), { template: 'stak' }))]],
    [2, (chance) => [commit({ path: pathOf(anInstance(chance)), spoil: chance.pick(SPOILS) })]],
    [1, (chance) => [commit({ path: pathOf(anInstance(chance)), is: 'mended' })]],
    [1, () => [{ kind: 'stop', loses: 'store', downMs: 0 }]],
  ]),
};

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
    [1, (chance) => [commit({ path: pathOf(chance.pick(['a', 'c'])), is: 'mended' })]],
    [2, (chance) => [commit({ path: `types/clientcert/${chance.pick(['c', 'd'])}-web-1.yaml`, value: '1' })]],
    [
      2,
      (chance) => [commit(set(chance.pick(['c', 'd']), { web: 1, webNeeds: chance.pick(['a-link-1', 'x-db', '']) }))],
    ],
  ]),
};

export const THEMES: readonly [Theme, ...Theme[]] = [
  general,
  general,
  unreadable,
  protection,
  budget,
  budget,
  strangers,
  spelling,
  restarts,
  storms,
  beginnings,
  waits,
  waits,
  rollouts,
  approvals,
  adoptions,
  clocks,
  starving,
  newcomers,
];
