// Watches each commit that comes into force: nothing of a protected instance is given up, what was approved does not count, and no
// clientcert is hidden by a stack that is refused.
import { isWhole } from './edit-files.ts';
import type { Followed } from './followed.ts';
import { givesUpProtected } from './judge-delete.ts';
import { GLOBAL, type Shape, serversOf } from './stacks.ts';
import type { World } from './world.ts';

const CLIENTCERT = /^types\/clientcert\/([\w-]+)\.yaml$/;

/** Looks at the commit that came into force last. */
export function watchClaims(world: World, followed: Followed): void {
  const desired = world.core?.current.get();
  const { last } = followed;
  if (desired === undefined || last === undefined) return;
  const lost = givesUpProtected(world, followed);
  if (lost !== undefined) world.fail('no protected server is given up', lost);
  watchApproved(world);
  for (const [path, { mode }] of last.files) {
    const [, node] = CLIENTCERT.exec(path) ?? [];
    const isValidEntry = mode === '100644' && isWhole(last.files, GLOBAL);
    if (node !== undefined && isValidEntry) watchClientcert(world, node);
  }
}

/** Returns true if the name of a server differs only in case from one that has a row: such a version is refused. */
export function differsInCase(shape: Shape, { core }: Pick<World, 'core'>): boolean {
  const existing = [...(core?.ledger.list('server').keys() ?? [])];
  return serversOf(shape).some((name) =>
    existing.some((other) => other !== name && other.toLowerCase() === name.toLowerCase()),
  );
}

/** What was approved counts no more, also what goes since an earlier commit. */
function watchApproved(world: World): void {
  const { core, approved } = world;
  const instances = core?.current.get()?.approved;
  if (core === undefined || instances === undefined || instances.size === 0) return;
  for (const [name, row] of core.ledger.list('server')) {
    if (row.approved || row.applied === null || !instances.has(row.instance) || !approved.has(name)) continue;
    const isGoing = row.wanted === null ? row.policy.deletion === 'delete' : row.replacing && !row.policy.protected;
    if (isGoing)
      world.fail('what was approved does not count against the budget', `${name}, which goes already, counts`);
  }
}

function watchClientcert(world: World, node: string): void {
  const desired = world.core?.current.get();
  const isOfStack = desired === undefined || desired.owners.has(node) || world.core?.ledger.server(node) !== undefined;
  if (isOfStack || desired.units.has(`clientcert/${node}`)) return;
  world.fail('no clientcert is hidden by a stack that is refused', `${node} has no record`);
}
