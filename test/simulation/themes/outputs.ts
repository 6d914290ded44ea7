// Themes about servers that take the address of another, which comes late, changes, and goes with its server.
import type { Deed } from '../actions.ts';
import { about, after, commit, type Mix, north, plain, sceneTheme, set, type Theme } from './theme.ts';

const MINUTE_MS = 60_000;

function lease(name: string, number: number): Extract<Deed, { kind: 'lease' }> {
  return { kind: 'lease', name, site: 'north', address: `10.0.0.${number}` };
}

const mix: Mix = [
  [8, (chance) => [lease(chance.pick(['a-db', 'b-db']), chance.below(6))]],
  [3, (chance) => [{ kind: 'check', instance: chance.pick(['a', 'b']) }]],
  [3, (chance) => [commit(set(chance.pick(['a', 'b']), { takes: chance.is(0.7), db: chance.is(0.8) }))]],
  [2, (chance) => [commit(set(chance.pick(['a', 'b']), { web: chance.below(4), size: chance.pick(['1', '2']) }))]],
  [2, (chance) => [{ kind: 'replace', name: chance.pick(['a-db', 'b-db', 'a-web-1']) }]],
  [2, (chance) => [{ kind: 'vanish', name: chance.pick(['a-db', 'b-db', 'b-web-1']), site: 'north' }]],
  [2, (chance) => [north(chance.pick(['failing', 'late', 'lying', 'sluggish', 'well', 'well']))]],
  [1, (chance) => [commit(set(chance.pick(['a', 'b']), { adopt: true, protected: chance.is(0.3) }))]],
  [1, (chance) => [{ kind: 'suspend', instance: chance.pick(['a', 'b']), forMs: 10 * MINUTE_MS }]],
  [2, (chance) => [{ kind: 'stop', loses: chance.pick(['nothing', 'nothing', 'copy', 'store']), downMs: 1_000 }]],
];

const first: Theme['first'] = (chance) =>
  plain(['a', 'b'], { web: 2, db: true, takes: true, drift: chance.pick(['', 'report', 'heal']) });

const outputs: Theme = { name: 'outputs', first, deeds: about(16, mix) };

/** Servers of proxies, which report the addresses. */
const proxied: Theme = {
  name: 'outputs with proxies',
  proxies: true,
  first: () => plain(['a', 'b'], { web: 2, db: true, takes: true, site: 'east' }),
  deeds: about(16, [
    ...mix,
    [4, (chance) => [{ ...lease(chance.pick(['a-db', 'b-db']), chance.below(6)), site: 'east' }]],
    [2, (chance) => [{ kind: 'proxy', proxy: chance.pick(['B1', 'B2']), does: 'stop', ms: MINUTE_MS }]],
  ]),
};

/** Leases that are renewed with another address each time, for hours. */
const restless = sceneTheme(
  'an address changes again and again',
  () => plain(['a'], { web: 2, db: true, takes: true }),
  (chance) =>
    Array.from({ length: 12 }, (_, number) => [
      after(chance.pick([1, 8]) * MINUTE_MS, lease('a-db', number)),
      after(1_000, { kind: 'check', instance: 'a' } as const),
      ...(chance.is(0.2) ? [after(0, { kind: 'stop', loses: 'nothing', downMs: 1_000 } as const)] : []),
    ]).flat(),
);

/** Returns the themes and scenes. */
export const OUTPUT_THEMES: readonly Theme[] = [outputs, proxied, restless];
