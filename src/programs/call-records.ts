// The records of running calls: one file with a line of fixed length for each, written in place. A file for each call
// would cost as much as all else that is done for a call. Nothing is synced: what a power cut takes from the disk, it
// takes from the processes too.
import { closeSync, constants, fstatSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { directoryPlace, processIn, type RecordedProcess, readIfThere, recordText } from './process-records.ts';

const FILE = 'calls';
/** With its line feed. Enough for the names of servers; facts that do not fit are left out. */
const LINE_BYTES = 512;
const EMPTY = `${' '.repeat(LINE_BYTES - 1)}\n`;

/** Returns the processes of all recorded calls. A line that is torn or empty is of a program that has got no input. */
export function readCallRecords(directory: string): readonly RecordedProcess[] {
  const text = readIfThere(join(directory, FILE), 'latin1') ?? '';
  const lines = Array.from({ length: Math.ceil(text.length / LINE_BYTES) }, (_, line) =>
    text.slice(line * LINE_BYTES, (line + 1) * LINE_BYTES),
  );
  const place = directoryPlace(directory);
  return lines.flatMap((line) => processIn(line, place) ?? []);
}

/** The records of the calls of one process, which has the directory for itself. */
export class CallRecords {
  readonly #directory: string;
  readonly #path: string;
  #opened: { readonly descriptor: number; readonly inode: number } | undefined;
  /** The numbers of lines that are free, below `#count`. */
  readonly #free: number[] = [];
  #count = 0;

  constructor(directory: string) {
    this.#directory = directory;
    this.#path = join(directory, FILE);
  }

  /** Records a process group, and returns the number of its line. Throws if that fails. */
  write(group: number, facts: Readonly<Record<string, string>>): number {
    const descriptor = this.#open();
    const line = this.#free.pop() ?? this.#count++;
    try {
      const text = lineOf(group, directoryPlace(this.#directory), facts);
      const bytes = writeSync(descriptor, text, line * LINE_BYTES, 'latin1');
      if (bytes < LINE_BYTES) throw new Error(`only ${bytes} bytes of the record could be written`);
    } catch (error) {
      this.#free.push(line);
      throw error;
    }
    return line;
  }

  /** Forgets a recorded group. Where that fails, its process has ended, and the next start sees that. */
  clear(line: number): void {
    this.#free.push(line);
    if (this.#opened !== undefined) writeSync(this.#opened.descriptor, EMPTY, line * LINE_BYTES, 'latin1');
  }

  /** Removes the file if it holds no record. */
  close(): void {
    if (this.#opened === undefined) return;
    closeSync(this.#opened.descriptor);
    this.#opened = undefined;
    if (this.#free.length === this.#count) rmSync(this.#path, { force: true });
  }

  /** A file that was removed or moved is of no use to the next start: it is made again. */
  #open(): number {
    const inode = statSync(this.#path, { throwIfNoEntry: false })?.ino;
    if (this.#opened !== undefined && this.#opened.inode === inode) return this.#opened.descriptor;
    if (this.#opened !== undefined) closeSync(this.#opened.descriptor);
    this.#opened = undefined;
    const descriptor = openSync(this.#path, constants.O_RDWR | constants.O_CREAT, 0o600);
    this.#opened = { descriptor, inode: fstatSync(descriptor).ino };
    return descriptor;
  }
}

function lineOf(group: number, place: string, facts: Readonly<Record<string, string>>): string {
  const text = recordText(group, { ...facts, place });
  return `${(text.length < LINE_BYTES ? text : recordText(group, { place })).padEnd(LINE_BYTES - 1)}\n`;
}
