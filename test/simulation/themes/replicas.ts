// Themes of several replicas that share a database: the leader is killed, stopped, paused for longer than its lease, or cut off.
import type { Deed } from '../actions.ts';
import type { Chance } from '../chance.ts';
import {
  about,
  after,
  anInstance,
  change,
  changeOf,
  commit,
  type Mix,
  plain,
  sceneTheme,
  set,
  someInstances,
  type Theme,
} from './theme.ts';

type Fault = Extract<Deed, { readonly kind: 'replica' }>;

const STEPS = ['begin', 'begin', 'lock', 'commit', 'renewal'] as const;

/** A fault of a leader, mostly. Half of them last longer than a lease, and half begin within a transaction. */
function aFault(chance: Chance): Fault {
  return {
    kind: 'replica',
    which: chance.is(0.75) ? 'leader' : 'standby',
    does: chance.pick(['kill', 'stop', 'hang', 'hang', 'sleep', 'cut', 'cut']),
    ms: chance.pick([0, 3_000, 11_000, 15_000, 40_000, 100_000, 200_000]),
    ...(chance.is(0.5) ? { in: chance.pick(STEPS) } : {}),
  };
}

/** What makes another replica lead while this one may still think that it does, or the loss of the leader. */
function aLoss(chance: Chance): Deed {
  const hangs = { kind: 'replica', which: 'leader', does: chance.pick(['hang', 'sleep'] as const) } as const;
  return chance.weighted<Deed>([
    [4, { ...hangs, ms: chance.pick([15_000, 30_000, 100_000]), in: chance.pick(STEPS) }],
    [2, { ...aFault(chance), which: 'leader' }],
    [1, { kind: 'replica', which: 'leader', does: 'kill', ms: 100_000 }],
    [1, { kind: 'database clock', ms: 600_000 }],
  ]);
}

const faults: Mix = [
  [6, (chance) => [aFault(chance)]],
  [2, (chance) => [commit(changeOf(chance)), { kind: 'poll' }, aFault(chance)]],
  [2, (chance) => [aFault(chance), after(chance.below(20_000), aFault(chance))]],
  [1, (chance) => [{ kind: 'database clock', ms: chance.pick([-600_000, 8_000, 600_000]) }, aFault(chance)]],
];

const replicas: Theme = {
  name: 'replicas',
  hasReplicas: true,
  first: someInstances,
  deeds: about(8, faults),
};

const withProxies: Theme = {
  name: 'replicas with proxies',
  hasReplicas: true,
  proxies: true,
  first: (chance) => plain(['a', 'b'], { web: 2, site: chance.pick(['east', 'west', 'north']) }),
  deeds: about(8, faults),
  times: (chance) => 3 + chance.below(6),
};

/** Calls begin, and what leads is paused or cut off at about the same moment, for about as long as a lease or a call lasts. */
const takeovers = sceneTheme(
  'a takeover while calls begin',
  (chance) => plain(['a', 'b'], { web: 1 + chance.below(3), db: true }),
  (chance) => {
    const instance = anInstance(chance);
    return [
      ...(chance.is(0.3)
        ? [after(60_000, { kind: 'replica', which: 'standby', does: 'cut', ms: 12_000 } as const)]
        : []),
      after(chance.pick([0, 60_000]), {
        kind: 'site',
        site: 'north',
        mood: chance.pick(['well', 'sluggish', 'late', 'failing']),
      }),
      after(0, commit(set(instance, change(chance, instance)), changeOf(chance))),
      after(0, { kind: 'poll' }),
      after(chance.below(chance.pick([600, 4_000])), aLoss(chance)),
      ...(chance.is(0.4) ? [after(chance.below(30_000), commit(changeOf(chance)))] : []),
      ...(chance.is(0.4) ? [after(chance.below(30_000), aFault(chance))] : []),
      after(chance.pick([20_000, 200_000]), { kind: 'site', site: 'north', mood: 'well' }),
    ];
  },
  { hasReplicas: true },
);

/** A standby that is behind gets the lease at once; or two might hold one, since the clock of the database is set. */
const handedOver = sceneTheme(
  'a lease that is given away',
  () => plain(['a', 'b'], { web: 2, db: true }),
  (chance) => {
    const changed = commit(
      set(chance.pick(['a', 'b', 'c']), { web: chance.below(4), size: chance.pick(['1', '2', '3']) }),
    );
    if (chance.is(0.5)) {
      return [
        after(60_000, { kind: 'replica', which: 'standby', does: 'cut', ms: 12_000 }),
        after(0, changed),
        after(0, { kind: 'poll' }),
        after(3_000 + chance.below(5_000), { kind: 'replica', which: 'leader', does: 'stop', ms: 100_000 }),
      ];
    }
    // A cut of no length: leases are renewed for some time after it.
    return [
      after(60_000, { kind: 'replica', which: 'standby', does: 'cut', ms: 0 }),
      after(15_000 + chance.below(3_000), { kind: 'database clock', ms: 600_000 }),
      after(chance.below(1_500), { kind: 'check', instance: 'a' }),
      after(100, { kind: 'check', instance: 'b' }),
      after(chance.below(1_000), changed),
    ];
  },
  { hasReplicas: true },
);

/** The history is rewritten, and replicas lose their copies one after the other, until none may have the followed commit. */
const lostHead = sceneTheme(
  'the followed commit is in no copy',
  () => plain(['a', 'b'], { web: 2 }),
  (chance) => [
    after(60_000, commit(changeOf(chance))),
    after(0, { kind: 'poll' }),
    after(chance.pick([700, 2_000, 20_000]), { kind: 'rewrite', back: 1, edits: [] }),
    ...Array.from({ length: 1 + chance.below(4) }, () =>
      after(chance.pick([400, 15_000, 25_000]), {
        kind: 'stop',
        loses: 'copy',
        downMs: chance.pick([1_000, 1_000, 100_000]),
      } as const),
    ),
    ...(chance.is(0.5) ? [after(chance.below(100_000), commit(changeOf(chance)))] : []),
    ...(chance.is(0.3) ? [after(chance.below(200_000), { kind: 'accept history' } as const)] : []),
  ],
  { hasReplicas: true },
);

export const REPLICA_THEMES: readonly Theme[] = [
  ...[replicas, replicas, withProxies],
  ...[takeovers, takeovers, handedOver, lostHead],
];
