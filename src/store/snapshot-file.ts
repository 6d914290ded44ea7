// Reads and writes the snapshot: every row and event at one moment, one record a line. It is written to another file, in slices
// that leave the event loop free, and renamed over the old one, so a complete snapshot always exists.
import { basename, dirname } from 'node:path';
import { isMap } from '../model/json.ts';
import { DocumentReader } from './document-reader.ts';
import type { AppendFile, Files, ReadFile } from './files.ts';
import { encodeFrame, type Frame } from './frame.ts';
import { FrameReader } from './frame-reader.ts';
import { countLines, emptyStoreDocument, encodedLines, type StoreDocument } from './store-document.ts';
import { newerVersion, StoreError } from './store-error.ts';
import { isReadable, STORE_VERSION } from './store-version.ts';

const FORMAT = 'treeline-snapshot';
const SLICE_BYTES = 256 * 1024;
/** The limit of Node for one read: twice the size to which src/desired/store-capacity.ts limits a desired state. */
export const SNAPSHOT_BYTES_MAX = 2 ** 31 - 1;

/** A snapshot that was read. */
export interface LoadedSnapshot {
  readonly document: StoreDocument;
  /** The file's length; 0 where there is none yet. */
  readonly bytes: number;
}

/** The use of a snapshot: half of a store, beside the journal, or a whole store in one file. */
export type SnapshotUse = 'store' | 'backup';

/** Returns the snapshot's document, or an empty one where there is no file. Throws StoreError where it is damaged. */
export async function readSnapshot(files: Files, path: string, use: SnapshotUse = 'store'): Promise<LoadedSnapshot> {
  const file = await files.openToRead(path, SNAPSHOT_BYTES_MAX);
  if (file === undefined) return { document: emptyStoreDocument(), bytes: 0 };
  try {
    return { document: await readLines(file, { path, use }), bytes: file.size };
  } finally {
    await file.close();
  }
}

async function readLines(file: ReadFile, at: SnapshotFile): Promise<StoreDocument> {
  const frames = new FrameReader(file);
  const head = headOf(at, await frames.next());
  const reader = new DocumentReader({ ...emptyStoreDocument(), sequence: head.sequence });
  let lines = 0;
  for (let start = frames.at; !frames.isAtEnd; start = frames.at) {
    const frame = await frames.next();
    if (frame === undefined) throw damaged(at, start);
    const isKnown = reader.addWhole(frame.value, frame.end - start);
    if (!isKnown) throw newerVersion(at.path, `a row it does not know, at byte ${start}`);
    lines += 1;
  }
  if (lines !== head.rows) throw damaged(at, file.size);
  return reader.document;
}

/** Writes all rows of a document, which must not change meanwhile, and resolves with the file's length once it is durable. */
export async function writeSnapshot(files: Files, path: string, document: StoreDocument): Promise<number> {
  const length = await prepareSnapshot(files, path, document);
  await placeSnapshot(files, path);
  return length;
}

/** The first half of {@link writeSnapshot}, which needs room and time: the file is durable, and stands aside. */
export async function prepareSnapshot(files: Files, path: string, document: StoreDocument): Promise<number> {
  const file = await files.create(asideOf(path));
  try {
    const length = await writeRows(file, document);
    await file.sync();
    return length;
  } finally {
    await file.close();
  }
}

/** The second half: the file takes its place. */
export async function placeSnapshot(files: Files, path: string): Promise<void> {
  await files.rename(asideOf(path), path);
  await files.syncDirectory(dirname(path));
}

function asideOf(path: string): string {
  return `${path}.new`;
}

async function writeRows(file: AppendFile, document: StoreDocument): Promise<number> {
  const { sequence } = document;
  let slice = [
    encodeFrame(JSON.stringify({ format: FORMAT, version: STORE_VERSION, sequence, rows: countLines(document) })),
  ];
  let sliceBytes = 0;
  let length = slice[0]?.length ?? 0;
  for (const line of encodedLines(document)) {
    const frame = encodeFrame(line);
    slice.push(frame);
    sliceBytes += frame.length;
    length += frame.length;
    if (length > SNAPSHOT_BYTES_MAX) throw new StoreError(`the rows take more than ${SNAPSHOT_BYTES_MAX} bytes`);
    if (sliceBytes < SLICE_BYTES) continue;
    await file.append(Buffer.concat(slice));
    slice = [];
    sliceBytes = 0;
  }
  await file.append(Buffer.concat(slice));
  return length;
}

interface SnapshotFile {
  readonly path: string;
  readonly use: SnapshotUse;
}

function headOf(file: SnapshotFile, frame: Frame | undefined): { sequence: number; rows: number } {
  if (frame === undefined || !isMap(frame.value)) throw damaged(file, 0);
  const { format, version, sequence, rows } = frame.value;
  if (format !== FORMAT || typeof sequence !== 'number' || typeof rows !== 'number') throw damaged(file, 0);
  if (!isReadable(version))
    throw newerVersion(file.path, `format version ${JSON.stringify(version)}, not ${STORE_VERSION}`);
  return { sequence, rows };
}

function damaged({ path, use }: SnapshotFile, at: number): StoreError {
  if (use === 'backup') {
    return new StoreError(
      `The backup is damaged at byte ${at}, or is no backup: ${path}. It was whole when it was written. Use another one.`,
    );
  }
  return new StoreError(
    `The store's ${basename(path)} is damaged at byte ${at}: ${path}. It was whole when it was written, so look at ` +
      'the disk; then restore a backup. Treeline changes nothing until then.',
  );
}
