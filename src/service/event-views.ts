// Answers the events of one instance: its own, and between them those that concern every instance.
import { EVERY_INSTANCE } from '../machine/suspension.ts';
import type { EventRange, InstanceEvent } from '../model/instance-event.ts';
import type { Client } from '../model/objects.ts';
import { hasInstance, unknownInstance } from './instance-views.ts';
import type { InstanceEvents } from './operator.ts';
import type { PresentView } from './recorded-rows.ts';
import type { ProgressFacts } from './recorded-view.ts';

interface Asked {
  readonly by: Client;
  readonly instance: string;
  readonly range: EventRange;
}

const ALL: EventRange = { after: 0, limit: Number.MAX_SAFE_INTEGER };

/** Resolves with the events; throws `not_found` where there is neither the instance nor an event of it. */
export async function viewEvents(
  { by, instance, range }: Asked,
  view: PresentView<ProgressFacts>,
): Promise<InstanceEvents> {
  const isThere = hasInstance(view, instance);
  const [first] = (await view.rows.events(instance, { after: 0, limit: 1 })).events;
  if (!isThere && first === undefined) throw unknownInstance(view, instance);
  const { events: own, isGap } = await view.rows.events(instance, range);
  const after = Math.max(range.after, first?.id ?? 0);
  const { events: every } = await view.rows.events(EVERY_INSTANCE, { after, limit: range.limit });
  // Of one that is gone: what concerned every instance later did not concern it.
  const last = isThere ? undefined : (await view.rows.events(instance, ALL)).events.at(-1);
  const ofItsTime = every.filter(({ id }) => last === undefined || id < last.id);
  const page = [...own, ...ofItsTime].sort((a, b) => a.id - b.id).slice(0, range.limit);
  return { events: page.map((event) => shownTo(by, event)), gap: isGap };
}

/** A proxy may read its own client record only. */
function shownTo({ role, serial }: Client, event: InstanceEvent): InstanceEvent {
  return role !== 'proxy' || event.client === serial ? event : { ...event, client: null };
}
