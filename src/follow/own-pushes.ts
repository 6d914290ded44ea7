// Remembers what the writes of this process push: the files, which are parsed already, and which client wrote which
// commit. The clients are not read from the commits: a person who may push could name another client there.
import { NO_FILES, type ParsedFiles } from '../catalog/load-catalog.ts';
import { instanceAddress } from '../model/address.ts';
import type { Writing, Writings } from '../model/writing.ts';
import type { Commit } from '../repository/source.ts';

const WRITINGS_MAX = 1_000;

/** The newest commits that were written through the interface. */
export class OwnPushes {
  /** The files of the last push: following its commits parses none of them again. */
  parsedFiles: ParsedFiles = NO_FILES;
  readonly #writings = new Map<string, Writing>();

  /** Adds commits that are about to be pushed. */
  add(files: ParsedFiles, writings: Writings): void {
    this.parsedFiles = files;
    for (const [oid, writing] of writings) this.#writings.set(oid, writing);
    const tooMany = Math.max(0, this.#writings.size - WRITINGS_MAX);
    for (const oid of [...this.#writings.keys()].slice(0, tooMany)) this.#writings.delete(oid);
  }

  /**
   * Returns which client changed an instance with these commits, newest first: the one that wrote its file, else the
   * one that wrote all of them; null if that is not known.
   */
  findClients(commits: readonly Commit[]): (instance: string) => string | null {
    const known = commits.map(({ oid }) => this.#writings.get(oid));
    const byAddress = new Map(
      known.toReversed().flatMap((it) => (it === undefined ? [] : [[it.address, it.client] as const])),
    );
    const clients = new Set(known.map((it) => it?.client ?? null));
    const [only = null] = clients.size === 1 ? clients : [];
    return (instance) => byAddress.get(instanceAddress(instance)) ?? only;
  }
}
