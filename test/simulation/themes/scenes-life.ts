// Scenes in the life of single servers: strangers that build at the wrong moment, clocks that are set.
import { PLAIN, TEMPLATE } from '../stacks.ts';
import { after, commit, north, plain, removal, sceneTheme, set, type Theme } from './theme.ts';

const HOURS_MS = 40_000_000;

/** A create fails, somebody else builds the name, and later nobody wants it any more. */
const impostors = sceneTheme(
  'a stranger after a failed create',
  () => plain(['a'], { web: 1 }),
  (chance) => {
    const instance = chance.pick(['b', 'c', 'd']);
    return [
      north('refusing'),
      after(0, commit(set(instance, { ...PLAIN, prefix: instance, web: 1 + chance.below(2) }))),
      after(120_000, { kind: 'stranger', name: `${instance}-web-1`, site: 'north' }),
      after(1_000, north('well')),
      after(chance.pick([1_000, 400_000]), removal(instance)),
    ];
  },
);

/** A server is being replaced, somebody else builds it first, and a person adopts that. */
const overtaken = sceneTheme(
  'a stranger builds what is being replaced',
  () => plain(['a', 'b'], { web: 1 }),
  (chance) => {
    const instance = chance.pick(['a', 'b']);
    const build = after(150, { kind: 'stranger', name: `${instance}-web-1`, site: 'north' });
    return [
      after(60_000, north('lying')),
      after(0, commit(set(instance, { size: '9' }))),
      after(0, { kind: 'poll' }),
      ...Array.from({ length: 40 }, () => build),
      after(30_000, { kind: 'adopt', instance: null }),
    ];
  },
);

/** A site makes what it is asked for otherwise, and then it is gone. */
const careless = sceneTheme(
  'a careless site',
  () => plain(['a'], { web: 1 }),
  (chance) => [
    after(60_000, north('careless')),
    after(0, commit(set(chance.pick(['a', 'b']), { size: chance.pick(['2', '3']), web: 2 }))),
    after(3_000_000, north('well')),
  ],
);

/** The clock is ahead while something fails, and is set right while no controller runs. */
const aheadAtStart = sceneTheme(
  'a clock is set right before a start',
  () => plain(['a', 'b'], { web: 2 }),
  (chance) => [
    after(200_000, { kind: 'clock', ms: HOURS_MS }),
    after(130_000, north(chance.pick(['broken', 'throwing']))),
    after(0, commit({ path: TEMPLATE, value: chance.pick(['1', '2', '3', '4']) })),
    after(10_000 + chance.below(40_000), { kind: 'stop', loses: 'nothing', downMs: 200_000 }),
    after(150_000, { kind: 'clock', ms: -HOURS_MS }),
    after(0, north('well')),
  ],
);

/** An answer is lost, the clock jumps, and the action goes on. */
const jumps = sceneTheme(
  'a clock jumps during a lost action',
  () => plain(['a', 'b'], { web: 2 }),
  (chance) => [
    after(200_000, north('late')),
    after(0, commit({ path: TEMPLATE, value: chance.pick(['1', '2', '3', '4']) })),
    after(2_000 + chance.below(6_000), { kind: 'clock', ms: 3_600_000 }),
    after(1_000, { kind: 'suspend', instance: null, forMs: 60_000 }),
    after(60_000, north('well')),
  ],
  { outlives: 1 },
);

/** A lost outcome cannot be looked up, and another commit comes. */
const unknowns = sceneTheme(
  'a commit for what is unknown',
  () => plain(['a', 'b'], { web: 2 }),
  (chance) => [
    after(60_000, north('throwing')),
    after(0, commit(set('a', { size: chance.pick(['2', '3', '4']) }))),
    after(5_000 + chance.below(60_000), commit(set('a', chance.is(0.5) ? { pause: '30' } : { size: '5' }))),
    after(60_000, north('well')),
  ],
);

/**
 * An outcome is lost, and a commit moves the server to another site before anybody can look it up; or a create has failed,
 * and a person has what it may have left replaced.
 */
const moved = sceneTheme(
  'what is unknown is moved',
  () => plain(['a', 'b'], { web: 2 }),
  (chance) => {
    const instance = chance.pick(['a', 'b']);
    const isNew = chance.is(0.4);
    const mood = isNew ? 'denying' : chance.pick(['late', 'throwing'] as const);
    return [
      after(60_000, north(mood)),
      after(0, commit(set(instance, isNew ? { web: 3 } : { size: chance.pick(['2', '3', '4']) }))),
      after(5_000 + chance.below(60_000), commit(set(instance, { site: 'south' }))),
      ...(isNew ? [after(5_000, { kind: 'replace', name: `${instance}-web-3` } as const)] : []),
      after(60_000, north('well')),
    ];
  },
  { outlives: 1 },
);

/** An answer is lost, and the site takes its time when it is asked what became of the action. */
const slowAnswers = sceneTheme(
  'a lost action is looked up slowly',
  () => plain(['a', 'b'], { web: 2 }),
  (chance) => [
    after(60_000, north('late')),
    after(0, commit(set(chance.pick(['a', 'b']), { size: chance.pick(['2', '3', '4']) }))),
    after(10_000 + chance.below(50_000), north('sluggish')),
    after(300_000, north('well')),
  ],
  { outlives: 1 },
);

/** Servers that were looked at may go on, are looked at again, and may not go on any more. */
const interrupted = sceneTheme(
  'a suspension is lifted for a moment',
  () => plain(['a'], { web: 1 }),
  (chance) => {
    const instance = chance.pick(['b', 'c', 'd']);
    return [
      after(60_000, { kind: 'suspend', instance: null, forMs: null }),
      after(0, commit(set(instance, { ...PLAIN, prefix: instance, web: 3, db: true }))),
      after(120_000, { kind: 'resume', instance: null }),
      after(chance.below(400), { kind: 'suspend', instance: null, forMs: null }),
      after(60_000, { kind: 'resume', instance: null }),
    ];
  },
);

/** Returns the scenes. */
export const LIFE_SCENES: readonly Theme[] = [
  ...[impostors, overtaken, careless, aheadAtStart, jumps, unknowns, moved, slowAnswers, interrupted],
];
