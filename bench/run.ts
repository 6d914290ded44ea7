// Runs a benchmark by its name: `npm run bench -- line`. What each of them measures is in docs/benchmarks.md.
import { benchCliffs } from './cliffs.ts';
import { benchExecute } from './execute.ts';
import { benchHiera } from './hiera.ts';
import { benchHostile } from './hostile.ts';
import { benchLine } from './line.ts';
import { benchReads } from './reads.ts';
import { benchWrites } from './writes.ts';

const EXIT_FAILED = 3;

/** Each gets the rest of the arguments, and tells whether everything that must hold did. */
const BENCHES: ReadonlyMap<string, (args: readonly string[]) => Promise<boolean>> = new Map([
  ['cliffs', benchCliffs],
  ['execute', benchExecute],
  ['hiera', benchHiera],
  ['hostile', benchHostile],
  ['line', benchLine],
  ['reads', benchReads],
  ['writes', benchWrites],
]);

async function run([name = '', ...args]: readonly string[]): Promise<boolean> {
  const bench = BENCHES.get(name);
  if (bench !== undefined) return await bench(args);
  const known = [...BENCHES.keys()].join(', ');
  throw new Error(`there is no benchmark "${name}"; say one of: ${known}. For example: npm run bench -- line`);
}

try {
  process.exitCode = (await run(process.argv.slice(2))) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  // Not only the exit code: processes that were started may still run, and end with this one.
  process.exit(EXIT_FAILED);
}
