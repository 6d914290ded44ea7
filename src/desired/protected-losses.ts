// Servers that leave protected instances for ones that are not, where they may be replaced or deleted. docs/decisions/0050.
import type { ProtectedLoss } from './refusal-texts.ts';
import { isProtected, type Unit } from './unit.ts';

/** Returns such servers and who receives them, by instance. `receiverOf`: the instance that makes a server from now on. */
export function handedToUnprotected(
  inForce: ReadonlyMap<string, Unit>,
  receiverOf: (server: string) => Unit | undefined,
): ReadonlyMap<string, ProtectedLoss['given']> {
  const handed = new Map<string, ProtectedLoss['given']>();
  for (const unit of inForce.values()) {
    if (unit.type !== 'stack-instance' || !isProtected(unit)) continue;
    const given = [...unit.servers.keys()].flatMap((server) => {
      const receiver = receiverOf(server);
      const isGiven = receiver !== undefined && receiver.name !== unit.name && !isProtected(receiver);
      return isGiven ? [{ server, receiver: receiver.name }] : [];
    });
    if (given.length > 0) handed.set(unit.name, given);
  }
  return handed;
}
