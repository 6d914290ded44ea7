// The command `npm run simulate`: many seeds, or one with its story.
import { watchEndlessRuns } from './endless-runs.ts';
import { printKept } from './kept.ts';
import { scriptOf } from './script.ts';
import { shrunk } from './shrink.ts';
import { type Run, simulate } from './simulate.ts';
import { readOptions } from './simulate-options.ts';

const HELP = `npm run simulate -- [OPTIONS]: plays random histories of an installation, and watches its promises.

  --seeds N       how many (default: 2000)
  --from N        the first seed (default: 1)
  --all           does not stop at the first broken promise
  --theme NAME    only seeds of that theme
  --quiet         does not tell the story of a broken promise
  --progress N    tells after every N seeds how far it is
  --seed N        plays one, and shortens its script where a promise is broken; with --script, prints that too,
                  as a file of test/simulation/kept/
  --plans         compares what plans say with what merges do
  --variants      plays histories one by one, in one poll, in groups and with restarts, and compares what is left
  --planted       plants each defect of test/simulation/planted/ and prints the first seed that finds it;
                  --only NAME: those whose file begins with NAME
`;

const EXIT_WRONG_OPTION = 3;

function optionsOrEnd(): ReturnType<typeof readOptions> {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    // A stack would hide what is wrong with the option.
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exit(EXIT_WRONG_OPTION);
  }
}

const values = optionsOrEnd();

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function report({ seed, theme, violation }: Run): string {
  return `seed ${seed} (${theme}): ${violation === undefined ? 'all promises hold' : `${violation.promise}: ${violation.facts}`}`;
}

async function tell(seed: number, noteRun = watchEndlessRuns()): Promise<boolean> {
  noteRun(seed);
  const run = await simulate(seed, { isTold: true });
  if (run.violation === undefined || values.all) print(run.story.join('\n'));
  print(report(run));
  if (run.violation === undefined || values.all) return run.violation === undefined;
  const small = await shrunk(run, scriptOf(seed), noteRun);
  print(`\nThe shortest script found that breaks it:\n${small.run.story.join('\n')}\n`);
  if (values.script) print(printKept({ title: report(small.run), seed, script: small.script }).trimEnd());
  return false;
}

/** Runs them one after the other, until the first that fails or, with --all, to the end. */
async function runMany(from: number, count: number): Promise<boolean> {
  const began = performance.now();
  const noteRun = watchEndlessRuns();
  const finds = new Map<string, { seed: number; count: number }>();
  for (let seed = from; seed < from + count; seed += 1) {
    tellProgress({ done: seed - from, count, from, began });
    const script = scriptOf(seed);
    if (values.theme !== undefined && script.theme !== values.theme) continue;
    noteRun(seed);
    const run = await simulate(seed, { script });
    if (run.violation === undefined) continue;
    const { promise } = run.violation;
    const known = finds.get(promise);
    finds.set(promise, { seed: known?.seed ?? seed, count: (known?.count ?? 0) + 1 });
    print(report(run));
    if (!values.all) {
      if (!values.quiet) await tell(seed, noteRun);
      return false;
    }
  }
  const seconds = (performance.now() - began) / 1000;
  print(
    `${count} seeds in ${seconds.toFixed(1)} s: ${(count / seconds).toFixed(0)} a second; ${finds.size} promises broken`,
  );
  for (const [promise, { seed, count: times }] of finds) print(`  ${times} times: ${promise} (first: seed ${seed})`);
  return finds.size === 0;
}

/** Tells on the error stream how far it is, after every `--progress` seeds. */
function tellProgress({
  done,
  count,
  from,
  began,
}: Readonly<Record<'done' | 'count' | 'from' | 'began', number>>): void {
  if (done === 0 || values.progress === undefined || done % values.progress !== 0) return;
  const seconds = (performance.now() - began) / 1000;
  const left = ((count - done) * seconds) / done / 60;
  process.stderr.write(
    `${done} of ${count} seeds from ${from}, ${(done / seconds).toFixed(0)} a second; ${left.toFixed(0)} minutes left\n`,
  );
}

async function main(): Promise<boolean> {
  if (values.help) {
    print(HELP.trimEnd());
    return true;
  }
  if (values.plans) return (await import('./run-plans.ts')).runPlans(values);
  if (values.variants) return (await import('./variants.ts')).runVariants(values);
  if (values.planted) return (await import('./plant.ts')).plantAll(values.seeds, values.only);
  if (values.seed !== undefined) return tell(values.seed);
  return runMany(values.from, values.seeds);
}

process.exitCode = (await main()) ? 0 : 1;
