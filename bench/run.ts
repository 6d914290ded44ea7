// Runs all benchmarks, or the named ones (`npm run bench -- line`), and prints the results as one table.
// docs/benchmarks.md describes them.
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { hasMissedTarget, type MeasuredPart, tableText } from './bench-report.ts';
import { absentRow, type BenchPart } from './bench-row.ts';
import { EXECUTE } from './execute.ts';
import { FETCH } from './fetch.ts';
import { LINE } from './line.ts';
import { endOwnedProcesses, guardEnd } from './owned-process.ts';
import { READS } from './reads.ts';
import { RECORDS } from './records.ts';
import { STALLS } from './stalls.ts';
import { WRITES } from './writes.ts';

const EXIT_MISSED = 1;
const EXIT_FAILED = 3;

/** The parts of the table, in its order. */
const PARTS: readonly BenchPart[] = [LINE, READS, STALLS, RECORDS, WRITES, FETCH, EXECUTE];

/** Returns the exit code. */
async function run(args: string[]): Promise<number> {
  if (process.platform !== 'linux') throw new Error('what a process costs is read from /proc: this runs on Linux only');
  const options = { quick: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h' } } as const;
  const { values, positionals: names } = parseArgs({ args, options, allowPositionals: true });
  const unknown = names.find((name) => !PARTS.some((part) => part.name === name));
  if (unknown !== undefined) throw new Error(`there is no benchmark "${unknown}"; --help lists them`);
  if (values.help) {
    process.stdout.write(helpText());
    return 0;
  }
  // Before the first folder is created, because an interruption has to remove it too.
  guardEnd();
  const [loadAtStart = Number.NaN] = loadavg();
  const parts: MeasuredPart[] = [];
  let isComplete = true;
  for (const part of PARTS.filter(({ name }) => names.length === 0 || names.includes(name))) {
    const measured = await measure(part, values.quick);
    parts.push(measured ?? failedPart(part));
    isComplete &&= measured !== undefined;
  }
  const report = { loadAtStart, isQuick: values.quick, parts };
  process.stdout.write(`${tableText(report)}\n`);
  if (!isComplete) return EXIT_FAILED;
  return hasMissedTarget(report) ? EXIT_MISSED : 0;
}

function helpText(): string {
  return `npm run bench              all parts of the table
npm run bench -- NAME…     some of them

${PARTS.map(({ name, summary }) => `  ${name.padEnd(8)}  ${summary}`).join('\n')}

  --quick   small sizes: shows that it runs, and no more

Exit code 0: no target is missed (with --quick they do not count); 1: one is; 3: a part could not be measured.
`;
}

/** Resolves with undefined if the part failed. Standard error has the details. */
async function measure(part: BenchPart, isQuick: boolean): Promise<MeasuredPart | undefined> {
  const folder = mkdtempSync(join(tmpdir(), `treeline-bench-${part.name}-`));
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  process.once('exit', remove);
  say(`${part.name}: ${part.summary}`);
  try {
    return { part: part.name, ...(await part.run({ folder, isQuick, say })) };
  } catch (error) {
    say(`${part.name} could not be measured: ${error instanceof Error ? error.stack : error}`);
    return undefined;
  } finally {
    endOwnedProcesses();
    remove();
    process.off('exit', remove);
  }
}

function failedPart({ name, summary }: BenchPart): MeasuredPart {
  const row = absentRow(summary, 'the measurement failed; standard error tells how');
  return { part: name, rows: [row], failures: [] };
}

/** Prints progress with the time on standard error. */
function say(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
}

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  // Exits explicitly, because started processes may still run. They end with this process.
  process.exit(EXIT_FAILED);
}
