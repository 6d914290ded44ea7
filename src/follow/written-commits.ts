// Remembers which client wrote which commit through the interface, for the events. It does not read it from the commits:
// whoever may push could name another client there.
import { instanceAddress } from '../model/address.ts';
import type { Writing, Writings } from '../model/writing.ts';
import type { Commit } from '../source/source.ts';

const WRITINGS_MAX = 1_000;

/** The newest commits that were written through the interface, and by whom. */
export class WrittenCommits {
  readonly #writings = new Map<string, Writing>();

  /** Notes the commits that are about to be pushed. */
  note(writings: Writings): void {
    for (const [oid, writing] of writings) this.#writings.set(oid, writing);
    const tooMany = Math.max(0, this.#writings.size - WRITINGS_MAX);
    for (const oid of [...this.#writings.keys()].slice(0, tooMany)) this.#writings.delete(oid);
  }

  /**
   * Returns which client changed an instance with these commits, newest first: the one that wrote its file, else the one
   * that wrote all of them; null if that is not known.
   */
  clientsOf(commits: readonly Commit[]): (instance: string) => string | null {
    const known = commits.map(({ oid }) => this.#writings.get(oid));
    const byAddress = new Map(
      known.toReversed().flatMap((it) => (it === undefined ? [] : [[it.address, it.client] as const])),
    );
    const clients = new Set(known.map((it) => it?.client ?? null));
    const [only = null] = clients.size === 1 ? clients : [];
    return (instance) => byAddress.get(instanceAddress(instance)) ?? only;
  }
}
