// Runs benchmarks and prints what they found as one table: all of them, or those that are named (`npm run bench -- line`).
// docs/benchmarks.md describes them.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Command, helpText, partNamed, readCommand } from './bench-options.ts';
import type { BenchPart } from './bench-part.ts';
import { type BenchReport, detailedText, isMissed, type MeasuredPart, tableText } from './bench-report.ts';
import { absentRow, rowText } from './bench-row.ts';
import { EXECUTE } from './execute.ts';
import { FETCH } from './fetch.ts';
import { LINE } from './line.ts';
import { watchMachine } from './machine.ts';
import { endOwnedProcesses, guardEnd } from './owned-process.ts';
import { READS } from './reads.ts';
import { RECORDS } from './records.ts';
import { STALLS } from './stalls.ts';
import { WRITES } from './writes.ts';

const EXIT_MISSED = 1;
const EXIT_FAILED = 3;

/** The parts of the table, in its order. */
const PARTS: readonly BenchPart[] = [LINE, READS, STALLS, RECORDS, WRITES, FETCH, EXECUTE];

type Values = Parameters<BenchPart['run']>[0];

/** Returns the exit code. */
async function run(args: readonly string[]): Promise<number> {
  if (process.platform !== 'linux') throw new Error('what a process costs is read from /proc: this runs on Linux only');
  const command = readCommand(args, PARTS);
  if (command.isHelp) {
    process.stdout.write(helpText(command.names, PARTS));
    return 0;
  }
  // What may be wrong is read before hours of measuring, which it would lose.
  const chosen = (command.names.length === 0 ? PARTS : command.names.map((name) => partNamed(name, PARTS))).map(
    (part) => ({ part, values: command.valuesOf(part) }),
  );
  // Before the first folder is made, which an interruption has to remove as well.
  guardEnd();
  const machine = watchMachine();
  const parts: MeasuredPart[] = [];
  let isComplete = true;
  for (const { part, values } of chosen) {
    const measured = await measure(part, values);
    parts.push(measured ?? failedPart(part));
    for (const row of parts.at(-1)?.rows ?? []) say(rowText(row));
    isComplete &&= measured !== undefined;
  }
  const report = { machine: machine(), isQuick: command.isQuick, parts };
  print(report, command);
  if (!isComplete) return EXIT_FAILED;
  return isMissed(report) ? EXIT_MISSED : 0;
}

/** Returns undefined where the part failed; standard error tells how then. */
async function measure(part: BenchPart, values: Values): Promise<MeasuredPart | undefined> {
  const folder = mkdtempSync(join(tmpdir(), `treeline-bench-${part.name}-`));
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  process.once('exit', remove);
  say(`${part.name}: ${part.summary}`);
  try {
    return { part: part.name, ...(await part.run(values, { folder, say })) };
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
  return { part: name, rows: [row], text: 'The measurement failed.', failures: [] };
}

function print(report: BenchReport, { isDetailed }: Command): void {
  process.stdout.write(`${isDetailed ? detailedText(report) : tableText(report)}
`);
}

/** Tells on standard error how far it is, with the time. */
function say(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
}

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  // Not only the exit code: processes that were started may still run, and end with this one.
  process.exit(EXIT_FAILED);
}
