// Defines the themes of a run. A theme is a mixture of events that brings some together more often than chance would, with a
// little of everything. The themes of scenes play a few events in the order that matters.
import { DRIFT_THEMES } from './themes/drift.ts';
import { LIFE_THEMES } from './themes/life.ts';
import { OUTPUT_THEMES } from './themes/outputs.ts';
import { PROXY_THEMES } from './themes/proxies.ts';
import { SAFETY_THEMES } from './themes/safety.ts';
import { LIFE_SCENES } from './themes/scenes-life.ts';
import { LIVES_SCENES } from './themes/scenes-lives.ts';
import { SAFETY_SCENES } from './themes/scenes-safety.ts';
import { WAITING_SCENES } from './themes/scenes-waiting.ts';
import { ANYTHING, mixed, someInstances, type Theme } from './themes/theme.ts';
import { WAITING_THEMES } from './themes/waiting.ts';

const general: Theme = { name: 'everything', first: someInstances, deeds: mixed(...ANYTHING) };

/** Returns every theme; those that are there twice come twice as often. */
export const THEMES: readonly [Theme, ...Theme[]] = [
  ...([general, general] as const),
  ...[...SAFETY_THEMES, ...LIFE_THEMES, ...WAITING_THEMES],
  ...[...SAFETY_SCENES, ...LIFE_SCENES, ...LIVES_SCENES, ...WAITING_SCENES],
  ...[...DRIFT_THEMES, ...PROXY_THEMES, ...OUTPUT_THEMES],
];
