// People ask for single servers: forget one, make one anew, check those of an instance.
import type { WiredCore } from '../../src/compose/core.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import type { Order } from '../../src/service/answers.ts';
import type { World } from './world.ts';

/** A server and the controller that is asked. */
interface Request {
  readonly core: WiredCore;
  readonly order: Order;
  readonly name: string;
}

/** Asks to forget a server. One that is forgotten is a stranger's from then on, until somebody adopts it. */
export async function askToRetain(world: World, { core, order, name }: Request): Promise<string> {
  world.asked.retaining.add(name);
  try {
    const text = await core.operator.retain(order, name);
    world.asked.retained.add(name);
    return text;
  } finally {
    world.asked.retaining.delete(name);
  }
}

/** Asks to replace a server. The delete of it is approved, unless the request is refused. */
export async function askToReplace(world: World, { core, order, name }: Request): Promise<string> {
  const added = [world.approved, world.asked.replaced].filter((names) => !names.has(name));
  for (const names of added) names.add(name);
  world.asked.note(name);
  try {
    const text = await core.operator.replace(order, name);
    world.asked.uncounted.add(name);
    return text;
  } catch (error) {
    if (error instanceof ServiceError) for (const names of added) names.delete(name);
    throw error;
  }
}

/** Asks for a check of all servers of an instance. */
export function askToCheck(_world: World, { core, order, name: instance }: Request): Promise<string> {
  return core.operator.check(order, { instance });
}
