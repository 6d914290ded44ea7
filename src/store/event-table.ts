// Keeps events in a table of SQLite: each as JSON with its id and instance. store/postgres does the same in PostgreSQL.
import type { DatabaseSync } from 'node:sqlite';
import type { EventRange, InstanceEvent, ListedEvent, ListedPage, NewEvent } from '../model/instance-event.ts';
import type { KeptEvent } from './store-document.ts';

/** The number of newest events to keep, for each instance and in total. */
export const EVENTS_MAX = { ofInstance: 1_000, ofAll: 100_000 };
/** The range of all kept events. */
export const ALL_EVENTS: EventRange = { after: 0, limit: 2 ** 31 - 1 };
/** The number of new events between two trims, so that few commits pay for a trim. */
export const EVENTS_A_TRIM = 5_000;

/** The table of events, and the table of the newest removed event of each instance. */
export const SCHEMA_OF_EVENTS = `
  CREATE TABLE events (id INTEGER PRIMARY KEY, instance TEXT NOT NULL, value TEXT NOT NULL) STRICT;
  CREATE INDEX events_instance ON events (instance, id);
  CREATE TABLE trimmed (instance TEXT PRIMARY KEY, id INTEGER NOT NULL) STRICT;
  CREATE TRIGGER trimmed AFTER DELETE ON events BEGIN
    INSERT INTO trimmed VALUES (old.instance, old.id) ON CONFLICT DO UPDATE SET id = max(id, excluded.id);
  END;
`;

const TRIM = `
  DELETE FROM events WHERE id IN (
    SELECT id FROM (
      SELECT id, row_number() OVER (ORDER BY id DESC) AS nth,
        row_number() OVER (PARTITION BY instance ORDER BY id DESC) AS nth_of_instance
      FROM events
    ) WHERE nth > ${EVENTS_MAX.ofAll} OR nth_of_instance > ${EVENTS_MAX.ofInstance}
  )`;

/** The fields in the order of answers. Null fields are omitted in the database. */
const FIELDS = {
  id: 0,
  time: '',
  resource: null,
  from: null,
  to: null,
  reason: '',
  commit: null,
  client: null,
  clientName: null,
};

/**
 * Returns events in their kept form, with ids after the last one. An id is at least the time in milliseconds, so that
 * it is not reused after a restore or a lost store.
 */
export function keptEvents(events: readonly NewEvent[], last: number): readonly KeptEvent[] {
  let id = last;
  return events.map(({ instance, ...event }): KeptEvent => {
    id = Math.max(id + 1, Date.parse(event.time));
    return keptEvent({ instance, event: { ...FIELDS, ...event, id } });
  });
}

/** Returns an event in its kept form. Null fields are omitted. */
export function keptEvent({ instance, event: { id, ...event } }: ListedEvent): KeptEvent {
  const fields = Object.entries(event).filter(([, value]) => value !== null);
  return [id, instance, JSON.stringify(Object.fromEntries(fields))];
}

/** Returns the event that {@link keptEvent} wrote. */
export function listedEvent([id, instance, value]: KeptEvent): ListedEvent {
  return { instance, event: { ...FIELDS, ...JSON.parse(value), id } as InstanceEvent };
}

/** Adds events to the table. */
export function addEvents(database: DatabaseSync, events: readonly KeptEvent[]): void {
  const add = database.prepare('INSERT INTO events VALUES (?, ?, ?)');
  for (const event of events) add.run(...event);
}

/** Removes events beyond the limits. */
export function trimEvents(database: DatabaseSync): void {
  database.exec(TRIM);
}

/** Returns the events of a range. */
export function readEvents(database: DatabaseSync, { after, before, limit, instances }: EventRange): ListedPage {
  const names = instances && JSON.stringify([...instances]);
  const where = names === undefined ? '' : 'AND instance IN (SELECT value FROM json_each(:names))';
  const part = before === undefined ? `${where} ORDER BY id` : `AND id < :before ${where} ORDER BY id DESC`;
  const events = database
    .prepare(`SELECT id, instance, value FROM events WHERE id > :after ${part} LIMIT :limit`)
    .all({
      after,
      limit,
      ...(before === undefined ? {} : { before }),
      ...(names === undefined ? {} : { names }),
    })
    .map(({ id, instance, value }) => listedEvent([Number(id), String(instance), String(value)]));
  if (before !== undefined) events.reverse();
  const gap = database.prepare(`SELECT 1 FROM trimmed WHERE id > :after ${where} LIMIT 1`);
  const newest = database.prepare('SELECT coalesce(max(id), 0) AS id FROM events').get()?.id;
  const isGap = gap.get({ after, ...(names === undefined ? {} : { names }) }) !== undefined;
  return { events, isGap, newest: Number(newest) };
}
