// Draws the script of a run from its seed, before the run begins.
import type { DriftPolicy } from '../../src/model/objects.ts';
import type { Action } from './actions.ts';
import { Chance, drawn } from './chance.ts';
import { DRIFT_THEMES } from './themes/drift.ts';
import { LIFE_THEMES } from './themes/life.ts';
import { OUTPUT_THEMES } from './themes/outputs.ts';
import { PROXY_THEMES } from './themes/proxies.ts';
import { SAFETY_THEMES } from './themes/safety.ts';
import { ANYTHING, mixed, someInstances, type Theme } from './themes/theme.ts';
import { WAITING_THEMES } from './themes/waiting.ts';

const general: Theme = { name: 'everything', first: someInstances, deeds: mixed(...ANYTHING) };

/** Returns every theme; those that are there twice come twice as often. */
const THEMES: readonly [Theme, ...Theme[]] = [
  ...([general, general] as const),
  ...[...SAFETY_THEMES, ...LIFE_THEMES, ...WAITING_THEMES],
  ...[...DRIFT_THEMES, ...PROXY_THEMES, ...OUTPUT_THEMES],
];

export interface Script {
  readonly theme: string;
  /** Whether the north site ignores the case of names, and whether its actions outlive a controller. */
  readonly ignoresCase: boolean;
  readonly outlives: boolean;
  /** How the actions of both sites end where they do not outlive a controller; 'with the controller' if omitted. */
  readonly endsWithCall?: boolean;
  /** The drift policies of the provider entries north and south; `report` if omitted. */
  readonly drift?: { readonly north: DriftPolicy; readonly south: DriftPolicy };
  /** Whether there are two more sites, east and west, that proxies look after. */
  readonly proxies?: boolean;
  /** Whether people approve what is held when everything settles. */
  readonly approvesAtEnd: boolean;
  readonly actions: readonly Action[];
}

/** Returns the script of a seed. */
export function scriptOf(seed: number): Script {
  const chance = new Chance(seed);
  const theme = chance.pick(THEMES);
  const script = {
    theme: theme.name,
    ignoresCase: chance.is(theme.ignoresCase ?? 0.1),
    outlives: chance.is(theme.outlives ?? 0.4),
    approvesAtEnd: chance.is(0.6),
  };
  return { ...script, ...settingsOf(seed, theme), actions: [...actionsOf(theme, chance)] };
}

/** Drawn by key: the actions of a seed do not depend on it. */
function settingsOf(seed: number, theme: Theme): Partial<Script> {
  const policyOf = (site: string): DriftPolicy => {
    const luck = drawn(seed, `drift ${site}`);
    const heals = theme.heals ?? 0.25;
    if (luck < heals) return 'heal';
    return luck > 0.9 ? 'off' : 'report';
  };
  return {
    endsWithCall: drawn(seed, 'ends with its call') < 0.35,
    drift: { north: policyOf('north'), south: policyOf('south') },
    ...(theme.proxies ? { proxies: true } : {}),
  };
}

function* actionsOf(theme: Theme, chance: Chance): Generator<Action> {
  yield { kind: 'commit', edits: theme.first(chance), after: 0 };
  const isLate = chance.is(theme.startsLate ?? 0.1);
  const startsAt = isLate ? 1 + chance.below(4) : 0;
  const count = theme.times?.(chance) ?? 5 + chance.below(15);
  for (let number = 0; number < count; number += 1) {
    if (number === Math.min(startsAt, count - 1)) {
      yield { kind: 'start', after: 0 };
      if (!isLate) yield { kind: 'poll', after: chance.pick([100, 5_000, 60_000, 300_000]) };
    }
    const deeds = theme.deeds(chance);
    let after = gapOf(chance);
    for (const deed of deeds) {
      yield { ...deed, after: deed.after ?? after };
      after = chance.pick([0, 0, 3, 40, 1_000, 8_000]);
    }
  }
}

/** Most gaps are short, so that things meet; some are long, so that they end. */
function gapOf(chance: Chance): number {
  return chance.weighted([
    [3, 0],
    [3, 20],
    [4, 400],
    [4, 3_000],
    [4, 20_000],
    [4, 120_000],
    [2, 700_000],
    [1, 4_000_000],
  ]);
}
