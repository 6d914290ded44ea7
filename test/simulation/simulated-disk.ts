// A disk in memory for the store: what was not synced may be lost when the controller dies, and it may be full.
import type { AppendFile, Files } from '../../src/store/files.ts';
import { readFileOf } from '../support/read-bytes.ts';
import { drawn } from './chance.ts';
import { type Life, never, type Scheduler } from './scheduler.ts';

/** How long a sync takes on a slow disk, at most. */
const SLOW_MS = 800;

interface DiskFile {
  bytes: Buffer;
  /** How much of `bytes` is in use. */
  length: number;
  /** The bytes that would survive a power cut: the first of a buffer. */
  durable: { readonly bytes: Buffer; readonly length: number };
}

const NOTHING: DiskFile['durable'] = { bytes: Buffer.alloc(0), length: 0 };

export class SimulatedDisk {
  readonly #scheduler: Scheduler;
  readonly #seed: number;
  #names = new Map<string, DiskFile>();
  #durableNames = new Map<string, DiskFile>();
  #syncs = 0;
  /** Nothing more can be written. */
  isFull = false;
  /** Until then every sync takes long. */
  slowUntil = 0;
  /** Something was written that is not synced. */
  isDirty = false;

  constructor(scheduler: Scheduler, seed: number) {
    this.#scheduler = scheduler;
    this.#seed = seed;
  }

  /** Returns the disk as one controller uses it. A controller that is dead changes nothing and gets no answer. */
  files(life: Life): Files {
    return {
      openToRead: async (path) => {
        const file = this.#names.get(path);
        return file === undefined ? undefined : readFileOf(file.bytes.subarray(0, file.length));
      },
      create: async (path) => {
        if (life.isOver) return never();
        this.#requireRoom();
        const file: DiskFile = { bytes: Buffer.alloc(4096), length: 0, durable: NOTHING };
        this.#names.set(path, file);
        return this.#handleOf(file, life);
      },
      open: async (path) => {
        const file = this.#names.get(path);
        if (file === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
        return this.#handleOf(file, life);
      },
      rename: async (from, to) => {
        if (life.isOver) return never();
        const file = this.#names.get(from);
        if (file === undefined) throw Object.assign(new Error(`ENOENT: ${from}`), { code: 'ENOENT' });
        this.#names.delete(from);
        this.#names.set(to, file);
      },
      syncDirectory: async () => {
        await this.#turn(life);
        this.#durableNames = new Map(this.#names);
      },
    };
  }

  /** The controller dies: what was not synced is lost, or part of it, as chance has it. */
  cut(): void {
    const keepsNames = this.#drawn('names') < 0.5;
    const names = keepsNames ? this.#names : this.#durableNames;
    for (const file of names.values()) {
      const isLonger = file.length > file.durable.length;
      const share = isLonger ? this.#drawn(`bytes ${file.length}`) : 0;
      const length = file.durable.length + Math.floor((file.length - file.durable.length) * share);
      const { bytes } = isLonger ? file : file.durable;
      file.bytes = Buffer.from(bytes.subarray(0, length));
      file.length = length;
      file.durable = { bytes: file.bytes, length };
    }
    this.#names = new Map(names);
    this.#durableNames = new Map(names);
    this.isDirty = false;
  }

  /** The disk is lost with everything on it. */
  wipe(): void {
    this.#names = new Map();
    this.#durableNames = new Map();
    this.isDirty = false;
  }

  /** Returns a copy of every file. */
  image(): ReadonlyMap<string, Buffer> {
    return new Map([...this.#names].map(([name, { bytes, length }]) => [name, Buffer.from(bytes.subarray(0, length))]));
  }

  /** Has the files of an image, and no others. */
  putBack(image: ReadonlyMap<string, Buffer>): void {
    this.wipe();
    for (const [name, kept] of image) {
      const bytes = Buffer.from(kept);
      const file: DiskFile = { bytes, length: bytes.length, durable: { bytes, length: bytes.length } };
      this.#names.set(name, file);
      this.#durableNames.set(name, file);
    }
  }

  #handleOf(file: DiskFile, life: Life): AppendFile {
    return {
      append: async (bytes) => {
        if (life.isOver) return never();
        this.#requireRoom();
        this.isDirty = true;
        const length = file.length + bytes.length;
        if (length > file.bytes.length) {
          const grown = Buffer.alloc(2 * length);
          file.bytes.copy(grown, 0, 0, file.length);
          file.bytes = grown;
        }
        file.bytes.set(bytes, file.length);
        file.length = length;
      },
      sync: async () => {
        const { bytes, length } = file;
        await this.#turn(life);
        // Bytes are only added behind this length before the next truncate, which is followed by a sync of its own.
        file.durable = { bytes, length };
        this.isDirty = false;
      },
      truncate: async (length) => {
        if (life.isOver) return never();
        file.bytes = Buffer.from(file.bytes.subarray(0, length));
        file.length = Math.min(file.length, length);
      },
      close: async () => undefined,
    };
  }

  #turn(life: Life): Promise<void> {
    const luck = this.#drawn('turn');
    const ms = this.#scheduler.now < this.slowUntil ? luck * SLOW_MS : luck ** 4 * 40;
    return this.#scheduler.pause(1 + Math.floor(ms), life);
  }

  #drawn(key: string): number {
    return drawn(this.#seed, `disk ${key} ${this.#syncs++}`);
  }

  #requireRoom(): void {
    if (this.isFull) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
  }
}
