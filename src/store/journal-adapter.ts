// Connects lowdb with the store's files. lowdb's read() reads the snapshot and replays the journal, write() writes a
// new snapshot, and append() adds to the journal.
//
// Every record has a number, and the snapshot contains the number of its last one. So a crash between writing the
// snapshot and restarting the journal leaves only records that replay skips.
import type { Logger } from '../log.ts';
import type { Steps } from '../model/steps.ts';
import type { RunInSlices } from '../slices.ts';
import type { Files } from './files.ts';
import { Journal } from './journal.ts';
import { journalPath, readStoreFiles, snapshotPath } from './read-store-files.ts';
import { encodeParts } from './replay.ts';
import { writeSnapshot } from './snapshot-file.ts';
import type { StoreDocument } from './store-document.ts';
import { StoreError } from './store-error.ts';
import { STORE_VERSION } from './store-version.ts';

/** The directory of the store, and the file operations. */
export interface AdapterOptions {
  readonly files: Files;
  readonly directory: string;
  readonly log: Logger | undefined;
  /** About how many characters of JSON a record of the journal has at most. */
  readonly recordLength: number;
  readonly inSlices: RunInSlices;
}

/** lowdb's adapter for a snapshot and a journal. */
export class JournalAdapter {
  readonly #files: Files;
  readonly #log: Logger | undefined;
  readonly #directory: string;
  readonly #recordLength: number;
  readonly #inSlices: RunInSlices;
  #journal: Journal | undefined;
  #snapshotBytes = 0;

  constructor({ files, directory, log, recordLength, inSlices }: AdapterOptions) {
    this.#files = files;
    this.#log = log;
    this.#directory = directory;
    this.#recordLength = recordLength;
    this.#inSlices = inSlices;
  }

  /** Returns the document as of the last durable commit. Throws StoreError where the files are damaged or do not fit. */
  async read(): Promise<StoreDocument> {
    const { document, snapshotBytes, journal } = await readStoreFiles(this.#files, this.#directory);
    this.#snapshotBytes = snapshotBytes;
    const path = journalPath(this.#directory);
    this.#warnOfTornTail(path, journal === undefined ? 0 : journal.bytes - journal.length);
    // A journal that was cut off by hand may end before the snapshot does. Appending to it would leave a gap.
    this.#journal =
      journal === undefined || journal.last < document.sequence
        ? await Journal.start(this.#files, path, document.sequence)
        : await Journal.open(this.#files, path, journal.length);
    // A program of that version must not read what this one adds.
    if (journal !== undefined && journal.version < STORE_VERSION) await this.write(document);
    return document;
  }

  /** Writes a snapshot and begins the journal anew. Where it throws, nothing is lost and commits go on. */
  async write(document: StoreDocument): Promise<void> {
    this.#snapshotBytes = await writeSnapshot(this.#files, snapshotPath(this.#directory), document);
    await this.#opened().restart(document.sequence);
  }

  /** Adds one group of commits and resolves with the bytes it took, once they are durable. */
  append(sequence: number, rows: Iterable<string>): Promise<number> {
    return this.#opened().append(this.#records(encodeParts(sequence, rows, this.#recordLength)));
  }

  /** Yields the records of a group, each made in slices once the one before is durable. */
  async *#records(parts: Iterator<string | undefined>): AsyncGenerator<string> {
    for (;;) {
      const record = await this.#inSlices(nextRecord(parts));
      if (record === null) return;
      yield record;
    }
  }

  get journalLength(): number {
    return this.#opened().length;
  }

  get snapshotLength(): number {
    return this.#snapshotBytes;
  }

  async close(): Promise<void> {
    await this.#journal?.close();
  }

  #opened(): Journal {
    if (this.#journal === undefined) throw new StoreError('the store was not read yet');
    return this.#journal;
  }

  #warnOfTornTail(file: string, bytes: number): void {
    if (bytes > 0) this.#log?.warn({ file, bytes }, 'cut off a commit that was never finished');
  }
}

/** Returns work that results in the next record; null after the last one. */
function* nextRecord(parts: Iterator<string | undefined>): Steps<string | null> {
  for (;;) {
    const { done, value } = parts.next();
    if (done === true) return null;
    if (value !== undefined) return value;
    yield;
  }
}
