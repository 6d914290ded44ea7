// The parts of a theme: the actions of people and sites, and how often each is drawn.
import { type Deed, type Edit, SPOILS } from '../actions.ts';
import type { Chance } from '../chance.ts';
import type { SiteMood } from '../simulated-site.ts';
import { GLOBAL, LAB, PLAIN, pathOf, type Shape, SMALL, TEMPLATE, TREE } from '../stacks.ts';

/** A deed, and how many milliseconds after the one before it comes where that is not left to chance. */
export type TimedDeed = Deed & { readonly after?: number };

export interface Theme {
  readonly name: string;
  /** What the first commit holds. */
  readonly first: (chance: Chance) => readonly Edit[];
  /** What happens next: one thing, or a few in a row. */
  readonly deeds: (chance: Chance) => readonly TimedDeed[];
  /** How many times; 5 to 19 where it is left out. A few are enough where what was brought about has to stay. */
  readonly times?: (chance: Chance) => number;
  readonly ignoresCase?: number;
  /** How likely actions of sites outlive a controller. */
  readonly outlives?: number;
  /** How likely a provider entry heals drift; 0.25 where it is left out. */
  readonly heals?: number;
  /** Whether there are two more sites, east and west, that proxies look after. */
  readonly proxies?: boolean;
  /** How likely the controller starts only after some commits. */
  readonly startsLate?: number;
}

export const INSTANCES = ['a', 'b', 'c', 'd'] as const;
export const SITES = ['north', 'south'] as const;
/** The sites that proxies look after; the tag of their proxies is their name. */
export const REMOTE_SITES = ['east', 'west'] as const;

export type Doing = (chance: Chance) => readonly TimedDeed[];
export type Mix = readonly [readonly [number, Doing], ...(readonly [number, Doing])[]];

export function anInstance(chance: Chance): string {
  return chance.pick(INSTANCES);
}

export function commit(...edits: readonly Edit[]): Deed {
  return { kind: 'commit', edits };
}

export function set(instance: string, shape: Partial<Shape>): Edit {
  return { instance, set: shape };
}

/** A change of one instance that makes sense. */
export function change(chance: Chance, instance: string = anInstance(chance)): Partial<Shape> {
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
    [1, () => ({ drift: chance.pick(['', 'report', 'heal', 'off']) })],
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

export function someInstances(chance: Chance): readonly Edit[] {
  return INSTANCES.slice(0, 2 + chance.below(3)).map((instance) => set(instance, firstShape(chance, instance)));
}

const edits: Mix = [
  [10, (chance) => [commit(changeOf(chance))]],
  [3, (chance) => [commit(changeOf(chance), changeOf(chance))]],
  [2, (chance) => [commit({ path: pathOf(anInstance(chance)), is: 'removed' })]],
  [2, (chance) => [commit({ path: pathOf(anInstance(chance)), is: 'corrected' })]],
  [1, (chance) => [commit({ path: chance.pick([GLOBAL, LAB, SMALL, TEMPLATE]), value: chance.pick(['1', '2', '3']) })]],
  [1, (chance) => [{ ...commit(changeOf(chance)), approves: 1 + chance.below(4) } as Deed]],
  [1, () => [{ kind: 'revert' }]],
];

export function changeOf(chance: Chance): Edit {
  const instance = anInstance(chance);
  return set(instance, change(chance, instance));
}

/** An instance takes the servers of another one over. */
export function handOver(chance: Chance, shape: Partial<Shape>): Edit {
  return { instance: anInstance(chance), from: anInstance(chance), set: shape };
}

/** Fewer servers of an instance. */
export function scaleIn(chance: Chance): Edit {
  return set(anInstance(chance), chance.is(0.5) ? { db: false } : { web: chance.below(2) });
}

/** The end of a name that does not tell that an instance is meant: only what is in the file does. */
export const SET_ASIDE = '.disabled';

/** A name below `stacks/instances` that is not read, and that may be meant for an instance. */
export function unreadName(chance: Chance, instance: string = anInstance(chance)): string {
  return chance.pick([
    `${instance}.yml`,
    `${instance}.YAML`,
    `${instance}.yamll`,
    `${instance}${SET_ASIDE}`,
    `-${instance}.yaml`,
    `.${instance}.yaml`,
    `${instance}.yaml~`,
  ]);
}

export const spoils: Mix = [
  [
    1,
    (chance) => [commit({ folder: chance.pick(['stacks/instances', 'types/common', 'types/environment', 'types']) })],
  ],
  [1, () => [{ kind: 'revert' }]],
  [4, (chance) => [commit({ path: pathOf(anInstance(chance)), spoil: chance.pick(SPOILS) })]],
  [3, (chance) => [commit({ path: chance.pick([GLOBAL, LAB, SMALL, TEMPLATE]), spoil: chance.pick(SPOILS) })]],
  [2, (chance) => [commit({ path: chance.pick([GLOBAL, LAB, SMALL, TEMPLATE, TREE]), is: 'corrected' })]],
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
  [1, () => [{ kind: 'poll' }]],
  [1, (chance) => [{ kind: 'retain', name: aName(chance) }]],
  [1, (chance) => [{ kind: 'replace', name: aName(chance) }]],
  [1, (chance) => [{ kind: 'check', instance: anInstance(chance) }]],
];

/** A stranger changes a server at the north site. */
export function tampering(chance: Chance, name: string): Deed {
  return { kind: 'tamper', name, site: 'north', size: chance.pick(['7', '8']) };
}

export function aName(chance: Chance): string {
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
  [1, (chance) => [tampering(chance, aName(chance))]],
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

export function mixed(...parts: readonly (readonly [number, Mix])[]): Doing {
  return (chance) => {
    const [first = [1, edits] as const, ...rest] = parts;
    return chance.weighted(chance.weighted([first, ...rest]))(chance);
  };
}

/** A little of everything. */
export const ANYTHING: readonly (readonly [number, Mix])[] = [
  [6, edits],
  [1, spoils],
  [1, branches],
  [2, people],
  [2, sites],
  [2, faults],
];

/** Mixes what a theme is about with everything else. */
export function about(weight: number, mix: Mix): Doing {
  return mixed([weight, mix], ...ANYTHING);
}

export function plain(names: readonly string[], shape: Partial<Shape>): readonly Edit[] {
  return names.map((name) => set(name, { ...PLAIN, prefix: name, ...shape }));
}

/** Returns the theme of a scene: it is played once to three times, and little else happens. */
export function sceneTheme(name: string, first: Theme['first'], scene: Doing, rest: Partial<Theme> = {}): Theme {
  const deeds = mixed([30, [[1, scene]]], ...ANYTHING);
  return { name, first, deeds, times: (chance) => 1 + chance.below(3), startsLate: 0, ...rest };
}

/** Gives a deed its time: so many milliseconds after the one before it. */
export function after(ms: number, deed: Deed): TimedDeed {
  return { ...deed, after: ms };
}

export function north(mood: SiteMood): Deed {
  return { kind: 'site', site: 'north', mood };
}

export function removal(instance: string): Deed {
  return commit({ path: pathOf(instance), is: 'removed' });
}
