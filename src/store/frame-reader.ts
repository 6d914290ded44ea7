// Reads a file of records in slices, one record after the other, so that no file has to fit into memory.
import type { ReadFile } from './files.ts';
import { endOfFrame, type Frame, frameAt, HEAD_BYTES } from './frame.ts';

const SLICE_BYTES = 256 * 1024;

/** The records of a file, from its beginning. */
export class FrameReader {
  readonly #file: ReadFile;
  /** Holds a part of the file, which begins at `#start`, in its first `#length` bytes. The same memory is used again and again. */
  #memory = Buffer.allocUnsafe(SLICE_BYTES);
  #length = 0;
  #start = 0;
  #at = 0;

  constructor(file: ReadFile) {
    this.#file = file;
  }

  /** The offset after the last record that was read. */
  get at(): number {
    return this.#at;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#file.size;
  }

  /** Resolves with the next record; undefined at the end of the file, and where no whole and unharmed record follows. */
  async next(): Promise<Frame | undefined> {
    await this.#load(HEAD_BYTES);
    const end = endOfFrame(this.#slice, this.#at - this.#start);
    if (end === undefined || this.#start + end > this.#file.size) return undefined;
    await this.#load(this.#start + end - this.#at);
    const frame = frameAt(this.#slice, this.#at - this.#start);
    if (frame === undefined) return undefined;
    this.#at = this.#start + frame.end;
    return { value: frame.value, end: this.#at };
  }

  /** Resolves with all bytes after the last record that was read. */
  async rest(): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(this.#file.size - this.#at);
    return bytes.subarray(0, await this.#file.read(bytes, this.#at));
  }

  get #slice(): Buffer {
    return this.#memory.subarray(0, this.#length);
  }

  /** Sees to it that the slice has `bytes` from the present offset on, or all that are left. */
  async #load(bytes: number): Promise<void> {
    const loaded = this.#slice.subarray(this.#at - this.#start);
    const from = this.#at + loaded.length;
    if (loaded.length >= bytes || from >= this.#file.size) return;
    const memory = bytes > this.#memory.length ? Buffer.allocUnsafe(bytes) : this.#memory;
    loaded.copy(memory);
    const free = memory.subarray(loaded.length, loaded.length + this.#file.size - from);
    this.#length = loaded.length + (await this.#file.read(free, from));
    this.#memory = memory;
    this.#start = this.#at;
  }
}
