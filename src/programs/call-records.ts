// Records calls: a small file for the last call of each server. It is written before the program gets any input, and
// removed once the program has exited. Files are not synced, because a power cut ends the processes, too.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMap, parseJson } from '../model/json.ts';
import { bootId, identityOf, type ProcessIdentity } from './linux-processes.ts';

/** Describes the purpose of a program: `server`, `action` and `deadline` for a call of a provider. */
export type CallLabels = Readonly<Record<string, string>>;

/** A recorded call. */
export interface CallRecord {
  readonly about: CallLabels;
  /** The leader of its process group; null if it had already ended. */
  readonly leader: ProcessIdentity | null;
  readonly mark: string;
}

const SUFFIX = '.json';

/** The records in a directory, which belongs to one process. */
export class CallRecords {
  readonly #directory: string;
  /** This directory, and this start of the machine. */
  readonly #place: { readonly directory: string; readonly boot: string };

  constructor(directory: string) {
    this.#directory = directory;
    this.#place = { directory: realpathSync(directory), boot: bootId() ?? '' };
  }

  /** Records the process group of a call. Throws if that fails. */
  write(pid: number, { about, mark }: Omit<CallRecord, 'leader'>): void {
    const record = { about, mark, leader: identityOf(pid) ?? null, place: this.#place };
    writeFileSync(this.#path(about, mark), JSON.stringify(record), { mode: 0o600 });
  }

  /** Removes the record of a call. */
  remove({ about, mark }: Omit<CallRecord, 'leader'>): void {
    rmSync(this.#path(about, mark), { force: true });
  }

  /** Returns the calls that were recorded in this directory since the start of the machine. Removes all other files. */
  read(): readonly CallRecord[] {
    return readdirSync(this.#directory).flatMap((name) => {
      const path = join(this.#directory, name);
      const record = name.endsWith(SUFFIX) ? this.#parse(readFileSync(path, 'utf8')) : undefined;
      if (record === undefined) rmSync(path, { recursive: true, force: true });
      return record ?? [];
    });
  }

  /** Returns undefined for a record from a copied directory or from an earlier start of the machine. */
  #parse(text: string): CallRecord | undefined {
    const value = parseJson(text);
    if (!isMap(value) || !isMap(value.place) || !isMap(value.about) || typeof value.mark !== 'string') return undefined;
    const { directory, boot } = this.#place;
    if (boot === '' || value.place.boot !== boot || value.place.directory !== directory) return undefined;
    const leader = isMap(value.leader) ? (value.leader as unknown as ProcessIdentity) : null;
    return { about: value.about as CallLabels, mark: value.mark, leader };
  }

  #path({ server }: CallLabels, mark: string): string {
    const name = createHash('sha256')
      .update(server ?? mark)
      .digest('hex')
      .slice(0, 32);
    return join(this.#directory, `${name}${SUFFIX}`);
  }
}
