// Follows the log of a controller: the done servers, and its messages.
import { closeSync, openSync, readSync } from 'node:fs';
import { isMap, type JsonMap } from '../src/model/json.ts';

const CHUNK_BYTES = 1024 * 1024;

export class ServedLog {
  readonly #descriptor: number;
  readonly #chunk = Buffer.alloc(CHUNK_BYTES);
  #rest = '';
  readonly #states = new Map<string, unknown>();
  #done = 0;
  #stateChanges = 0;
  #lastDoneAt = Number.NaN;
  readonly #others: JsonMap[] = [];

  /** Follows an existing file. */
  constructor(file: string) {
    this.#descriptor = openSync(file, 'r');
  }

  /** The number of servers that are `done` now. */
  get done(): number {
    this.#read();
    return this.#done;
  }

  /** When the last server became `done`, by the log, in milliseconds since 1970; NaN before the first. */
  get lastDoneAt(): number {
    this.#read();
    return this.#lastDoneAt;
  }

  /** The number of state changes. */
  get stateChanges(): number {
    this.#read();
    return this.#stateChanges;
  }

  /** Returns the lines with a message, except state changes, oldest first. */
  lines(message: string): readonly JsonMap[] {
    this.#read();
    return this.#others.filter(({ msg }) => msg === message);
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #read(): void {
    for (;;) {
      const bytes = readSync(this.#descriptor, this.#chunk);
      if (bytes === 0) return;
      const lines = `${this.#rest}${this.#chunk.toString('latin1', 0, bytes)}`.split('\n');
      // The rest after the last line break is incomplete.
      this.#rest = lines.pop() ?? '';
      for (const line of lines) this.#take(line);
    }
  }

  #take(line: string): void {
    const fields: unknown = line.startsWith('{') ? JSON.parse(line) : { msg: line };
    if (!isMap(fields)) return;
    if (fields.msg !== 'state') {
      this.#others.push(fields);
      return;
    }
    const server = String(fields.server);
    this.#stateChanges += 1;
    this.#done += Number(fields.to === 'done') - Number(this.#states.get(server) === 'done');
    this.#states.set(server, fields.to);
    if (fields.to === 'done') this.#lastDoneAt = Date.parse(String(fields.time));
  }
}
