// From a node's name to its configuration: which unit in force makes it.

import type { HieraNode } from '../hiera/node.ts';
import { addressOf } from '../model/address.ts';
import type { Baseline } from './desired-state.ts';

/** Returns a node of the desired state: a server of a stack, or a hand-written clientcert; undefined where neither has the name. */
export function nodeOf(desired: Baseline, name: string): HieraNode | undefined {
  const key = desired.owners.get(name) ?? addressOf('clientcert', name);
  return desired.units.get(key)?.nodes.get(name);
}

/** Returns the names of all nodes of the desired state, in no order. */
export function* nodeNames(desired: Baseline): Generator<string> {
  for (const unit of desired.units.values()) yield* unit.nodes.keys();
}
