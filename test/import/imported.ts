// Imports texts as the command does, without a disk: reads, writes, derives and compares.
import { derive, problemsOf } from '../../src/derive.ts';
import type { SelectedNames, SelectorType } from '../../src/import/infer-selectors.ts';
import { Inventory } from '../../src/import/inventory.ts';
import { type Proof, proveImport } from '../../src/import/prove-import.ts';
import { writeRepository } from '../../src/import/write-repository.ts';
import { isError, placeAndCode } from '../../src/model/problem.ts';
import { snapshotOf } from '../catalog/snapshots.ts';

export interface Imported {
  readonly inventory: Inventory;
  readonly files: Readonly<Record<string, string>>;
  readonly selections: ReadonlyMap<string, SelectedNames>;
  readonly proof: Proof;
  /** Errors and warnings, but for what every new repository lacks. */
  readonly problems: readonly string[];
}

/** Returns an inventory that `read` has filled. */
export function inventoryOf(read: (inventory: Inventory) => void): Inventory {
  const inventory = new Inventory();
  read(inventory);
  return inventory;
}

/** Returns what is written of an inventory, and what it comes to. */
export function importOf(
  read: (inventory: Inventory) => void,
  { layers = new Map<SelectorType, string>(), adopt = false } = {},
): Imported {
  const inventory = inventoryOf(read);
  const written = writeRepository(inventory, { layers, adopt });
  const files = Object.fromEntries(written.files);
  const derivation = derive(snapshotOf(files));
  const problems = problemsOf(derivation)
    .filter((problem) => isError(problem) || problem.code !== 'no_administrator')
    .map(placeAndCode);
  return {
    inventory,
    files,
    selections: written.selections,
    proof: proveImport(inventory, written.selections, derivation),
    problems,
  };
}

/** Returns the keys of a server as plain values. */
export function valuesOf(inventory: Inventory, node: string): Readonly<Record<string, unknown>> {
  const values = inventory.nodes.get(node)?.values ?? new Map();
  return Object.fromEntries([...values].map(([key, { value }]) => [key, value]).sort());
}

/** Returns what is not imported, as lines. */
export function leftOutOf({ leftOut }: Inventory): readonly string[] {
  return leftOut.map(({ file, line, key, reason }) => `${file}:${line} ${key}: ${reason}`);
}
