// Removes the rows of unwanted instances after their last server is gone.
import type { Clock } from '../base/clock.ts';
import type { Change } from '../model/rows.ts';
import type { Ledger } from './ledger.ts';

/** The instances of which a server was removed since they were last examined. */
export class EmptiedInstances {
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  /** Instances of which a server was removed. */
  readonly #thinned = new Set<string>();

  constructor({ ledger, clock }: { readonly ledger: Ledger; readonly clock: Clock }) {
    this.#ledger = ledger;
    this.#clock = clock;
  }

  /** Notes that a server of an instance was removed. */
  note(instance: string): void {
    this.#thinned.add(instance);
  }

  /**
   * Removes the rows of noted instances without servers, and their suspensions. Throws if that cannot be written; call
   * again.
   */
  async forget(): Promise<void> {
    for (const name of this.#thinned) if (this.#ledger.index.hasServers(name)) this.#thinned.delete(name);
    const emptied = [...this.#thinned];
    const changes = emptied.flatMap((name) => this.#changesOf(name));
    await this.#ledger.commit(changes, { kind: 'pass', now: this.#clock.now() });
    for (const name of emptied) this.#thinned.delete(name);
  }

  #changesOf(name: string): readonly Change[] {
    const expected = this.#ledger.read('terminating', name);
    if (expected === undefined) return [];
    const terminating: Change = { kind: 'terminating', name, value: null, expected };
    const suspension = this.#ledger.read('suspension', name);
    if (suspension === undefined) return [terminating];
    return [terminating, { kind: 'suspension', name, value: null, expected: suspension }];
  }
}
