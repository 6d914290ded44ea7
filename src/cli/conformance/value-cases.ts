// The cases about names and values that are data, whatever they look like.
import { existsSync } from 'node:fs';
import type { ConformanceCase } from './conformance-case.ts';
import { runLifeCycle } from './life-cycle.ts';
import { Deviation, type Trial } from './trial.ts';

/** The cases in their order. */
export const VALUE_CASES: readonly ConformanceCase[] = [
  {
    title: 'a name with all characters that names may have is one server',
    run: (trial) => runLifeCycle(trial, trial.nameOf('A.b_c-1')),
  },
  hostile('quotes and line feeds in a value are data', () => `it's "quoted" \\ and\nhas two lines`),
  hostile(
    'what a shell would run is data',
    ({ options: { trap } }) => `$(touch ${trap}); \`touch ${trap}\` | touch ${trap}`,
  ),
  hostile('a value that looks like an option is data', () => '--help'),
  hostile('letters of all scripts, and an empty value, are data', () => 'Grüße 東京 🚀 ../../x'),
];

function hostile(title: string, value: (trial: Trial) => string): ConformanceCase {
  return {
    title,
    async run(trial) {
      const properties = { note: value(trial), empty: '' };
      await runLifeCycle(trial, trial.nameOf('value'), { properties });
      if (existsSync(trial.options.trap)) throw new Deviation('the value was run by a shell');
    },
  };
}
