// Reads the files in which versions up to 4 of the format kept a store: a snapshot and a journal, or a backup, which is a
// snapshot alone. Each line is a record: its length, its checksum and its JSON. Nothing writes them any more.
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { isMap } from '../model/json.ts';
import type { RowKind, Rows, ServerRow } from '../model/rows.ts';
import { NO_VALUES, type StoredEvent } from './event-log.ts';
import { decodeRow, missingField } from './row-json.ts';
import { emptyStoreDocument, isRowKind, type StoreDocument, setRow } from './store-document.ts';
import { codeOf, newerVersion, StoreError } from './store-error.ts';

const JOURNAL = 'treeline-journal';
const SNAPSHOT = 'treeline-snapshot';
/** Eight hexadecimal digits of length and eight of CRC-32, each with a space behind; the JSON and a line end follow. */
const HEAD = /^([0-9a-f]{8}) ([0-9a-f]{8}) $/;
const HEAD_BYTES = 18;
const NEWLINE = 10;
const VERSIONS = [2, 3, 4];

/** The names of the files, in the order in which they are moved away: a start in between still finds the snapshot. */
export const FORMER_FILES = ['journal', 'snapshot'] as const;

/**
 * Returns what the files in a directory hold, as of the last whole record of the journal; undefined where there are none.
 * Throws StoreError where they are damaged.
 */
export async function readFormerStore(directory: string): Promise<StoreDocument | undefined> {
  const snapshot = await readSnapshot(join(directory, 'snapshot'));
  const path = join(directory, 'journal');
  const journal = await openFile(path);
  if (journal === undefined) {
    if (snapshot === undefined) return undefined;
    throw damaged(path, 'it is missing, though there is a snapshot beside it');
  }
  await using file = journal;
  const reader = new FormerReader(snapshot ?? emptyStoreDocument());
  await replay(readRecords(file), reader, path);
  return reader.document;
}

/** Returns what a former backup holds; undefined where the file is none. Throws StoreError where it is damaged. */
export async function readFormerBackup(path: string): Promise<StoreDocument | undefined> {
  return await readSnapshot(path, true);
}

async function readSnapshot(path: string, mayBeOther = false): Promise<StoreDocument | undefined> {
  const opened = await openFile(path);
  if (opened === undefined) return undefined;
  await using file = opened;
  const { buffer } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
  if (mayBeOther && !HEAD.test(buffer.toString('latin1'))) return undefined;
  const records = readRecords(file);
  const head = await readHead(records, { path, format: SNAPSHOT });
  const reader = new FormerReader({ ...emptyStoreDocument(), revision: Number(head.sequence) });
  let lines = 0;
  for await (const record of records) {
    if (record === undefined || !reader.add(record)) throw damaged(path, `line ${lines + 2} is not as it was written`);
    lines += 1;
  }
  if (lines !== head.rows) throw damaged(path, `${lines} rows and events are there of ${head.rows}`);
  return reader.document;
}

/** Applies the groups of a journal that came after the snapshot. A group takes several records if it is large. */
async function replay(records: AsyncGenerator<unknown>, reader: FormerReader, path: string): Promise<void> {
  const { document } = reader;
  let last = Number((await readHead(records, { path, format: JOURNAL })).after);
  if (last > document.revision) throw damaged(path, 'it begins after what the snapshot beside it holds');
  let parts: unknown[][] = [];
  let isTorn = false;
  for await (const record of records) {
    // A crash leaves the last record torn; one in front of others is damage.
    if (isTorn && record !== undefined) throw damaged(path, 'good records follow a bad one');
    if (record === undefined) {
      isTorn = true;
      continue;
    }
    if (!isMap(record) || !Array.isArray(record.rows) || record.sequence !== last + 1)
      throw damaged(path, 'a record is missing');
    parts.push(record.rows);
    if (record.continues === true) continue;
    last += 1;
    const misfit = last > document.revision ? parts.flat().find((line) => !reader.add(line)) : undefined;
    if (misfit !== undefined) {
      const [kind, name] = Array.isArray(misfit) ? misfit : [];
      throw damaged(path, `the row of the ${kind} "${name}" does not fit those before it, or lacks a field`);
    }
    document.revision = Math.max(document.revision, last);
    parts = [];
  }
}

/** Adds lines to a document: rows, changed fields of rows, and events. */
class FormerReader {
  readonly document: StoreDocument;

  constructor(document: StoreDocument) {
    this.document = document;
  }

  /** Returns false for a line that this version does not know, or that changes a row which is not there. */
  add(line: unknown): boolean {
    if (!Array.isArray(line)) return false;
    const [kind, name, value, mark]: unknown[] = line;
    if (typeof kind !== 'string' || typeof name !== 'string') return false;
    if (kind === 'event' && isMap(value)) return this.#addEvent(name, value);
    if (!isRowKind(this.document.tables, kind) || (value !== null && !isMap(value))) return false;
    const before: Rows[RowKind] | undefined = this.document.tables[kind].get(name);
    if (mark !== undefined && before === undefined) return false;
    const fields = mark === undefined ? value : { ...before, ...value };
    const wanted = (fields as Partial<ServerRow> | null)?.wanted ?? undefined;
    if (fields !== null && missingField(kind, fields, wanted) !== undefined) return false;
    const row = fields === null ? null : decodeRow(kind, fields, wanted);
    setRow(this.document.tables, { kind, name, value: row });
    return true;
  }

  #addEvent(instance: string, event: object): boolean {
    const stored = {
      instance,
      event: 'dropped' in event ? event : { ...NO_VALUES, ...event },
    } as unknown as StoredEvent;
    this.document.events.restore([stored]);
    return true;
  }
}

async function openFile(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new StoreError(`${path} cannot be read: ${String(error)}`, { cause: error });
  }
}

/** Yields the values of a file's records; undefined for one that is not whole and unharmed. */
async function* readRecords(file: FileHandle): AsyncGenerator<unknown> {
  let rest: Buffer[] = [];
  for await (const chunk of file.createReadStream({ autoClose: false, start: 0 }) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      yield decode(Buffer.concat([...rest, chunk.subarray(start, end + 1)]));
      rest = [];
      start = end + 1;
    }
    rest.push(chunk.subarray(start));
  }
  const tail = Buffer.concat(rest);
  if (tail.length > 0) yield decode(tail);
}

function decode(record: Buffer): unknown {
  const [, length = '', checksum = ''] = HEAD.exec(record.toString('latin1', 0, HEAD_BYTES)) ?? [];
  const json = record.subarray(HEAD_BYTES);
  const isWhole = Number.parseInt(length, 16) === json.length && Number.parseInt(checksum, 16) === crc32(json);
  return isWhole ? JSON.parse(json.toString()) : undefined;
}

async function readHead(
  records: AsyncGenerator<unknown>,
  { path, format }: { readonly path: string; readonly format: string },
): Promise<Record<string, unknown>> {
  const { value } = await records.next();
  if (!isMap(value) || value.format !== format) throw damaged(path, 'its first line is not as it was written');
  if (!VERSIONS.includes(Number(value.version)))
    throw newerVersion(path, `format version ${JSON.stringify(value.version)}`);
  return value;
}

function damaged(path: string, what: string): StoreError {
  return new StoreError(
    `${path} is damaged: ${what}. It was whole when it was written, so look at the disk. Keep a copy of the directory, then ` +
      'restore a backup. Treeline changes nothing until then.',
  );
}
