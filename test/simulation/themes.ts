// Defines the themes of a run. A theme is a mixture of events that brings some together more often than chance would, with a
// little of everything.
import { DRIFT_THEMES } from './themes/drift.ts';
import { LIFE_THEMES } from './themes/life.ts';
import { OUTPUT_THEMES } from './themes/outputs.ts';
import { PROXY_THEMES } from './themes/proxies.ts';
import { SAFETY_THEMES } from './themes/safety.ts';
import { ANYTHING, mixed, someInstances, type Theme } from './themes/theme.ts';
import { WAITING_THEMES } from './themes/waiting.ts';

const general: Theme = { name: 'everything', first: someInstances, deeds: mixed(...ANYTHING) };

/** Returns every theme; those that are there twice come twice as often. */
export const THEMES: readonly [Theme, ...Theme[]] = [
  ...([general, general] as const),
  ...[...SAFETY_THEMES, ...LIFE_THEMES, ...WAITING_THEMES],
  ...[...DRIFT_THEMES, ...PROXY_THEMES, ...OUTPUT_THEMES],
];
