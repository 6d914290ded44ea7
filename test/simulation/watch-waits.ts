// Watches for servers that wait too long: a server of a site that is well does not wait for one that is dead.
import { REMOTE_SITES } from './themes/theme.ts';
import type { World } from './world.ts';

const PATIENCE_MS = 40 * 60_000;
/** Between two comparisons of how long each server waits. */
const COMPARISON_MS = 600_000;

export class WaitWatch {
  readonly #world: World;
  /** Since when each server waits for its first check. */
  readonly #since = new Map<string, number>();
  #comparedAt = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** Looks at every server that was never asked about, if the last comparison is long enough ago. */
  step(): void {
    if (this.#world.scheduler.now < this.#comparedAt + COMPARISON_MS) return;
    this.#comparedAt = this.#world.scheduler.now;
    this.#compare();
  }

  #compare(): void {
    const world = this.#world;
    const since = this.#since;
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
      if (REMOTE_SITES.some((name) => name === site)) continue;
      const isWaiting = row.state === 'pending' && !row.checked && row.wanted !== null && row.due === null;
      if (!isWaiting || world.disk.isFull || !world.site(site).isWellFor(name)) since.delete(name);
      else if (!since.has(name)) since.set(name, world.scheduler.now);
      else if (world.scheduler.now - (since.get(name) ?? 0) > PATIENCE_MS) {
        world.fail('one site does not keep another waiting', `${name} at ${site} was not looked at for 40 minutes`);
      }
    }
  }
}
