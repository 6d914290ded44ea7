// Watches who waits too long: a server of a site that is well does not wait for one that is dead.
import type { World } from './world.ts';

const PATIENCE_MS = 40 * 60_000;

/** Looks at every server that was never asked about. `since` is kept between two looks. */
export function watchWaits(world: World, since: Map<string, number>): void {
  const ledger = world.core?.ledger;
  const isStopped =
    ledger === undefined ||
    world.core?.current.get() === undefined ||
    ledger.list('suspension').size > 0 ||
    world.wall.setAt > 0;
  if (isStopped || ledger.list('held').size > 0) {
    since.clear();
    return;
  }
  for (const [name, row] of ledger.list('server')) {
    const site = String(row.wanted?.properties.site ?? '');
    // Its proxies may be down, or their line cut.
    if (site === 'east') continue;
    const isWaiting = row.state === 'pending' && !row.checked && row.wanted !== null && row.due === null;
    if (!isWaiting || world.disk.isFull || !world.site(site).isWellFor(name)) since.delete(name);
    else if (!since.has(name)) since.set(name, world.scheduler.now);
    else if (world.scheduler.now - (since.get(name) ?? 0) > PATIENCE_MS) {
      world.fail('one site does not keep another waiting', `${name} at ${site} was not looked at for 40 minutes`);
    }
  }
}
