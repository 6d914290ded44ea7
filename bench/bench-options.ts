// Reads the command line of the benchmarks, and says in `--help` what it may hold.
import { parseArgs } from 'node:util';
import type { BenchPart, Option, OptionValue } from './bench-part.ts';

/** The options that all parts have in common. */
const COMMON = {
  quick: { type: 'boolean', default: false },
  details: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const COMMON_HELP = [
  '  --quick        small sizes: shows that it runs, and no more',
  '  --details      what each part measured, below the table (of one part: always)',
];

/** A command line that was read. */
export interface Command {
  /** Empty where no name is given. */
  readonly names: readonly string[];
  readonly isQuick: boolean;
  readonly isDetailed: boolean;
  readonly isHelp: boolean;
  /** Returns the values of a part's options. */
  readonly valuesOf: (part: BenchPart) => Readonly<Record<string, OptionValue>>;
}

/** Returns what the arguments say: names first, then options; those of a part only where it is the only one. */
export function readCommand(args: readonly string[], parts: readonly BenchPart[]): Command {
  const firstOption = args.findIndex((arg) => arg.startsWith('-'));
  const names = args.slice(0, firstOption === -1 ? args.length : firstOption);
  for (const name of names) partNamed(name, parts);
  const only = names.length === 1 ? partNamed(names[0] ?? '', parts) : undefined;
  const own = Object.entries(only?.options ?? {}).map(
    ([name, option]) => [name, { type: option.kind === 'flag' ? 'boolean' : 'string' }] as const,
  );
  const values = parsedOptions(args.slice(names.length), { ...COMMON, ...Object.fromEntries(own) });
  const given: Readonly<Record<string, string | boolean | undefined>> = values;
  return {
    names,
    isQuick: values.quick,
    isDetailed: values.details || only !== undefined,
    isHelp: values.help,
    valuesOf: ({ options }) =>
      Object.fromEntries(
        Object.entries(options).map(([name, option]) => [name, optionValue(name, option, given[name], values.quick)]),
      ),
  };
}

function parsedOptions(args: readonly string[], options: typeof COMMON) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    const said = error instanceof Error ? error.message : error;
    throw new Error(
      `${said}; names come before options, those of a part count where it is the only one, and --help lists them`,
    );
  }
}

/** Returns the part with a name. Throws where there is none, with the names that there are. */
export function partNamed(name: string, parts: readonly BenchPart[]): BenchPart {
  const found = parts.find((part) => part.name === name);
  if (found !== undefined) return found;
  throw new Error(`there is no benchmark "${name}"; say one of: ${parts.map((part) => part.name).join(', ')}`);
}

function optionValue(name: string, option: Option, given: string | boolean | undefined, isQuick: boolean): OptionValue {
  if (option.kind === 'flag') return given === true;
  if (typeof given !== 'string') return defaultOf(option, isQuick);
  if (option.kind === 'number') return wholeNumber(given, { option: `--${name}`, max: option.max });
  const texts = given.split(',');
  if (option.kind === 'numbers') {
    return texts.map((text) => wholeNumber(text, { option: `--${name}`, max: option.max }));
  }
  const unknown = texts.find((text) => !option.of.includes(text));
  if (unknown === undefined) return texts;
  throw new Error(`--${name}: there is no "${unknown}"; say some of: ${option.of.join(', ')}`);
}

function defaultOf(option: Exclude<Option, { kind: 'flag' }>, isQuick: boolean): OptionValue {
  const usual = option.kind === 'names' ? option.of : option.default;
  return isQuick ? (option.quick ?? usual) : usual;
}

/** Returns the number of an option. Throws where it is none from 1 to `max`. */
function wholeNumber(text: string, { option, max }: { readonly option: string; readonly max: number }): number {
  const number = /^\d+$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > max) throw new Error(`${option}: "${text}" is no whole number from 1 to ${max}`);
  return number;
}

/** Returns the help on all parts, or on those that are named. */
export function helpText(names: readonly string[], parts: readonly BenchPart[]): string {
  const width = Math.max(...parts.map(({ name }) => name.length));
  const shown = names.length === 0 ? parts : names.map((name) => partNamed(name, parts));
  const lines = shown.flatMap(({ name, summary, options }) => [
    `  ${name.padEnd(width)}  ${summary}`,
    ...(names.length === 0 ? [] : Object.entries(options).map((each) => optionHelp(...each))),
  ]);
  return [
    'npm run bench                   all parts of the table',
    'npm run bench -- NAME…          some of them, names before options; `npm run -s` keeps standard output clean',
    'npm run bench -- NAME --help    the options of one',
    '',
    ...lines,
    '',
    ...COMMON_HELP,
    '',
    'Exit code 0: no target is missed (with --quick they do not count); 1: one is; 3: a part could not be measured.',
    '',
  ].join('\n');
}

function optionHelp(name: string, option: Option): string {
  if (option.kind === 'flag') return `      --${name}: ${option.help}`;
  const values = [false, true].map((isQuick) => String(defaultOf(option, isQuick)));
  const [usual, quick] = option.kind === 'names' && values[0] === option.of.join() ? ['all', values[1]] : values;
  const some = option.kind === 'names' ? ` Some of: ${option.of.join(', ')}.` : '';
  const quickly = quick === usual || option.quick === undefined ? '' : `; ${quick} with --quick`;
  return `      --${name}: ${option.help} (${usual}${quickly}).${some}`;
}
