// Themes about servers at rest that somebody changes or removes, and about requests for single servers.
import {
  about,
  after,
  aName,
  anInstance,
  commit,
  north,
  plain,
  removal,
  sceneTheme,
  set,
  type Theme,
  tampering,
} from './theme.ts';

const MINUTE_MS = 60_000;

const drift: Theme = {
  name: 'drift',
  heals: 0.6,
  first: (chance) => plain(['a', 'b'], { web: 3, db: true, webNeeds: chance.pick(['db', '']), unavailable: '1' }),
  deeds: about(16, [
    [6, (chance) => [tampering(chance, aName(chance))]],
    [3, (chance) => [{ kind: 'vanish', name: aName(chance), site: 'north' }]],
    [3, (chance) => [{ kind: 'check', instance: chance.pick(['a', 'b']) }]],
    [2, (chance) => [commit(set(chance.pick(['a', 'b']), { drift: chance.pick(['', 'report', 'heal', 'off']) }))]],
    [1, (chance) => [commit(set(chance.pick(['a', 'b']), { size: chance.pick(['1', '2']) }))]],
    [1, (chance) => [north(chance.pick(['failing', 'broken', 'lying', 'well', 'well']))]],
    [1, (chance) => [{ kind: 'retry', instance: chance.pick(['a', 'b']) }]],
    [1, () => [{ kind: 'stop', loses: 'nothing', downMs: 1_000 }]],
  ]),
};

const requests: Theme = {
  name: 'requests',
  first: () => [...plain(['a', 'b'], { web: 2, db: true }), ...plain(['c'], { web: 2, protected: true })],
  deeds: about(16, [
    [5, (chance) => [{ kind: 'replace', name: aName(chance) }]],
    [2, (chance) => [{ kind: 'retain', name: aName(chance) }]],
    [3, (chance) => [north(chance.pick(['failing', 'late', 'throwing', 'sluggish', 'well', 'well']))]],
    [2, (chance) => [commit(set(anInstance(chance), { web: chance.below(3), site: chance.pick(['north', 'south']) }))]],
    [1, (chance) => [removal(anInstance(chance))]],
    [1, () => [{ kind: 'stop', loses: 'nothing', downMs: 1_000 }]],
    [1, () => [{ kind: 'adopt', instance: null }]],
  ]),
};

/** Whoever sets a server back each time, for hours, is not fought for ever. */
const fight = sceneTheme(
  'somebody sets a server back',
  () => plain(['a'], { web: 2, drift: 'heal' }),
  (chance) => {
    const name = chance.pick(['a-web-1', 'a-web-2']);
    const isGone = chance.is(0.3);
    const again = (): readonly ReturnType<typeof after>[] => [
      after(8 * MINUTE_MS, isGone ? { kind: 'vanish', name, site: 'north' } : tampering(chance, name)),
      ...(chance.is(0.3) ? [after(0, { kind: 'stop', loses: 'nothing', downMs: 1_000 } as const)] : []),
    ];
    return Array.from({ length: 6 }, again).flat();
  },
);

/** Several members of a group are changed at once, and checked at once. */
const many = sceneTheme(
  'a whole group drifts',
  (chance) => plain(['a'], { web: 3, drift: chance.pick(['heal', 'heal', 'report']), unavailable: '1' }),
  (chance) => [
    after(MINUTE_MS, north(chance.pick(['well', 'sluggish']))),
    ...['a-web-1', 'a-web-2', 'a-web-3'].map((name) =>
      after(0, chance.is(0.8) ? tampering(chance, name) : ({ kind: 'vanish', name, site: 'north' } as const)),
    ),
    after(0, { kind: 'check', instance: 'a' }),
    after(20_000, { kind: 'check', instance: 'a' }),
    after(MINUTE_MS, north('well')),
  ],
);

/** A site loses many servers at once. */
const wiped = sceneTheme(
  'a site loses its servers',
  () => plain(['a', 'b'], { web: 3, drift: 'heal' }),
  (chance) => [
    ...['a-web-1', 'a-web-2', 'a-web-3', 'b-web-1', 'b-web-2', 'b-web-3'].map((name) =>
      after(chance.pick([0, 1_000, MINUTE_MS]), { kind: 'vanish', name, site: 'north' } as const),
    ),
    after(chance.pick([0, 6 * MINUTE_MS]), { kind: 'stop', loses: 'nothing', downMs: 1_000 }),
    after(20 * MINUTE_MS, { kind: 'retry', instance: chance.pick(['a', 'b']) }),
  ],
);

/** A server that is to go waits, is forgotten or retained meanwhile, and is wanted again. */
const forgotten = sceneTheme(
  'a server is forgotten',
  () => plain(['a', 'b'], { web: 2 }),
  (chance) => [
    after(MINUTE_MS, north(chance.pick(['refusing', 'broken', 'dead', 'deaf', 'throwing']))),
    after(0, commit(set('a', { web: 1 }))),
    after(
      5_000 + chance.below(20_000),
      chance.is(0.7) ? { kind: 'retain', name: 'a-web-2' } : commit(set('a', { retain: true })),
    ),
    after(chance.pick([0, 100_000]), { kind: 'retain', name: 'a-web-2' }),
    after(chance.pick([0, 1_000]), { kind: 'stop', loses: 'nothing', downMs: 1_000 }),
    after(MINUTE_MS, north('well')),
    after(0, commit(set('a', { web: chance.pick([1, 2]), size: chance.pick(['1', '2']) }))),
  ],
);

/** A call neither ends nor answers, and its server is needed. */
const endless = sceneTheme(
  'a call does not end',
  () => plain(['a', 'b'], { web: 2 }),
  (chance) => [
    after(MINUTE_MS, north(chance.pick(['deaf', 'late', 'deaf']))),
    after(0, commit(set('a', { size: chance.pick(['2', '3']) }))),
    after(10_000, commit(set('a', { web: chance.pick([1, 2, 3]) }))),
    after(15_000 + chance.below(40_000), north('well')),
    after(
      chance.pick([0, 40_000]),
      chance.is(0.3) ? { kind: 'stop', loses: 'nothing', downMs: 100 } : { kind: 'poll' },
    ),
  ],
  { outlives: 0 },
);

/** Returns the themes and scenes. */
export const DRIFT_THEMES: readonly Theme[] = [drift, requests, fight, many, wiped, forgotten, endless];
