// Watches what a start believes was active: it equals the rows that the controller before has left, or nothing is active.

import { instanceAddress } from '../../src/model/address.ts';
import { isSame, type Json } from '../../src/model/json.ts';
import type { HeadRow, ServerRow } from '../../src/model/rows.ts';
import type { Spec } from '../../src/model/spec.ts';
import type { Store } from '../../src/store/store.ts';
import type { Facts } from './facts.ts';

interface Recorded {
  readonly head: HeadRow;
  readonly servers: ReadonlyMap<string, ServerRow>;
}

export class RestoreWatch {
  readonly #facts: Facts;
  /** The rows at the last start, until something is active. */
  #recorded: Recorded | undefined;

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  /** Notes the rows that a new controller finds. */
  opened(store: Pick<Store, 'read' | 'list'>): void {
    const head = store.read('head', 'head');
    this.#recorded = head && { head, servers: new Map(store.list('server')) };
  }

  /** Compares the first desired state of a controller with them. */
  step(): void {
    const desired = this.#facts.core?.current.get();
    if (this.#recorded === undefined || desired === undefined) return;
    const { head, servers } = this.#recorded;
    this.#recorded = undefined;
    // Somebody has accepted another one.
    if (desired.commit !== head.commit) return;
    const wanted = new Map([...desired.units.values()].flatMap((unit) => [...unit.servers]));
    for (const [name, row] of servers) {
      if (row.wanted === null) continue;
      const server = wanted.get(name);
      const isAlike = server !== undefined && server.instance === row.instance && isSameSpec(server.spec, row.wanted);
      if (!isAlike || desired.owners.get(name) !== instanceAddress(row.instance)) this.#differs(name, 'recorded');
    }
    for (const name of wanted.keys()) if (servers.get(name)?.wanted == null) this.#differs(name, 'restored');
  }

  #differs(name: string, where: string): void {
    this.#facts.fail('a start goes on from what is recorded', `${name} is ${where}, and not the same in the other`);
  }
}

function isSameSpec(a: Spec, b: Spec): boolean {
  return isSame(a as unknown as Json, b as unknown as Json);
}
