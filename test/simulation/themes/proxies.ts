// Themes about servers that proxies look after: agents that die, lose their line and come back, and a controller that is killed.

import type { Chance } from '../chance.ts';
import {
  about,
  after,
  anInstance,
  commit,
  plain,
  removal,
  sceneTheme,
  set,
  type Theme,
  type TimedDeed,
} from './theme.ts';

const MINUTE_MS = 60_000;

function trouble(chance: Chance): TimedDeed {
  const proxy = chance.pick(['B1', 'B2']);
  const ms = chance.pick([1_000, 20_000, MINUTE_MS, 3 * MINUTE_MS, 10 * MINUTE_MS]);
  return { kind: 'proxy', proxy, does: chance.is(0.5) ? 'stop' : 'cut', ms };
}

const proxies: Theme = {
  name: 'proxies',
  proxies: true,
  first: (chance) => plain(['a', 'b'], { web: 2, db: chance.is(0.5), site: 'east' }),
  deeds: about(18, [
    [6, (chance) => [trouble(chance)]],
    [3, (chance) => [trouble(chance), trouble(chance)]],
    [
      4,
      (chance) => [commit(set(chance.pick(['a', 'b']), { size: chance.pick(['1', '2', '3']), web: chance.below(4) }))],
    ],
    [3, (chance) => [{ kind: 'stop', loses: 'nothing', downMs: chance.pick([0, 1_000, 100_000]) }]],
    [
      3,
      (chance) => [
        { kind: 'site', site: 'east', mood: chance.pick(['failing', 'throwing', 'sluggish', 'well', 'well']) },
      ],
    ],
    [1, (chance) => [removal(anInstance(chance))]],
    [1, (chance) => [{ kind: 'replace', name: chance.pick(['a-web-1', 'b-web-1']) }]],
  ]),
};

/** An action is claimed, the controller or the agent is killed, and the line is cut for longer than the action takes. */
const cutOff = sceneTheme(
  'a site is cut off',
  () => plain(['a', 'b'], { web: 2, site: 'east' }),
  (chance) => [
    after(MINUTE_MS, { kind: 'site', site: 'east', mood: chance.pick(['sluggish', 'well']) }),
    after(0, commit(set('a', { size: chance.pick(['2', '3', '4']) }))),
    after(chance.below(12_000), {
      kind: 'proxy',
      proxy: 'B1',
      does: chance.pick(['stop', 'cut']),
      ms: chance.pick([30_000, 150_000]),
    }),
    after(0, { kind: 'proxy', proxy: 'B2', does: chance.pick(['stop', 'cut']), ms: chance.pick([1_000, 150_000]) }),
    ...(chance.is(0.6)
      ? [after(chance.below(9_000), { kind: 'stop', loses: 'nothing', downMs: chance.pick([0, 100]) } as const)]
      : []),
    after(chance.below(90_000), commit(set('a', { size: chance.pick(['2', '3', '4']) }))),
  ],
  { proxies: true },
);

/** Returns the themes and scenes. */
export const PROXY_THEMES: readonly Theme[] = [proxies, cutOff];
