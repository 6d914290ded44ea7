import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { watchEndlessRuns } from './endless-runs.ts';
import { loadKept, parseKept, printKept } from './kept.ts';
import { simulate } from './simulate.ts';

/** A few seconds' worth. `npm run test:long` runs many more. */
const SEEDS = 20;
/** They take some seconds of a processor; on a machine that many share, that may be minutes. */
const LIMIT_MS = 400_000;

const noteRun = watchEndlessRuns();

describe('a simulated run', () => {
  it('is the same for the same seed, to the last line of its story', async () => {
    for (const seed of [1, 5, 21, 24]) {
      const [first, second] = [await simulate(seed, { isTold: true }), await simulate(seed, { isTold: true })];
      expect(second).toEqual(first);
      expect(first.story.length).toBeGreaterThan(20);
    }
  });

  it(
    'keeps every promise',
    async () => {
      for (let seed = 1; seed <= SEEDS; seed += 1) {
        noteRun(seed);
        const { violation } = await simulate(seed);
        expect(violation, `npm run simulate -- --seed ${seed}`).toBeUndefined();
      }
    },
    LIMIT_MS,
  );
});

it(
  'keeps now what scripts once broke',
  async () => {
    for (const { title, seed, script } of loadKept()) {
      noteRun(seed);
      expect((await simulate(seed, { script })).violation, title).toBeUndefined();
    }
  },
  LIMIT_MS,
);

it('prints a kept script as its file, and reads it back', () => {
  for (const kept of loadKept()) {
    const text = readFileSync(new URL(`kept/${kept.seed}.json`, import.meta.url), 'utf8');
    expect(printKept(kept)).toBe(text);
    expect(parseKept(text, 'kept.json')).toEqual(kept);
  }
});

it.each([
  ['"seed":', '"sead": 1, "seed":', 'kept.json: there is no field "sead"'],
  ['"seed":', '"seat":', 'kept.json: the field "seed" is missing'],
  ['"outlives": false,', '', 'kept.json/script: the field "outlives" is missing'],
  ['"web": 3', '"web": "3"', 'kept.json/script/actions/0/edits/0/set/web: "3" is not a number'],
  ['"web": 3', '"wbe": 3', 'kept.json/script/actions/0/edits/0/set: there is no field "wbe"'],
  ['"kind": "start"', '"kind": "begin"', 'kept.json/script/actions/1/kind: "begin" is not one of '],
  ['"kind": "start",', '"kind": "start", "soon": true,', 'kept.json/script/actions/1: there is no field "soon"'],
])('a kept script with %s as %s is refused', (from, to, message) => {
  const text = readFileSync(new URL('kept/8463.json', import.meta.url), 'utf8');
  expect(text).toContain(from);
  expect(() => parseKept(text.replace(from, to), 'kept.json')).toThrow(message);
});
