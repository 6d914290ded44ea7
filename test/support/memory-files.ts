// Files in memory that know what a power cut would leave of them, and that fail when a test says so.
import type { AppendFile, Files, ReadFile } from '../../src/store/files.ts';
import { readFileOf } from './read-bytes.ts';

interface MemoryFile {
  content: Buffer;
  /** Its durable content. */
  synced: Buffer;
}

export class MemoryFiles implements Files {
  #names = new Map<string, MemoryFile>();
  #durableNames = new Map<string, MemoryFile>();
  /** How many operations were asked for that write something. */
  writes = 0;
  /** Called before each of them with its number, from 0. Where it throws, half of an append has happened. */
  beforeWrite: (number: number) => void = () => undefined;

  async openToRead(path: string, bytesMax: number): Promise<ReadFile | undefined> {
    const content = this.#names.get(path)?.content;
    if (content !== undefined && content.length > bytesMax) throw new RangeError(`the limit is ${bytesMax}`);
    return content === undefined ? undefined : readFileOf(content);
  }

  async create(path: string): Promise<AppendFile> {
    this.#count();
    const file = { content: Buffer.alloc(0), synced: Buffer.alloc(0) };
    this.#names.set(path, file);
    return this.#handleOf(file);
  }

  async open(path: string): Promise<AppendFile> {
    const file = this.#names.get(path);
    if (file === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
    return this.#handleOf(file);
  }

  async rename(from: string, to: string): Promise<void> {
    this.#count();
    const file = this.#names.get(from);
    if (file === undefined) throw Object.assign(new Error(`ENOENT: ${from}`), { code: 'ENOENT' });
    this.#names.delete(from);
    this.#names.set(to, file);
  }

  async syncDirectory(): Promise<void> {
    this.#count();
    this.#durableNames = new Map(this.#names);
  }

  /** Loses what was not synced, but for the share `bytes` of each file's end, and for the names that `keeps` keeps. */
  cutPower(bytes: number, keeps: (path: string) => boolean): void {
    const paths = new Set([...this.#names.keys(), ...this.#durableNames.keys()]);
    const left = new Map<string, MemoryFile>();
    for (const path of paths) {
      const file = (keeps(path) ? this.#names : this.#durableNames).get(path);
      if (file !== undefined) left.set(path, file);
    }
    for (const file of left.values()) {
      const kept = Math.round(file.synced.length + (file.content.length - file.synced.length) * bytes);
      file.content = (kept > file.content.length ? file.synced : file.content).subarray(0, kept);
      file.synced = file.content;
    }
    this.#names = left;
    this.#durableNames = new Map(left);
    this.beforeWrite = () => undefined;
  }

  #count(): void {
    this.beforeWrite(this.writes++);
  }

  #handleOf(file: MemoryFile): AppendFile {
    return {
      append: async (bytes) => {
        try {
          this.#count();
        } catch (error) {
          file.content = Buffer.concat([file.content, bytes.subarray(0, bytes.length / 2)]);
          throw error;
        }
        file.content = Buffer.concat([file.content, bytes]);
      },
      sync: async () => {
        this.#count();
        file.synced = file.content;
      },
      truncate: async (length) => {
        this.#count();
        file.content = file.content.subarray(0, length);
      },
      close: async () => undefined,
    };
  }
}
