// Watches what a start believes was active: it equals the rows that the controller before has left, or nothing is active. Holds
// are judged again at a start: one of which no server is made any more has nothing to wait for, so its instance, and those that
// were pinned because of it, may be at the version of the followed commit.

import type { DesiredState } from '../../src/desired/desired-state.ts';
import { isMade } from '../../src/machine/existence.ts';
import { asWritten } from '../../src/machine/read-outputs.ts';
import { instanceAddress, nameAt } from '../../src/model/address.ts';
import { isSame, type Json } from '../../src/model/json.ts';
import type { HeadRow, Rows, ServerRow } from '../../src/model/rows.ts';
import type { Spec } from '../../src/model/spec.ts';
import type { Store } from '../../src/store/store.ts';
import { siteOfRow } from './build-sites.ts';
import type { Facts } from './facts.ts';

interface Recorded {
  readonly head: HeadRow;
  readonly servers: ReadonlyMap<string, ServerRow>;
  readonly pinned: ReadonlyMap<string, Rows['pinned']>;
  readonly held: ReadonlyMap<string, Rows['held']>;
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
    this.#recorded = head && {
      head,
      servers: new Map(store.list('server')),
      pinned: new Map(store.list('pinned')),
      held: new Map(store.list('held')),
    };
  }

  /** Notes the servers that a restored store takes for made, and that are gone: deleted since the backup, mostly. */
  restored(store: Pick<Store, 'list'>): void {
    const { sites, goneUnasked } = this.#facts;
    for (const [name, row] of store.list('server')) {
      // What a recorded action has done is found by a check, as after a crash.
      if (row.applied === null || row.action !== null) continue;
      const site = sites.find(({ options }) => options.name === siteOfRow(row));
      if (site?.find(name) === undefined) goneUnasked.add(name);
    }
  }

  /** Compares the first desired state of a controller with them. */
  step(): void {
    const desired = this.#facts.core?.current.get();
    if (this.#recorded === undefined || desired === undefined) return;
    const recorded = this.#recorded;
    const { head, servers } = recorded;
    this.#recorded = undefined;
    // Somebody has accepted another one.
    if (desired.commit !== head.commit) return;
    const wanted = new Map([...desired.units.values()].flatMap((unit) => [...unit.servers]));
    for (const [name, row] of servers) {
      if (row.wanted === null) continue;
      const server = wanted.get(name);
      const isAlike =
        server !== undefined && server.instance === row.instance && isSameSpec(server.spec, asWritten(row.wanted));
      const address = instanceAddress(row.instance);
      if (isAlike && desired.owners.get(name) === address) continue;
      if (!isSetFree(address, desired, recorded)) this.#differs(name, 'recorded');
    }
    for (const [name, { instance }] of wanted) {
      if (servers.get(name)?.wanted != null || isSetFree(instanceAddress(instance), desired, recorded)) continue;
      this.#differs(name, 'restored');
    }
  }

  #differs(name: string, where: string): void {
    this.#facts.fail('a start goes on from what is recorded', `${name} is ${where}, and not the same in the other`);
  }
}

/** Returns true if an instance was pinned by a hold that has nothing to wait for, and is at the followed commit's version. */
function isSetFree(address: string, { units, candidates }: DesiredState, { pinned, held, servers }: Recorded): boolean {
  if (!pinned.has(address) || units.get(address) !== candidates.get(address)) return false;
  const isVoid = (hold: Rows['held']): boolean =>
    !hold.servers.some((name) => {
      const row = servers.get(name);
      return row !== undefined && isMade(row);
    });
  const own = held.get(nameAt(address));
  return own === undefined ? [...held.values()].some(isVoid) : isVoid(own);
}

function isSameSpec(a: Spec, b: Spec): boolean {
  return isSame(a as unknown as Json, b as unknown as Json);
}
