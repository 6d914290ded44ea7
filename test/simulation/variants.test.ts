import { expect, it } from 'vitest';
import type { Deed } from './actions.ts';
import { watchEndlessRuns } from './endless-runs.ts';
import { PLAIN, pathOf } from './stacks.ts';
import { set } from './themes/theme.ts';
import { differencesOf, type Found, type History, type Played, playVariants } from './variants.ts';

/** A few seconds' worth. `npm run test:long` plays many more. */
const SEEDS = 3;
/** In the first few, hardly anything goes. */
const FROM = 7;
/** Each plays its history once for every way; on a machine that many share, that may be minutes. */
const LIMIT_MS = 400_000;

it(
  'loses in no way of playing a history what stays where each commit is brought to rest',
  async () => {
    const noteRun = watchEndlessRuns();
    const totals = { kept: 0, lost: 0 };
    for (let seed = FROM; seed < FROM + SEEDS; seed += 1) {
      noteRun(seed);
      const { differences, kept, lost } = await playVariants(seed);
      expect(differences, `npm run simulate -- --variants --seed ${seed}`).toEqual([]);
      totals.kept += kept;
      totals.lost += lost;
    }
    // Where nothing stays or nothing goes, there is nothing to tell apart.
    expect(totals.kept).toBeGreaterThan(SEEDS);
    expect(totals.lost).toBeGreaterThan(SEEDS / 2);
  },
  LIMIT_MS,
);

const TWO: History['first'] = [
  set('a', { ...PLAIN, prefix: 'a', web: 1 }),
  set('b', { ...PLAIN, prefix: 'b', web: 2 }),
];

function committed(...edits: readonly Extract<Deed, { kind: 'commit' }>['edits'][number][]): Deed {
  return { kind: 'commit', edits };
}

/** Histories that once were told as broken. Each seed has ways in which they come out differently. */
it.each<readonly [string, number, readonly Deed[]]>([
  [
    'servers that were never made are not counted by the delete budget',
    2,
    [committed(set('b', { web: 3, db: true })), committed({ path: pathOf('b'), is: 'removed' })],
  ],
  [
    'a commit moves a server to another site, and the store is lost before it is followed',
    8,
    [committed(set('a', { site: 'south' }))],
  ],
  [
    'a commit spells a name otherwise, and the store is lost before it is followed',
    8,
    [committed(set('a', { prefix: 'A' }))],
  ],
])(
  '%s: no way loses or makes more than is known there',
  async (_title, seed, steps) => {
    expect((await playVariants(seed, { history: { first: TWO, steps } })).differences).toEqual([]);
  },
  LIMIT_MS,
);

const WEB: Found = { name: 'b-web-1', site: 'north', maker: 'controller', builtAt: 100 };
const NONE = { held: new Set<string>(), condemned: new Set<string>(), lostAt: [] };
const STAYED: Played = { first: [WEB], last: [WEB], ...NONE };

it.each<readonly [string, Played, Partial<Played>, readonly string[]]>([
  ['a server that nothing holds', STAYED, { last: [] }, ['deleted or replaced b-web-1 at north since 100']],
  ['what the first way tried to delete', { ...STAYED, condemned: new Set(['b-web-1']) }, { last: [] }, []],
  ['what was held', { ...STAYED, held: new Set(['b-web-1']) }, { last: [] }, []],
  [
    'a server in place of another',
    STAYED,
    { last: [{ ...WEB, builtAt: 200 }] },
    ['deleted or replaced b-web-1 at north since 100'],
  ],
])('of %s that goes, the comparison says so', (_what, reference, played, differences) => {
  expect(differencesOf(reference, { ...STAYED, ...played })).toEqual(differences);
});

const SOUTH: Found = { ...WEB, site: 'south', builtAt: 300 };

it.each<readonly [string, Partial<Played>, readonly string[]]>([
  ['at two sites', { last: [SOUTH, WEB] }, ['made twice: b-web-1']],
  ['at two sites, since the store was lost', { last: [SOUTH, WEB], lostAt: [50] }, ['made twice: b-web-1']],
  ['at two sites, before the store was lost', { last: [SOUTH, WEB], lostAt: [400] }, ['made twice: b-web-1']],
  ['at two sites, and the store was lost between', { last: [SOUTH, WEB], lostAt: [50, 200] }, []],
  ['under two spellings', { last: [WEB, { ...SOUTH, name: 'B-web-1' }] }, ['made twice: b-web-1']],
  ['by a stranger too', { last: [WEB, { ...SOUTH, maker: 'stranger' }] }, []],
])('of a server that is made %s, the comparison says so', (_where, played, differences) => {
  expect(differencesOf(STAYED, { ...STAYED, ...played })).toEqual(differences);
  expect(differencesOf({ ...STAYED, ...played }, { ...STAYED, ...played })).toEqual([]);
});
