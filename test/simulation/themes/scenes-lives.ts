// Scenes between two lives of a controller: the next one finds other settings, an older store, or none.
import type { Changes, Loses } from '../actions.ts';
import type { Chance } from '../chance.ts';
import { FOREIGN_URL, PARTIAL_DIRECTORY } from '../simulated-git.ts';
import { PLAIN, pathOf } from '../stacks.ts';
import { after, commit, plain, removal, sceneTheme, set, type Theme, type TimedDeed, tampering } from './theme.ts';

function stop(loses: Loses, downMs: number, changes: Changes = {}): TimedDeed {
  return { kind: 'stop', loses, downMs, changes };
}

const ENDS = ['with the controller', 'with its call', 'after its deadline'] as const;

/** Creates run at a site and in proxies, and the store is lost; beside other files of its directory, or a backup is restored. */
const lostCreates = sceneTheme(
  'a lost store with creates under way',
  (chance) => plain(['a'], { web: 1, site: chance.pick(['north', 'east']) }),
  (chance) => {
    const site = chance.pick(['north', 'north', 'east']);
    return [
      ...(chance.is(0.5) ? [after(60_000, { kind: 'back up' } as const)] : []),
      after(60_000, { kind: 'site', site, mood: chance.pick(['sluggish', 'well', 'late']) }),
      after(0, commit(set('b', { ...PLAIN, prefix: 'b', web: 2 + chance.below(2), site }))),
      after(0, { kind: 'poll' }),
      after(500 + chance.below(9_000), { ...stop(chance.pick(['rows', 'since backup']), chance.pick([0, 1_000])) }),
      after(300_000, { kind: 'site', site, mood: 'well' }),
    ];
  },
  { proxies: true, outlives: 0.8, times: () => 1 },
);

/** An action runs, and the entry of its site is another program with the next start. */
const otherKinds = sceneTheme(
  'a provider entry of another kind',
  () => plain(['a', 'b'], { web: 2 }),
  (chance) => [
    after(60_000, { kind: 'site', site: 'north', mood: chance.pick(['sluggish', 'late', 'well']) }),
    after(0, commit(set(chance.pick(['a', 'b', 'c']), { ...PLAIN, prefix: 'c', web: 1 + chance.below(4) }))),
    after(0, { kind: 'poll' }),
    after(500 + chance.below(9_000), stop('nothing', 0, { kind: { site: 'north', ends: chance.pick(ENDS) } })),
    after(120_000, { kind: 'site', site: 'north', mood: 'well' }),
  ],
  { outlives: 0.8 },
);

function aWrongPlace(chance: Chance): NonNullable<Changes['place']> {
  return chance.pick<NonNullable<Changes['place']>>([{ url: FOREIGN_URL }, { directory: PARTIAL_DIRECTORY }]);
}

/** The settings name another place by mistake, and are put right again. */
const wrongPlaces = sceneTheme(
  'another place by mistake',
  () => plain(['a', 'b', 'c'], { web: 1 }),
  (chance) => [
    after(60_000, stop(chance.pick(['nothing', 'copy']), 0, { place: aWrongPlace(chance) })),
    ...(chance.is(0.5) ? [after(5_000, commit(set('b', { size: chance.pick(['2', '3']) })))] : []),
    after(chance.pick([2_000, 700_000]), stop(chance.pick(['nothing', 'copy']), 0, { place: FIRST })),
  ],
);

const FIRST = { url: 'simulated', directory: '.' };

/** The layout is moved, and the settings follow. */
const moves = sceneTheme(
  'a layout that is moved',
  () => plain(['a', 'b'], { web: 2 }),
  (chance) => {
    const place = { directory: 'platform' };
    return [
      ...(chance.is(0.3) ? [after(60_000, commit(set('a', { template: 'stak' })))] : []),
      after(60_000, { kind: 'move', ...place }),
      ...(chance.is(0.5) ? [after(0, removal('b'))] : []),
      after(chance.pick([0, 60_000]), stop(chance.pick(['nothing', 'copy']), 0, { place })),
    ];
  },
  { times: () => 1 },
);

/** A backup is restored after what came since, while something of that is under way. */
const restored = sceneTheme(
  'a restored backup',
  () => plain(['a', 'b'], { web: 2, db: true }),
  (chance) => [
    after(60_000, { kind: 'back up' }),
    after(0, commit(set('a', { web: chance.below(4), size: chance.pick(['1', '2']) }))),
    ...(chance.is(0.5) ? [after(60_000, commit({ path: pathOf('b'), is: 'removed' }))] : []),
    ...(chance.is(0.3) ? [after(1_000, tampering(chance, 'a-web-1'))] : []),
    ...(chance.is(0.3) ? [after(1_000, { kind: 'approve all' } as const)] : []),
    after(chance.pick([400, 5_000, 300_000]), stop('since backup', chance.pick([0, 60_000]))),
  ],
);

/** Returns the scenes. */
export const LIVES_SCENES: readonly Theme[] = [lostCreates, otherKinds, wrongPlaces, moves, restored];
