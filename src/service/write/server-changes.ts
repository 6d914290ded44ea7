// Lists the effects of a write on servers: the changes that a plan finds, and the held ones. Pure.
import type { DesiredState } from '../../desired/desired-state.ts';
import type { HieraNode } from '../../hiera/node.ts';
import { isSame } from '../../model/json.ts';
import { compareNames } from '../../model/names.ts';
import { changedNodes, changedServers, changedUnits } from '../../plan/changed-servers.ts';
import { isSameRecord } from '../../plan/configuration-changes.ts';
import { compareServers } from '../../plan/server-changes.ts';

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

const EFFECTS = { create: 'created', update: 'updated', delete: 'deleted', replace: 'updated' } as const;

/** Returns the servers that are concerned, sorted by name. */
export function serverChanges({ before, after, held }: ComparedStates): readonly ServerEffect[] {
  const changed = changedUnits(before.units, after.units);
  const { changes, retained } = compareServers(changedServers(changed), {
    before: before.units,
    after: after.units,
    writtenBefore: before.candidates,
    losses: after.losses,
    isSecret: () => true,
  });
  const effects = new Map<string, { readonly instance: string; readonly effect: Effect }>();
  for (const { name, before: old, after: now } of changedNodes(changed)) {
    if (old === undefined || now === undefined || !now.unit.servers.has(name)) continue;
    if (!hasSameRecord(old.part, now.part)) effects.set(name, { instance: now.unit.name, effect: 'record' });
  }
  for (const { resource, instance } of retained) effects.set(resource, { instance, effect: 'retained' });
  for (const { resource, instance, action } of changes) effects.set(resource, { instance, effect: EFFECTS[action] });
  return [...effects]
    .sort(([a], [b]) => compareNames(a, b))
    .map(([server, { instance, effect }]) =>
      held.has(instance)
        ? { server, instance, change: 'held', once_approved: effect }
        : { server, instance, change: effect },
    );
}

/** Which outputs a value takes is part of the record; the outputs themselves do not change. */
function hasSameRecord(a: HieraNode, b: HieraNode): boolean {
  return isSame(a.own[0]?.reads, b.own[0]?.reads) && isSameRecord(a, b);
}
