// The command `npm run simulate`: many seeds, or one with its story.
import { parseArgs } from 'node:util';
import { readableJson } from '../support/readable-json.ts';
import type { Kept } from './kept.ts';
import { planAndApply } from './plan-run.ts';
import { plantAll } from './plant.ts';
import { scriptOf } from './script.ts';
import { shrunk } from './shrink.ts';
import { type Run, simulate } from './simulate.ts';
import { playVariants } from './variants.ts';

const HELP = `npm run simulate -- [OPTIONS]: plays random histories of an installation, and watches its promises.

  --seeds N      how many (default: 2000)
  --from N       the first seed (default: 1)
  --all          does not stop at the first broken promise
  --theme NAME   only seeds of that theme
  --quiet        does not print the story of a broken promise
  --seed N       plays one, and shortens its script if a promise is broken; with --script, prints that too,
                 as a file of test/simulation/kept/
  --plans        compares what plans say with what merges do
  --variants     plays histories one by one, in one poll, in groups and with restarts, and compares the results
  --planted      plants each defect of test/simulation/planted/ and prints the first seed that finds it;
                 --only NAME: those whose file begins with NAME
`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', short: 'h' },
    all: { type: 'boolean' },
    quiet: { type: 'boolean' },
    plans: { type: 'boolean' },
    variants: { type: 'boolean' },
    planted: { type: 'boolean' },
    script: { type: 'boolean' },
    theme: { type: 'string' },
    only: { type: 'string' },
    seed: { type: 'string' },
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
  },
});

interface Played {
  /** Undefined: every promise holds. */
  readonly broken: string | undefined;
  readonly story: readonly string[];
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function numberIn(option: 'seeds' | 'from' | 'seed'): number {
  const number = Number(values[option]);
  if (Number.isSafeInteger(number) && number >= 1) return number;
  throw new Error(`--${option}: "${values[option]}" is not a whole number from 1 on`);
}

function brokenIn({ theme, violation }: Run): string | undefined {
  return violation === undefined ? undefined : `(${theme}): ${violation.promise}: ${violation.facts}`;
}

/** Plays a seed in the way that the options name. */
async function play(seed: number, isTold: boolean): Promise<Played> {
  if (values.plans || values.variants) {
    const { differences, story } = values.plans
      ? await planAndApply(seed, { isTold })
      : await playVariants(seed, { isTold });
    return { broken: differences.length === 0 ? undefined : differences.join('; '), story };
  }
  const run = await simulate(seed, { isTold });
  return { broken: brokenIn(run), story: run.story };
}

/** Plays one seed and prints its story, of a broken promise the shortest one. */
async function tell(seed: number): Promise<boolean> {
  const { broken, story } = await play(seed, true);
  print([...story, `seed ${seed} ${broken ?? 'keeps every promise'}`].join('\n'));
  if (broken === undefined || values.plans || values.variants) return broken === undefined;
  const { run, script } = await shrunk(await simulate(seed), scriptOf(seed));
  print(`\nThe shortest script found that breaks it:\n${run.story.join('\n')}\n`);
  const kept: Kept = { title: `seed ${seed} ${brokenIn(run)}`, seed, script };
  if (values.script) print(readableJson(kept).trimEnd());
  return false;
}

/** Plays seeds one after the other, until the first that fails or, with --all, to the end. */
async function playMany(from: number, count: number): Promise<boolean> {
  const began = performance.now();
  let found = 0;
  for (let seed = from; seed < from + count; seed += 1) {
    if (values.theme !== undefined && scriptOf(seed).theme !== values.theme) continue;
    const { broken } = await play(seed, false);
    if (broken === undefined) continue;
    found += 1;
    print(`seed ${seed} ${broken}`);
    if (values.all) continue;
    if (!values.quiet) await tell(seed);
    return false;
  }
  print(`${count} seeds in ${((performance.now() - began) / 1000).toFixed(1)} s; ${found} break a promise`);
  return found === 0;
}

async function main(): Promise<boolean> {
  if (values.help) {
    print(HELP.trimEnd());
    return true;
  }
  if (values.planted) return await plantAll(numberIn('seeds'), values.only);
  if (values.seed !== undefined) return await tell(numberIn('seed'));
  return await playMany(numberIn('from'), numberIn('seeds'));
}

process.exitCode = (await main()) ? 0 : 1;
