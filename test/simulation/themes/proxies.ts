// Themes about servers that proxies look after: agents that die, lose their line, come back or are
// removed, sites that lose their servers, and servers that move to another site.

import type { Chance } from '../chance.ts';
import {
  about,
  after,
  aName,
  anInstance,
  commit,
  plain,
  REMOTE_SITES,
  removal,
  sceneTheme,
  set,
  type Theme,
  type TimedDeed,
} from './theme.ts';

const MINUTE_MS = 60_000;
/** The file of the client of a proxy at the east site. The other proxy of that site stays registered. */
const B1 = 'clients/B1.yaml';
/** The file of the client of the only proxy at the west site. */
const B3 = 'clients/B3.yaml';

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
        { kind: 'site', site: 'east', mood: chance.pick(['failing', 'throwing', 'sluggish', 'dead', 'well', 'well']) },
      ],
    ],
    [1, (chance) => [commit(set(chance.pick(['a', 'b']), { site: chance.pick(REMOTE_SITES) }))]],
    [1, (chance) => [commit({ path: B1, is: chance.pick(['removed', 'corrected']) })]],
    [1, () => [{ kind: 'slow disk', ms: 10 * MINUTE_MS }]],
    [1, (chance) => [removal(anInstance(chance))]],
    [1, (chance) => [{ kind: 'replace', name: chance.pick(['a-web-1', 'b-web-1']) }]],
  ]),
};

/** An action is claimed, the controller or the agent is killed, and the line is cut for longer than the action takes. */
const cutOff = sceneTheme(
  'a site is cut off',
  (chance) => plain(['a', 'b'], { web: chance.pick([1, 2]), site: 'east' }),
  (chance) => [
    after(MINUTE_MS, { kind: 'site', site: 'east', mood: chance.pick(['sluggish', 'well', 'dead']) }),
    after(0, commit(set('a', { size: chance.pick(['2', '3', '4']) }))),
    after(chance.below(12_000), {
      kind: 'proxy',
      proxy: 'B1',
      does: chance.pick(['stop', 'cut']),
      ms: chance.pick([30_000, 80_000, 150_000]),
    }),
    after(0, {
      kind: 'proxy',
      proxy: 'B2',
      does: chance.pick(['stop', 'cut']),
      ms: chance.pick([1_000, 150_000, 20 * MINUTE_MS]),
    }),
    ...(chance.is(0.6)
      ? [after(chance.below(9_000), { kind: 'stop', loses: 'nothing', downMs: chance.pick([0, 100]) } as const)]
      : []),
    after(chance.below(90_000), commit(set('a', { size: chance.pick(['2', '3', '4']) }))),
  ],
  { proxies: true },
);

/** A commit removes a client whose proxy is at work, and another one registers it again. */
const removed = sceneTheme(
  'a proxy is removed',
  () => plain(['a', 'b'], { web: 3, unavailable: '3', site: 'east' }),
  (chance) => [
    after(MINUTE_MS, { kind: 'site', site: 'east', mood: chance.pick(['sluggish', 'well', 'late']) }),
    after(0, { kind: 'slow disk', ms: chance.pick([1_000, 10 * MINUTE_MS, 10 * MINUTE_MS]) }),
    after(0, commit(...['a', 'b'].map((name) => set(name, { size: chance.pick(['2', '3', '4']) })))),
    after(
      chance.below(chance.pick([4_000, 4_000, 15_000])),
      commit({ path: B1, is: 'removed' }, set('b', { size: chance.pick(['2', '3', '4']) })),
    ),
    after(chance.pick([0, 20_000, 3 * MINUTE_MS]), commit(set('b', { size: chance.pick(['1', '5']) }))),
    after(chance.pick([1_000, MINUTE_MS, 10 * MINUTE_MS]), commit({ path: B1, is: 'corrected' })),
  ],
  { proxies: true },
);

/** The only proxy of a site is removed while its servers rest, and is registered again later. */
const lastRemoved = sceneTheme(
  'the last proxy of a site is removed',
  () => plain(['a', 'b'], { web: 2, site: 'west' }),
  (chance) => [
    after(3 * MINUTE_MS, commit({ path: B3, is: 'removed' })),
    after(chance.pick([MINUTE_MS, 10 * MINUTE_MS]), commit(set('b', { size: chance.pick(['2', '3', '4']) }))),
    after(chance.pick([1_000, 10 * MINUTE_MS]), commit({ path: B3, is: 'corrected' })),
  ],
  { proxies: true },
);

/** A site that proxies look after loses many servers at once. */
const emptied = sceneTheme(
  'a remote site loses its servers',
  () => plain(['a', 'b'], { web: 3, drift: 'heal', site: 'east' }),
  (chance) => [
    ...['a-web-1', 'a-web-2', 'a-web-3', 'b-web-1', 'b-web-2', 'b-web-3'].map((name) =>
      after(chance.pick([0, 1_000, MINUTE_MS]), { kind: 'vanish', name, site: 'east' } as const),
    ),
    after(chance.pick([0, 6 * MINUTE_MS]), {
      kind: 'proxy',
      proxy: 'B1',
      does: chance.pick(['stop', 'cut']),
      ms: chance.pick([1_000, 3 * MINUTE_MS]),
    }),
    after(20 * MINUTE_MS, { kind: 'retry', instance: chance.pick(['a', 'b']) }),
  ],
  { proxies: true },
);

/** Strangers build, change and remove servers at both sites, and people adopt, replace and move servers of these names. */
const remoteStrangers: Theme = {
  name: 'strangers at remote sites',
  proxies: true,
  first: (chance) => plain(['a', 'b'], { web: 2, db: true, webNeeds: chance.pick(['db', '']), site: 'east' }),
  deeds: about(20, [
    [5, (chance) => [stranger(chance)]],
    [2, (chance) => [{ kind: 'vanish', name: aName(chance), site: 'east' }]],
    [1, (chance) => vanishAndBuild(chance, 'east')],
    [1, (chance) => [{ kind: 'tamper', name: aName(chance), site: 'east', size: chance.pick(['7', '8']) }]],
    [
      3,
      (chance) => [commit(set(chance.pick(['a', 'b', 'c']), { web: chance.below(4), size: chance.pick(['1', '2']) }))],
    ],
    [2, (chance) => [commit(set(chance.pick(['a', 'b']), { site: chance.pick(REMOTE_SITES), adopt: chance.is(0.2) }))]],
    [2, (chance) => [{ kind: 'adopt', instance: chance.is(0.5) ? anInstance(chance) : null }]],
    [2, (chance) => [{ kind: 'replace', name: aName(chance) }]],
    [2, (chance) => [trouble(chance)]],
    [
      2,
      (chance) => [
        { kind: 'site', site: 'east', mood: chance.pick(['failing', 'throwing', 'late', 'broken', 'well', 'well']) },
      ],
    ],
    [1, (chance) => [removal(anInstance(chance))]],
    [1, () => [{ kind: 'stop', loses: 'nothing', downMs: 1_000 }]],
  ]),
};

function stranger(chance: Chance): TimedDeed {
  return { kind: 'stranger', name: aName(chance), site: chance.pick(REMOTE_SITES) };
}

/** A server is gone, and a stranger's takes its place. */
function vanishAndBuild(chance: Chance, site: string): readonly TimedDeed[] {
  const name = aName(chance);
  return [
    { kind: 'vanish', name, site },
    { kind: 'stranger', name, site },
  ];
}

/** Returns the themes and scenes. */
export const PROXY_THEMES: readonly Theme[] = [proxies, cutOff, removed, lastRemoved, emptied, remoteStrangers];
