import { expect, it } from 'vitest';
import type { Deed } from './actions.ts';
import { PLAIN, pathOf } from './stacks.ts';
import { set } from './themes/theme.ts';
import { type History, playVariants } from './variants.ts';

/** A few seconds' worth. `npm run test:long` plays many more. */
const SEEDS = 3;
/** In the first few, hardly anything goes. */
const FROM = 7;
/** Each plays its history once for every way; on a machine that many share, that may be minutes. */
const LIMIT_MS = 400_000;

it(
  'every variant of a history keeps the servers that one commit at a time keeps',
  async () => {
    const totals = { kept: 0, lost: 0 };
    for (let seed = FROM; seed < FROM + SEEDS; seed += 1) {
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
    'the delete budget does not count servers that were never created',
    2,
    [committed(set('b', { web: 3, db: true })), committed({ path: pathOf('b'), is: 'removed' })],
  ],
  [
    'a commit moves a server to another site, and the store is lost before',
    8,
    [committed(set('a', { site: 'south' }))],
  ],
  ['a commit changes the case of a name, and the store is lost before', 8, [committed(set('a', { prefix: 'A' }))]],
])(
  '%s: every variant loses and creates only the known servers',
  async (_title, seed, steps) => {
    expect((await playVariants(seed, { history: { first: TWO, steps } })).differences).toEqual([]);
  },
  LIMIT_MS,
);
