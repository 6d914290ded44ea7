// From a node's name to its configuration: which unit in force makes it.
import type { HieraNode } from '../hiera/node.ts';
import type { Standing } from './estate.ts';

/** Returns a node of the estate: a server of a stack, or a hand-written clientcert; undefined where neither has the name. */
export function nodeOf(estate: Standing, name: string): HieraNode | undefined {
  const key = estate.owners.get(name) ?? `clientcert/${name}`;
  return estate.units.get(key)?.nodes.get(name);
}

/** Returns the names of all nodes of the estate, in no order. */
export function* nodeNames(estate: Standing): Generator<string> {
  for (const unit of estate.units.values()) yield* unit.nodes.keys();
}
