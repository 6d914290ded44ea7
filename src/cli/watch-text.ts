// Shows a text again and again, until it is interrupted: in place on a terminal, elsewhere the lines that have changed.
import { setTimeout as sleep } from 'node:timers/promises';
import { visible } from '../base/wording.ts';
import { CommandFailure } from './command-failure.ts';
import { printEscaped, visibleLine } from './output.ts';

const WATCH_MS = 2_000;
const ROWS = 24;
const COLUMNS = 80;
/** The codes of every terminal: to its first line, clear the rest of a line, clear what is below. */
const [HOME, CLEAR_LINE, CLEAR_BELOW] = ['\u001b[H', '\u001b[K', '\u001b[J'];

/**
 * Shows the text that `read` resolves with, every two seconds. Ends the process with exit code 0 once it is
 * interrupted. Throws what the first call of `read` throws; what fails later is shown, and tried again.
 */
export async function watchText(read: () => Promise<string>): Promise<never> {
  process.on('SIGINT', () => process.exit(0));
  let lines: readonly string[] = [];
  for (let isFirst = true; ; isFirst = false) {
    const next = await linesFrom(read, isFirst);
    if (process.stdout.isTTY) redraw(next);
    else for (const line of changesIn(lines, next)) printEscaped(line);
    lines = next;
    await sleep(WATCH_MS);
  }
}

async function linesFrom(read: () => Promise<string>, isFirst: boolean): Promise<readonly string[]> {
  try {
    return visible(await read()).split('\n');
  } catch (error) {
    if (isFirst || !(error instanceof CommandFailure)) throw error;
    return [`treeline: ${visibleLine(error.message)}`];
  }
}

function redraw(lines: readonly string[]): void {
  // Some terminals say that they have none.
  const [rows, columns] = [process.stdout.rows || ROWS, process.stdout.columns || COLUMNS];
  const isCut = lines.length > rows - 1;
  const shown = isCut ? [...lines.slice(0, rows - 2), `… and ${lines.length - rows + 2} more lines`] : lines;
  const cells = shown.map((line) => `${line.slice(0, columns).toWellFormed()}${CLEAR_LINE}\n`);
  process.stdout.write(`${HOME}${cells.join('')}${CLEAR_BELOW}`);
}

/** Returns the lines that are new, and those that are over: nothing begins with the same words any more. */
export function changesIn(before: readonly string[], after: readonly string[]): readonly string[] {
  const wordsOf = (line: string): string => line.split(': ', 1)[0] ?? '';
  const [known, words] = [new Set(before), new Set(after.map(wordsOf))];
  const over = before.filter((line) => !words.has(wordsOf(line)));
  return [...after.filter((line) => !known.has(line)), ...over.map((line) => `no more: ${line}`)];
}
