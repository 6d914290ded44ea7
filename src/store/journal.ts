// Writes the journal: one record for each group of commits, durable before any of them is acknowledged. After a failed
// write it truncates the file to the last good record, so a refused commit never comes back. replay.ts reads it.
import { dirname } from 'node:path';
import { reasonOf } from '../model/quote.ts';
import type { AppendFile, Files } from './files.ts';
import { encodeFrame } from './frame.ts';
import { StoreError } from './store-error.ts';
import { STORE_VERSION } from './store-version.ts';

/** The `format` in the journal's first record. */
export const JOURNAL_FORMAT = 'treeline-journal';
/** The limit of Node for one read. Only reached where compaction keeps failing. */
export const JOURNAL_BYTES_MAX = 2 ** 31 - 1;

/** The open journal of a store. */
export class Journal {
  readonly #files: Files;
  readonly #path: string;
  #file: AppendFile;
  /** The offset at which the last durable record ends. */
  #length: number;
  /** There may be bytes beyond `#length`, of a write that failed. */
  #hasLeftovers = false;
  /** The file's name may not be durable yet; the next append sees to it first. */
  #isNameNew = false;

  private constructor(files: Files, path: string, opened: { file: AppendFile; length: number }) {
    this.#files = files;
    this.#path = path;
    this.#file = opened.file;
    this.#length = opened.length;
  }

  /** Returns a new journal that begins after group `after`, in place of one that may be there. */
  static async start(files: Files, path: string, after: number): Promise<Journal> {
    const journal = new Journal(files, path, await writeHead(files, path, after));
    journal.#isNameNew = true;
    return journal;
  }

  /** Returns the journal that is there, of which the first `length` bytes are good; the rest is cut off. */
  static async open(files: Files, path: string, length: number): Promise<Journal> {
    const journal = new Journal(files, path, { file: await files.open(path), length });
    // A name that was never synced, or a tail that was, is found only here.
    journal.#hasLeftovers = true;
    journal.#isNameNew = true;
    try {
      await journal.#mend();
    } catch (error) {
      await journal.close();
      throw error;
    }
    return journal;
  }

  get length(): number {
    return this.#length;
  }

  /**
   * Adds the records of one group and resolves with their length once all are durable. Where it throws, none of them is
   * there, now or after a restart, unless cutting them off failed too and the machine stops before the next call.
   */
  async append(records: AsyncIterable<string>): Promise<number> {
    await this.#mend();
    this.#hasLeftovers = true;
    let bytes = 0;
    try {
      for await (const json of records) bytes += await this.#appendRecord(encodeFrame(json), bytes);
    } catch (error) {
      await this.#cutOff(error);
    }
    this.#hasLeftovers = false;
    this.#length += bytes;
    return bytes;
  }

  /** Each is durable before the next one begins: after a crash a bad record is the last one. */
  async #appendRecord(frame: Buffer, before: number): Promise<number> {
    if (this.#length + before + frame.length > JOURNAL_BYTES_MAX) {
      throw new StoreError(
        `the journal would grow beyond ${JOURNAL_BYTES_MAX} bytes, for no snapshot could be written`,
      );
    }
    await this.#file.append(frame);
    await this.#file.sync();
    return frame.length;
  }

  /** Begins anew after group `after`, which a durable snapshot holds. Where it throws, either journal is in place, and works. */
  async restart(after: number): Promise<void> {
    const old = this.#file;
    const { file, length } = await writeHead(this.#files, this.#path, after);
    this.#file = file;
    this.#length = length;
    this.#hasLeftovers = false;
    this.#isNameNew = true;
    await old.close();
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  async #mend(): Promise<void> {
    if (this.#hasLeftovers) {
      await this.#file.truncate(this.#length);
      await this.#file.sync();
      this.#hasLeftovers = false;
    }
    if (this.#isNameNew) {
      // Until the directory is synced, a power cut brings the old file back, and with it loses every record of this one.
      await this.#files.syncDirectory(dirname(this.#path));
      this.#isNameNew = false;
    }
  }

  /** Throws `error`, joined with a second one where the bytes could not be cut off; the next append tries that again. */
  async #cutOff(error: unknown): Promise<never> {
    try {
      await this.#mend();
    } catch (second) {
      throw new AggregateError([error, second], reasonOf(error));
    }
    throw error;
  }
}

async function writeHead(files: Files, path: string, after: number): Promise<{ file: AppendFile; length: number }> {
  const head = encodeFrame(JSON.stringify({ format: JOURNAL_FORMAT, version: STORE_VERSION, after }));
  const aside = `${path}.new`;
  const file = await files.create(aside);
  try {
    await file.append(head);
    await file.sync();
    await files.rename(aside, path);
  } catch (error) {
    await file.close();
    throw error;
  }
  return { file, length: head.length };
}
