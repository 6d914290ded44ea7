// Watches the events: after whatever crashes, the last event of every server tells the state that its row has.
import type { World } from './world.ts';

/** A store keeps so many events of an instance: where there may have been more, nothing is compared. */
const KEPT_MAX = 1_000;

/** Compares the rows of all servers with their events. */
export async function watchEvents(world: World): Promise<void> {
  const ledger = world.core?.ledger;
  if (ledger === undefined) return;
  const instances = new Set([...ledger.list('server').values()].map(({ instance }) => instance));
  for (const instance of instances) {
    const { events } = await ledger.events(instance, { after: 0, limit: KEPT_MAX });
    if (events.length >= KEPT_MAX) continue;
    const told = new Map(events.map(({ resource, to }) => [resource, to]));
    for (const name of ledger.index.serversOf(instance)) {
      const { state } = ledger.server(name) ?? {};
      if (state === undefined || told.get(name) === state) continue;
      world.fail('events tell what the rows say', `${name} is ${state}, and its last event says ${told.get(name)}`);
    }
  }
}
