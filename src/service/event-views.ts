// Answers the events of one instance: its own, and between them those that concern every instance.
import { EVERY_INSTANCE } from '../machine/suspension.ts';
import type { EventRange, InstanceEvent } from '../model/instance-event.ts';
import type { Client } from '../model/objects.ts';
import { instanceNames, unknownInstance } from './instance-views.ts';
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
  const isThere = instanceNames(view).includes(instance);
  const { events: own } = await view.rows.events(instance, ALL);
  const { events: every } = await view.rows.events(EVERY_INSTANCE, ALL);
  const { isGap } = await view.rows.events(instance, { ...range, limit: 0 });
  const [first, last] = [own[0], own.at(-1)];
  if (!isThere && last === undefined) throw unknownInstance(view, instance);
  const isOfItsTime = ({ id }: InstanceEvent): boolean =>
    id > (first?.id ?? 0) && (isThere || last === undefined || id < last.id);
  const events = [...own, ...every.filter(isOfItsTime)].filter(({ id }) => id > range.after);
  const page = events.sort((a, b) => a.id - b.id).slice(0, range.limit);
  return { events: page.map((event) => shownTo(by, event)), gap: isGap };
}

/** A proxy may read its own client record only. */
function shownTo({ role, serial }: Client, event: InstanceEvent): InstanceEvent {
  return role !== 'proxy' || event.client === serial ? event : { ...event, client: null };
}
