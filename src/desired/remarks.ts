// Reports valid objects that are probably not intended: objects that no node selects, a registry without
// administrators, a layout without instances. Warnings only: they pin no instance and refuse no write.

import { didYouMean, quote } from '../base/wording.ts';
import { isTreeType, treeIndex } from '../hiera/tree-index.ts';
import { splitAddress } from '../model/address.ts';
import { isValidEntry, problemAt } from '../model/entry.ts';
import { isFullAdministrator } from '../model/least-rights.ts';
import { kindOf } from '../model/names.ts';
import type { TypedObject } from '../model/objects.ts';
import { isError, type Problem, sortProblems } from '../model/problem.ts';
import type { DesiredState } from './desired-state.ts';
import type { Unit } from './unit.ts';

/** Types whose objects are never selected by a node. */
const SELECTED_BY_NONE: ReadonlySet<string> = new Set(['action', 'stack-snapshot', 'clientcert']);

const known = new WeakMap<DesiredState, readonly Problem[]>();

/**
 * Returns all problems of the followed commit, sorted: those of the desired state, and the warnings about the
 * repository as a whole. Computed on demand, once for each desired state.
 */
export function problemsAndRemarks(desired: DesiredState): readonly Problem[] {
  const found = known.get(desired) ?? sortProblems([...desired.problems, ...remarksOn(desired)]);
  known.set(desired, found);
  return found;
}

function remarksOn(desired: DesiredState): readonly Problem[] {
  return [...noAdministrator(desired), ...noInstance(desired), ...unusedObjects(desired)];
}

function* noAdministrator({ clients }: DesiredState): Generator<Problem> {
  if ([...clients.values()].some(({ entry }) => isFullAdministrator(entry.object))) return;
  const message =
    clients.size === 0
      ? 'no client is registered, so the interface admits no client'
      : 'no administrator is registered, so no client may write types, the tree and clients, or approve what is held';
  yield ofFolder('clients', {
    code: 'no_administrator',
    message,
    hint: 'add clients/<serial>.yaml with "role: administrator", where <serial> is that of your certificate',
  });
}

function* noInstance({ catalog }: DesiredState): Generator<Problem> {
  if (catalog.instances.size > 0) return;
  yield ofFolder('stacks/instances', {
    code: 'no_instance',
    message: 'there is no stack instance, so no server is created',
    hint: 'add stacks/instances/<name>.yaml with "stackTemplate:"',
  });
}

function ofFolder(file: string, text: Pick<Problem, 'code' | 'message' | 'hint'>): Problem {
  return { ...text, severity: 'warning', file, line: 1, column: 1, pointer: '' };
}

/** The number of unused objects for which a similar name is searched: each search takes time. */
const SUGGESTIONS_MAX = 100;

function* unusedObjects({ catalog, candidates, units }: DesiredState): Generator<Problem> {
  const nodes = [...candidates.values(), ...units.values()];
  // The selections of an invalid instance are unknown. A layout without any nodes has its own warning.
  if (nodes.some(isUnknown) || nodes.every((unit) => unit.nodes.size === 0)) return;
  const reads = collectReads(nodes);
  let suggestionsLeft = SUGGESTIONS_MAX;
  for (const [address, entry] of catalog.objects) {
    const [type, name] = splitAddress(address);
    if (SELECTED_BY_NONE.has(type) || reads.found.has(address) || !isValidEntry(entry)) continue;
    if (isBase(entry.object, catalog.tree.object?.name) || isInTree(entry.object, catalog)) continue;
    const isLevel = catalog.hierarchy.object?.order.some((level) => level.type === type) ?? true;
    const hint = suggestionsLeft-- > 0 ? didYouMean(name, reads.inVain.get(type) ?? []) : null;
    yield problemAt(entry, '', {
      code: 'unused_object',
      severity: 'warning',
      message: isLevel
        ? `no node selects the ${kindOf(entry.object.type)} ${quote(name)}`
        : `no node selects the ${kindOf(entry.object.type)} ${quote(name)}: hierarchy.yaml has no level of that type`,
      hint: hint ?? (isLevel ? 'select it, or remove it' : 'add the level, or remove the object'),
    });
  }
}

function isUnknown(unit: Unit): boolean {
  return unit.nodes.size === 0 && unit.problems.some(isError);
}

function isBase({ type, name }: TypedObject, root: string | undefined): boolean {
  return type === 'common' && name === root;
}

/** A node of the tree counts as used even before it has a server. */
function isInTree({ type, name }: TypedObject, { tree }: DesiredState['catalog']): boolean {
  return tree.object !== null && isTreeType(type) && treeIndex(tree.object).pathsTo({ type, name }).length > 0;
}

interface Reads {
  /** Addresses of the objects that nodes read. */
  readonly found: ReadonlySet<string>;
  /** Names that nodes read and that do not exist, by type. */
  readonly inVain: ReadonlyMap<string, ReadonlySet<string>>;
}

function collectReads(units: readonly Unit[]): Reads {
  const found = new Set<string>();
  const inVain = new Map<string, Set<string>>();
  for (const { inputs } of units) {
    for (const [address, entry] of inputs) {
      if (entry !== undefined) {
        found.add(address);
        continue;
      }
      const [type, name] = splitAddress(address);
      const names = inVain.get(type) ?? new Set();
      inVain.set(type, names.add(name));
    }
  }
  return { found, inVain };
}
