// Refuses versions that would remove servers which must stay: servers of protected instances, and servers that are
// handed over to an instance that cannot become active. docs/decisions/0009.

import type { Steps } from '../base/steps.ts';
import { instanceAddress } from '../model/address.ts';
import { problemAt } from '../model/entry.ts';
import type { MissingServers } from './missing-servers.ts';
import { handOverText, type ProtectedLoss, protectedText } from './refusal-texts.ts';
import { isProtected, type Refusal } from './unit.ts';
import type { Versions } from './versions.ts';

/**
 * Returns refusals of instances that were protected before and would lose servers: retained servers too, and servers
 * that move to an instance without protection. `unprotected`: addresses of instances whose protection was lifted.
 */
export function* protectedRefusals(versions: Versions, unprotected: ReadonlySet<string>): Steps<readonly Refusal[]> {
  const losses = yield* protectedLosses(versions);
  return [...losses].flatMap(([instance, loss]) => {
    const key = instanceAddress(instance);
    const unit = versions.baseline.units.get(key);
    if (unit === undefined || !isProtected(unit) || unprotected.has(key) || versions.pinned.has(key)) return [];
    const newest = versions.newest.get(key)?.entry;
    const text = protectedText(instance, loss, newest === undefined);
    return [{ key, problem: problemAt(newest ?? unit.entry, '/protected', text) }];
  });
}

function* protectedLosses(versions: Versions): Steps<ReadonlyMap<string, ProtectedLoss>> {
  const losses = new Map<string, ProtectedLoss>();
  for (const [instance, deleted] of yield* versions.losses({ withRetained: true }))
    losses.set(instance, { deleted, given: [] });
  for (const [instance, given] of handedToUnprotected(versions)) {
    losses.set(instance, { deleted: losses.get(instance)?.deleted ?? [], given });
  }
  return losses;
}

/** Returns the servers that move from protected instances to others, where they may be replaced or deleted. */
function handedToUnprotected(versions: Versions): ReadonlyMap<string, ProtectedLoss['given']> {
  const handed = new Map<string, ProtectedLoss['given']>();
  for (const unit of versions.baseline.units.values()) {
    if (unit.type !== 'stack-instance' || !isProtected(unit)) continue;
    const given = [...unit.servers.keys()].flatMap((server) => {
      const receiver = versions.makerOf(server);
      const isGiven = receiver !== undefined && receiver.name !== unit.name && !isProtected(receiver);
      return isGiven ? [{ server, receiver: receiver.name }] : [];
    });
    if (given.length > 0) handed.set(unit.name, given);
  }
  return handed;
}

/**
 * Returns refusals of instances that would give one of these servers to an instance that cannot become active. They are
 * pinned too; otherwise no instance would want the server and it would be deleted.
 */
export function handOverRefusals(
  servers: Iterable<string>,
  versions: Versions,
  missing: MissingServers,
): readonly Refusal[] {
  const refused = new Map<string, Refusal>();
  for (const server of servers) {
    const key = versions.baseline.owners.get(server);
    if (key === undefined || versions.claims.ownerOf(server) !== undefined) continue;
    const unit = versions.baseline.units.get(key);
    if (unit === undefined || versions.isRetained(key, server) || versions.pinned.has(key) || refused.has(key))
      continue;
    const file = versions.newest.get(key)?.entry ?? unit.entry;
    const text = handOverText(server, missing.makerOf(server)?.name ?? '');
    refused.set(key, { key, problem: problemAt(file, '/stackTemplate', { ...text, instances: [unit.name] }) });
  }
  return [...refused.values()];
}
