import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadKept } from './kept.ts';
import { simulate } from './simulate.ts';

/** A few seconds' worth. `npm run test:long` runs many more. */
const SEEDS = 12;
/** They take some seconds of a processor; on a machine that many share, that may be minutes. */
const LIMIT_MS = 400_000;

describe('a simulated run', () => {
  it('is the same for the same seed, to the last line of its story', async () => {
    const [first, second] = [await simulate(21, { isTold: true }), await simulate(21, { isTold: true })];
    expect(second).toEqual(first);
    expect(first.story.length).toBeGreaterThan(20);
  });

  it(
    'keeps every promise',
    async () => {
      for (let seed = 1; seed <= SEEDS; seed += 1) {
        const { violation } = await simulate(seed);
        expect(violation, `npm run simulate -- --seed ${seed}`).toBeUndefined();
      }
    },
    LIMIT_MS,
  );
});

it(
  'a simulated run keeps the promises of scripts that once broke them',
  async () => {
    for (const { title, seed, script } of loadKept()) {
      expect((await simulate(seed, { script })).violation, title).toBeUndefined();
    }
  },
  LIMIT_MS,
);

it.each(globSync('test/simulation/planted/*.patch'))('%s applies to the sources', (patch) => {
  expect(() => execFileSync('git', ['apply', '--check', patch], { stdio: 'pipe' })).not.toThrow();
});
