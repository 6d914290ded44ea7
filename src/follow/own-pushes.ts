// Remembers which client wrote each commit that this process pushed. Clients are not read from commits, because a user
// with push access could name another client there.
import { instanceAddress } from '../model/address.ts';
import type { Writing, Writings } from '../model/writing.ts';
import type { Commit } from '../repository/source.ts';

const WRITINGS_MAX = 1_000;

/** The newest commits that were written through the interface. */
export class OwnPushes {
  readonly #writings = new Map<string, Writing>();

  /** Adds commits that are about to be pushed. */
  add(writings: Writings): void {
    for (const [oid, writing] of writings) this.#writings.set(oid, writing);
    const tooMany = Math.max(0, this.#writings.size - WRITINGS_MAX);
    for (const oid of [...this.#writings.keys()].slice(0, tooMany)) this.#writings.delete(oid);
  }

  /**
   * Returns a function that returns which client changed an instance with these commits (newest first): the client that
   * wrote its file, else the client of all the commits; null if not known.
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
