// Watches servers that take the address of another: none is made or changed with an address that nobody has reported, nor without
// one, and at rest each has the newest that is recorded.
import { unknownReads } from '../../src/machine/read-outputs.ts';
import type { Answer } from '../../src/model/call-result.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import type { Call } from '../../src/providers/provider.ts';
import type { Facts } from './facts.ts';
import { PEER } from './stacks.ts';

export class OutputWatch {
  readonly #facts: Facts;
  /** Every address that was ever reported of a server. */
  readonly #reported = new Map<string, Set<string>>();

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  began({ operation, resource, properties }: Call): void {
    if (operation !== 'create' && operation !== 'update') return;
    const spec = this.#facts.core?.ledger.server(resource)?.action?.spec;
    if (spec != null && Object.keys(unknownReads(spec)).length > 0)
      this.#facts.fail('nothing is made without an output that it takes', `${operation} ${resource}`);
    const peer = properties[PEER];
    if (peer === undefined) return;
    const source = resource.replace(/-web-\d+$/, '-db');
    if (this.#reported.get(source)?.has(String(peer)) !== true)
      this.#facts.fail('nothing is made with an output that nobody reported', `${operation} ${resource} with ${peer}`);
  }

  ended({ resource }: Pick<Call, 'resource'>, answer: Answer | undefined): void {
    const address = answer?.outputs.address;
    if (address === undefined) return;
    const known = this.#reported.get(resource) ?? new Set();
    this.#reported.set(resource, known.add(String(address)));
  }

  /** At the end, whoever is done has what is recorded of the other. */
  judge(name: string, { state, wanted, applied }: ServerRow): void {
    if (state !== 'done' || wanted?.reads === undefined) return;
    const source = name.replace(/-web-\d+$/, '-db');
    const newest = this.#facts.core?.ledger.server(source)?.outputs.address;
    const own = applied?.properties[PEER];
    if (own === undefined || (newest !== undefined && newest !== own))
      this.#facts.fail('who takes an output has the newest', `${name} has ${own}, and ${source} reports ${newest}`);
  }
}
