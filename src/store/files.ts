// Defines the few file operations of the embedded store, and what each of them promises about a power cut. Tests
// replace them to fill the disk and to lose what was not synced.
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf, StoreError } from './store-error.ts';

const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;
/** The mode bits of users other than the owner. */
const OTHERS = 0o077;

/** An open file that is only appended to and cut off. */
export interface AppendFile {
  /** Writes at the end. Where it throws, any part of `bytes` may be there. */
  append(bytes: Uint8Array): Promise<void>;
  /** Resolves once all that was appended and cut off so far would survive a power cut. */
  sync(): Promise<void>;
  /** Cuts off everything from `length` on. */
  truncate(length: number): Promise<void>;
  close(): Promise<void>;
}

/** An open file that is only read. It stays readable where another file takes its name. */
export interface ReadFile {
  /** Its length when it was opened. */
  readonly size: number;
  /** Fills `into` with the bytes from `position` on, and resolves with their number: fewer where the file ends before. */
  read(into: Buffer, position: number): Promise<number>;
  close(): Promise<void>;
}

/** The file operations of a store. */
export interface Files {
  /** Opens a file to read it, or returns undefined where there is no such file. Throws above `bytesMax`. */
  openToRead(path: string, bytesMax: number): Promise<ReadFile | undefined>;
  /** Opens an empty file that only its owner may read, in place of one of that name. Its name is not durable yet. */
  create(path: string): Promise<AppendFile>;
  /** Opens a file that is there. */
  open(path: string): Promise<AppendFile>;
  /** Gives a file another name, in place of a file that has it. Durable after `syncDirectory`. */
  rename(from: string, to: string): Promise<void>;
  /** Resolves once all names in the directory would survive a power cut. */
  syncDirectory(directory: string): Promise<void>;
}

/** The machine's own files. */
export const diskFiles: Files = { openToRead, create, open: openExisting, rename, syncDirectory };

/**
 * Makes a directory that only its owner may enter, and those above it; durable. Throws StoreError where one is there that
 * others may enter: what is in it may have been read or changed already, and a person has to know.
 */
export async function makeDirectory(directory: string): Promise<void> {
  const first = await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
  const mode = (await stat(directory)).mode & 0o777;
  if ((mode & OTHERS) !== 0) {
    throw new StoreError(
      `The directory ${directory} has the mode ${mode.toString(8).padStart(4, '0')}: others may read what Treeline keeps in it, or ` +
        `change it. See who could, then run: chmod 0700 ${directory}. Where that cannot be, as on a volume that a group owns, ` +
        'name a directory below it, which is made right.',
    );
  }
  if (first === undefined) return;
  for (let made = directory; made.length >= first.length; made = dirname(made)) await syncDirectory(dirname(made));
}

async function openToRead(path: string, bytesMax: number): Promise<ReadFile | undefined> {
  let handle: FileHandle;
  try {
    handle = await open(path, 'r');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const { size } = await handle.stat();
    if (size > bytesMax) throw new RangeError(`${path} has ${size} bytes; the limit is ${bytesMax}`);
    return { size, read: (into, position) => readAll(handle, into, position), close: () => handle.close() };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function readAll(handle: FileHandle, into: Buffer, position: number): Promise<number> {
  let done = 0;
  while (done < into.length) {
    const { bytesRead } = await handle.read(into, done, into.length - done, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return done;
}

async function create(path: string): Promise<AppendFile> {
  const { O_APPEND, O_CREAT, O_TRUNC, O_WRONLY } = constants;
  return appendFileOf(await open(path, O_APPEND | O_CREAT | O_TRUNC | O_WRONLY, FILE_MODE));
}

async function openExisting(path: string): Promise<AppendFile> {
  return appendFileOf(await open(path, constants.O_APPEND | constants.O_WRONLY));
}

function appendFileOf(handle: FileHandle): AppendFile {
  return {
    append: (bytes) => handle.appendFile(bytes),
    sync: () => handle.datasync(),
    truncate: (length) => handle.truncate(length),
    close: () => handle.close(),
  };
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
