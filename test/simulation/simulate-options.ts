// Reads the command line of `npm run simulate`: a seed that is no number would play nothing, and break no promise.
import { parseArgs } from 'node:util';
import { THEMES } from './themes.ts';

const OPTIONS = {
  help: { type: 'boolean', short: 'h', default: false },
  seeds: { type: 'string', default: '2000' },
  from: { type: 'string', default: '1' },
  seed: { type: 'string' },
  all: { type: 'boolean', default: false },
  planted: { type: 'boolean', default: false },
  only: { type: 'string' },
  script: { type: 'boolean', default: false },
  theme: { type: 'string' },
  quiet: { type: 'boolean', default: false },
  progress: { type: 'string' },
  plans: { type: 'boolean', default: false },
  variants: { type: 'boolean', default: false },
} as const;

/** Returns the values of the options. Throws where one is not known or is not as it has to be. */
export function readOptions(args: readonly string[]) {
  try {
    const { values } = parseArgs({ args: [...args], options: OPTIONS });
    return {
      ...values,
      seeds: wholeNumber('seeds', values.seeds),
      from: wholeNumber('from', values.from),
      seed: values.seed === undefined ? undefined : wholeNumber('seed', values.seed),
      progress: values.progress === undefined ? undefined : wholeNumber('progress', values.progress),
      theme: values.theme === undefined ? undefined : themeNamed(values.theme),
    };
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : error}; --help lists the options`);
  }
}

function wholeNumber(name: string, text: string): number {
  const number = /^\d+$/.test(text) ? Number(text) : 0;
  if (number >= 1 && Number.isSafeInteger(number)) return number;
  throw new Error(`--${name}: "${text}" is no whole number from 1 on`);
}

function themeNamed(theme: string): string {
  const names = new Set(THEMES.map(({ name }) => name));
  if (names.has(theme)) return theme;
  throw new Error(`--theme: there is no "${theme}"; say one of: ${[...names].join(', ')}`);
}
