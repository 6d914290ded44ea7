// Compares the desired states before and after a write, and lists the effects on servers. Pure.
import type { DesiredState } from '../../desired/desired-state.ts';
import { isRetaining, type Unit } from '../../desired/unit.ts';
import type { HieraNode } from '../../hiera/node.ts';
import { needsNoAction } from '../../machine/existence.ts';
import { instanceAddress } from '../../model/address.ts';
import { isSame } from '../../model/json.ts';
import { compareNames } from '../../model/names.ts';
import type { WantedServer } from '../../model/spec.ts';
import { isSameRecord } from '../../plan/configuration-changes.ts';

/** `record`: nothing happens to the server, but its record says something else. */
type Effect = 'created' | 'updated' | 'deleted' | 'retained' | 'record';

/** The effect of a write on one server, as a dry run answers it. */
export interface ServerEffect {
  readonly server: string;
  readonly instance: string;
  /** `held`: it waits for an approval, with everything else of its instance. */
  readonly change: Effect | 'held';
  /** For a held instance: the effect of an approval. */
  readonly once_approved?: Effect;
}

interface ComparedStates {
  readonly before: DesiredState;
  /** As if nothing had to be approved. */
  readonly after: DesiredState;
  /** The instances that are held in the end. */
  readonly held: ReadonlySet<string>;
}

/** Returns the servers that are concerned, sorted by name. */
export function serverChanges({ before, after, held }: ComparedStates): readonly ServerEffect[] {
  const changes: ServerEffect[] = [];
  for (const server of changedServers(before, after)) {
    const old = unitOf(before, server);
    const now = unitOf(after, server);
    const instance = (now ?? old)?.name;
    const effect = describeEffect(server, { old, now, after });
    if (instance === undefined || effect === undefined) continue;
    if (held.has(instance)) changes.push({ server, instance, change: 'held', once_approved: effect });
    else changes.push({ server, instance, change: effect });
  }
  return changes.sort((a, b) => compareNames(a.server, b.server));
}

/** The servers of all units that are not the very same. */
function changedServers(before: DesiredState, after: DesiredState): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [desired, other] of [
    [before, after],
    [after, before],
  ] as const) {
    for (const [key, unit] of desired.units) {
      if (other.units.get(key) !== unit) for (const name of unit.servers.keys()) names.add(name);
    }
  }
  return names;
}

function unitOf({ owners, units }: DesiredState, server: string): Unit | undefined {
  return units.get(owners.get(server) ?? '');
}

interface Owners {
  readonly old: Unit | undefined;
  readonly now: Unit | undefined;
  readonly after: DesiredState;
}

function describeEffect(name: string, { old, now, after }: Owners): Effect | undefined {
  const was = old?.servers.get(name);
  const is = now?.servers.get(name);
  if (was === undefined) return is === undefined ? undefined : 'created';
  if (is === undefined) return isRetained(was, after) ? 'retained' : 'deleted';
  if (!needsNoAction(is.spec, was.spec)) return 'updated';
  return hasSameRecord(old?.nodes.get(name), now?.nodes.get(name)) ? undefined : 'record';
}

/** As the active version says, and the one that comes where there is one. */
function isRetained({ policy, instance }: WantedServer, after: DesiredState): boolean {
  const key = instanceAddress(instance);
  return (after.losses.get(key) ?? policy).deletion === 'retain' || isRetaining(after.units.get(key));
}

/** Which outputs a value takes is part of the record; the outputs themselves do not change. */
function hasSameRecord(a: HieraNode | undefined, b: HieraNode | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return isSame(a.own[0]?.reads, b.own[0]?.reads) && isSameRecord(a, b);
}
