// Replays the journal over the snapshot's document. It cuts off a tail that a crash left incomplete, and refuses any
// other damage.
import { isMap } from '../model/json.ts';
import { DocumentReader, type Line } from './document-reader.ts';
import type { ReadFile } from './files.ts';
import { type Frame, isFollowedByFrame } from './frame.ts';
import { FrameReader } from './frame-reader.ts';
import { JOURNAL_FORMAT } from './journal.ts';
import type { StoreDocument } from './store-document.ts';
import { newerVersion, StoreError } from './store-error.ts';
import { isReadable, STORE_VERSION } from './store-version.ts';

/** A journal that is open. */
interface JournalFile {
  readonly path: string;
  readonly file: ReadFile;
}

/** How far a journal could be replayed. */
export interface Replayed {
  /** The offset at which the good records end; a torn tail may follow. */
  readonly length: number;
  /** The number of the last record. */
  readonly last: number;
  /** The version of the format. */
  readonly version: number;
}

/**
 * Brings `document` up to the journal's end. Records that the snapshot holds already are passed over. Throws StoreError
 * where the file is damaged before its end.
 */
export async function replayJournal(journal: JournalFile, document: StoreDocument): Promise<Replayed> {
  const frames = new FrameReader(journal.file);
  const { after, version } = readHead(journal, await frames.next());
  if (after > document.sequence) {
    throw new StoreError(
      `${journal.path} begins after commit ${after}, but the snapshot beside it ends with ${document.sequence}: one of ` +
        'the two is from another time. If a restore was interrupted, run it again; else restore a backup.',
    );
  }
  const reader = new DocumentReader(document);
  let length = frames.at;
  let last = after;
  /** The first records of a group whose last one was not met yet. After a crash before that none of them counts. */
  let parts: Group[] = [];
  for (let at = frames.at; !frames.isAtEnd; at = frames.at) {
    const frame = await frames.next();
    if (frame === undefined) {
      if (isFollowedByFrame(await frames.rest(), 0)) throw damaged(journal, at);
      break;
    }
    const group = decodeGroup(reader, frame.value);
    if (group === undefined) throw newerVersion(journal.path, `a record it does not know, at byte ${at}`);
    if (group.sequence !== last + 1) throw damaged(journal, at);
    parts.push(group);
    if (group.continues) continue;
    if (!parts.every((part) => applyLines(reader, part))) throw damaged(journal, at);
    parts = [];
    document.sequence = Math.max(document.sequence, group.sequence);
    last = group.sequence;
    length = frames.at;
  }
  return { length, last, version };
}

/** Returns the JSON of one record: the number of a group of commits, and its rows and events, each as JSON. */
export function encodeGroup(sequence: number, rows: readonly string[]): string {
  return `{"sequence":${sequence},"rows":[${rows.join(',')}]}`;
}

/**
 * Yields the JSON of the records that hold a group together, each of about `lengthMax` characters or of one row: no text can
 * hold a whole large desired state. All but the last say that another follows. Yields undefined in between, where the caller may
 * pause.
 */
export function* encodeParts(
  sequence: number,
  rows: Iterable<string>,
  lengthMax: number,
): Generator<string | undefined, undefined> {
  let part: string[] = [];
  let length = 0;
  let count = 0;
  for (const row of rows) {
    count += 1;
    if (count % ROWS_A_STEP === 0) yield undefined;
    if (part.length > 0 && length + row.length > lengthMax) {
      yield `{"sequence":${sequence},"continues":true,"rows":[${part.join(',')}]}`;
      part = [];
      length = 0;
    }
    part.push(row);
    length += row.length;
  }
  yield encodeGroup(sequence, part);
}

/** How many rows are encoded before the caller may pause. */
const ROWS_A_STEP = 100;

interface Group {
  readonly sequence: number;
  /** The next record goes on with the same group. */
  readonly continues: boolean;
  readonly lines: readonly Line[];
}

function decodeGroup(reader: DocumentReader, value: unknown): Group | undefined {
  if (!isMap(value) || typeof value.sequence !== 'number' || !Array.isArray(value.rows)) return undefined;
  const lines: Line[] = [];
  for (const json of value.rows) {
    const line = reader.decode(json);
    if (line === undefined) return undefined;
    lines.push(line);
  }
  return { sequence: value.sequence, continues: value.continues === true, lines };
}

/** Returns false if a line changes a row that is not there. */
function applyLines(reader: DocumentReader, { sequence, lines }: Group): boolean {
  return sequence <= reader.document.sequence || lines.every((line) => reader.add(line));
}

function readHead(journal: JournalFile, frame: Frame | undefined): { after: number; version: number } {
  if (frame === undefined || !isMap(frame.value)) throw damaged(journal, 0);
  const { format, version, after } = frame.value;
  if (format !== JOURNAL_FORMAT || typeof after !== 'number') throw damaged(journal, 0);
  if (!isReadable(version)) {
    throw newerVersion(journal.path, `format version ${JSON.stringify(version)}, not ${STORE_VERSION}`);
  }
  return { after, version };
}

function damaged({ path }: JournalFile, at: number): StoreError {
  const cut = at === 0 ? '' : `, or cut the file off there (truncate --size=${at} '${path}') and lose what came later`;
  return new StoreError(
    `The store's journal is damaged at byte ${at}: ${path}. Good records follow or are missing, so no crash explains ` +
      `it: look at the disk. Keep a copy of the directory, then restore a backup${cut}.`,
  );
}
