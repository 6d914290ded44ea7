// The log of a controller as it grows: which servers are done, and what it said.
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

  /** Follows a file that is there. */
  constructor(file: string) {
    this.#descriptor = openSync(file, 'r');
  }

  /** How many servers are `done` now. */
  get done(): number {
    this.#read();
    return this.#done;
  }

  /** When the last server became `done`, by the log, in milliseconds since 1970; NaN before the first. */
  get lastDoneAt(): number {
    this.#read();
    return this.#lastDoneAt;
  }

  /** How often the state of a server has changed. */
  get stateChanges(): number {
    this.#read();
    return this.#stateChanges;
  }

  /** Returns every line with a message but those of states, oldest first. */
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
      // What follows the last line break was not written whole.
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
