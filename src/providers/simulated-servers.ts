// Stores the servers of the simulated provider in a file of JSON lines, one line per change, so that a killed
// controller loses none. At a start that finds more, and whenever the file has doubled, it is compacted to one line per server:
// while the provider works, each change writes a few of them to the new file.

import { closeSync, ftruncateSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { keepNewest, SharedTexts } from '../base/lists.ts';
import type { Properties } from '../model/objects.ts';
import { type SimulatedServer, serverLine, serverLines } from './simulated-lines.ts';

/** Actions remembered per server. A repeated call is one of the last. */
const ACTIONS_MAX = 20;
/** Removed servers whose actions are still remembered; the oldest are dropped first. */
const GONE_MAX = 10_000;
/** The largest file that Node reads at once. */
const FILE_BYTES_MAX = 2 ** 31 - 1;
/** A smaller file is not compacted. */
const COMPACTION_BYTES = 4 * 1024 * 1024;
const SLICE_LENGTH = 1024 * 1024;
/** Servers that a change writes to the file that replaces the old one. */
const SERVERS_A_CHANGE = 20;

/** Limits of what is remembered, for tests. */
export interface MemoryLimits {
  readonly goneMax?: number;
  readonly compactionBytes?: number;
}

/** The servers of one simulated provider, in memory and in its file. */
export class SimulatedServers {
  readonly #file: string;
  readonly #servers = new Map<string, SimulatedServer>();
  /** The removed servers, the latest one last. */
  readonly #gone = new Map<string, SimulatedServer>();
  readonly #goneMax: number;
  readonly #compactionBytes: number;
  #descriptor: number | undefined;
  #length = 0;
  /** The file length from which on the file is compacted. */
  #compactAt = 0;
  /** The file that will replace this one, while it is written. */
  #next: CompactFile | undefined;

  /** Reads the file, or starts with no servers. Throws if a line other than the last one is damaged. */
  constructor(file: string, { goneMax = GONE_MAX, compactionBytes = COMPACTION_BYTES }: MemoryLimits = {}) {
    this.#file = file;
    this.#goneMax = goneMax;
    this.#compactionBytes = compactionBytes;
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    let lines = 0;
    let length = 0;
    const texts = new SharedTexts();
    for (const { name, server, end } of serverLines(file)) {
      const { properties } = server;
      this.#keep(name, { ...server, properties: properties === null ? null : texts.properties(properties) });
      lines += 1;
      length = end;
    }
    this.#gone.clear();
    if (lines > 0 && lines === this.#servers.size) this.#goOn(length);
    else this.#writeAnew();
  }

  /** Returns the properties of a server, or undefined if there is none. */
  find(name: string): Properties | undefined {
    return this.#servers.get(name)?.properties ?? undefined;
  }

  /** Returns true if an action has changed this server before. */
  hasSeen(name: string, action: string): boolean {
    return (this.#servers.get(name) ?? this.#gone.get(name))?.actions.includes(action) ?? false;
  }

  /** Creates, changes or (with null) removes a server. If it throws, nothing has changed. */
  change(name: string, { action, properties }: { action: string; properties: Properties | null }): void {
    const line = Buffer.from(serverLine(name, { properties, actions: [action] }));
    this.#append(line);
    this.#keep(name, { properties, actions: [action] });
    if (this.#next !== undefined || this.#length > this.#compactAt) this.#compact(line);
  }

  close(): void {
    this.#next?.abandon();
    this.#next = undefined;
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #keep(name: string, change: SimulatedServer): void {
    const server = joined(this.#servers.get(name) ?? this.#gone.get(name), change);
    this.#gone.delete(name);
    if (server.properties !== null) {
      this.#servers.set(name, server);
      return;
    }
    this.#servers.delete(name);
    keepNewest(this.#gone, [name, server], this.#goneMax);
  }

  /** Appends to the file after its first `length` bytes; the rest was never finished. */
  #goOn(length: number): void {
    const descriptor = openSync(this.#file, 'r+');
    ftruncateSync(descriptor, length);
    this.#use(descriptor, length);
  }

  #use(descriptor: number, length: number): void {
    this.close();
    this.#descriptor = descriptor;
    this.#length = length;
    this.#compactAt = Math.max(2 * length, this.#compactionBytes);
  }

  /** Goes on with the compaction. The change is in the old file already, so a failure costs disk space only. */
  #compact(change: Buffer): void {
    try {
      this.#next ??= new CompactFile(this.#file, this.#servers);
      this.#next.append(change);
      if (this.#next.writeServers(SERVERS_A_CHANGE)) this.#replace(this.#next);
    } catch {
      this.#next?.abandon();
      this.#next = undefined;
      this.#compactAt = this.#length + this.#compactionBytes;
    }
  }

  /** Writes the existing servers to a file that replaces the old one. If it throws, the old one stays in use. */
  #writeAnew(): void {
    const next = new CompactFile(this.#file, this.#servers);
    try {
      next.writeServers(Number.POSITIVE_INFINITY);
      this.#replace(next);
    } catch (error) {
      next.abandon();
      throw error;
    }
  }

  #replace(next: CompactFile): void {
    const { descriptor, length } = next.place();
    this.#next = undefined;
    this.#use(descriptor, length);
  }

  #append(line: Buffer): void {
    if (this.#descriptor === undefined) throw new Error(`the simulated provider of ${this.#file} is closed`);
    if (this.#length + line.length > FILE_BYTES_MAX) {
      throw new Error(`${this.#file} would grow beyond ${FILE_BYTES_MAX} bytes; delete some of its servers`);
    }
    try {
      writeAll(this.#descriptor, line, this.#length);
    } catch (error) {
      // A partial line would corrupt the next one.
      ftruncateSync(this.#descriptor, this.#length);
      throw error;
    }
    this.#length += line.length;
  }
}

/**
 * A file with one line for each server that is written beside the one in use. Servers that change meanwhile have more lines:
 * their change, and all of them if it is still to come.
 */
class CompactFile {
  readonly #file: string;
  readonly #descriptor: number;
  readonly #servers: Iterator<[string, SimulatedServer]>;
  #length = 0;

  /** `servers` may change meanwhile. Throws where the file cannot be made. */
  constructor(file: string, servers: ReadonlyMap<string, SimulatedServer>) {
    this.#file = file;
    this.#descriptor = openSync(`${file}.new`, 'w', 0o600);
    this.#servers = servers.entries();
  }

  append(line: Buffer): void {
    this.#length += writeAll(this.#descriptor, line);
  }

  /** Writes the next servers; returns true if all are written. */
  writeServers(count: number): boolean {
    let slice = '';
    for (let left = count; left > 0; left -= 1) {
      const next = this.#servers.next();
      if (next.done === true || slice.length >= SLICE_LENGTH) {
        this.append(Buffer.from(slice));
        slice = '';
      }
      if (next.done === true) return true;
      slice += serverLine(...next.value);
    }
    this.append(Buffer.from(slice));
    return false;
  }

  /** Puts the file in the place of the one in use, and returns it. */
  place(): { readonly descriptor: number; readonly length: number } {
    renameSync(`${this.#file}.new`, this.#file);
    return { descriptor: this.#descriptor, length: this.#length };
  }

  abandon(): void {
    closeSync(this.#descriptor);
  }
}

/** Writes all of `bytes`, from `position` or after the last write, and returns their number. */
function writeAll(descriptor: number, bytes: Buffer, position?: number): number {
  for (let written = 0; written < bytes.length; ) {
    const at = position === undefined ? undefined : position + written;
    written += writeSync(descriptor, bytes, written, bytes.length - written, at);
  }
  return bytes.length;
}

function joined(before: SimulatedServer | undefined, { properties, actions }: SimulatedServer): SimulatedServer {
  return { properties, actions: [...(before?.actions ?? []), ...actions].slice(-ACTIONS_MAX) };
}
