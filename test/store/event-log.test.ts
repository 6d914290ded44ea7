// The limits of kept events, and what is read back.
import { describe, expect, it } from 'vitest';
import type { NewEvent } from '../../src/model/instance-event.ts';
import { EventLog, eventOf, keptEvent } from '../../src/store/event-log.ts';
import { ALL_EVENTS } from '../../src/store/piece.ts';

const ALL = { after: 0, limit: 10_000 };

function eventsOf(instance: string, count: number): NewEvent[] {
  const event = {
    time: '2026-11-20T10:13:56.000Z',
    resource: 'web-1',
    from: null,
    to: 'done',
    commit: null,
    client: null,
  };
  return Array.from({ length: count }, (_, index) => ({ ...event, instance, reason: `${instance} ${index}` }));
}

function add(log: EventLog, instance: string, count: number): void {
  log.add(log.number(eventsOf(instance, count)));
}

function restored(log: EventLog, limits: { ofInstance: number; ofAll: number }): EventLog {
  const copy = new EventLog(limits);
  copy.add([...log.stored()].map((event) => eventOf(keptEvent(event))));
  return copy;
}

describe('the limits of events', () => {
  it('drop the oldest of the instances that have most', () => {
    const limits = { ofInstance: 100, ofAll: 100 };
    const log = new EventLog(limits);
    add(log, 'small', 5);
    add(log, 'large', 60);
    add(log, 'middle', 36);
    const counts = ['small', 'large', 'middle'].map((name) => log.page(name, ALL).events.length);
    // 95 are left: nobody keeps more than 54.
    expect(counts).toEqual([5, 54, 36]);
    const { events, isGap } = log.page('large', ALL);
    expect([events[0]?.reason, isGap, log.page('small', ALL).isGap]).toEqual(['large 6', true, false]);
    const copy = restored(log, limits);
    for (const name of ['small', 'large', 'middle']) expect(copy.page(name, ALL)).toEqual(log.page(name, ALL));
    expect([...copy.stored()]).toEqual([...log.stored()]);
  });

  it('forget whole instances, the quietest first, where there are more instances than events may be', () => {
    const log = new EventLog({ ofInstance: 10, ofAll: 20 });
    for (let index = 0; index < 21; index += 1) add(log, `shop-${index}`, 2);
    expect([...log.stored()].length).toBeLessThanOrEqual(40);
    expect(log.takeDropped()).toContainEqual(['shop-0', ALL_EVENTS, null]);
    expect(log.page('shop-0', ALL).events).toEqual([]);
    expect(log.page('shop-20', ALL).events.at(-1)?.reason).toBe('shop-20 1');
  });

  it('keep the new events of an instance that was forgotten whole, where what was forgotten is dropped later', () => {
    const log = new EventLog({ ofInstance: 10, ofAll: 20 });
    for (let index = 0; index < 21; index += 1) add(log, `shop-${index}`, 2);
    add(log, 'shop-0', 1);
    expect(log.takeDropped().filter(([instance, id]) => instance === 'shop-0' && id === ALL_EVENTS)).toEqual([]);
  });

  it('go where another process has dropped them', () => {
    const log = new EventLog();
    add(log, 'shop', 3);
    add(log, 'mail', 1);
    const [first] = log.page('shop', ALL).events;
    log.add([{ instance: 'shop', event: { dropped: first?.id ?? 0 } }]);
    expect(log.page('shop', ALL)).toMatchObject({ events: [{ reason: 'shop 1' }, { reason: 'shop 2' }], isGap: true });
    log.add([{ instance: 'shop', event: { dropped: ALL_EVENTS } }]);
    expect(log.page('shop', ALL)).toEqual({ events: [], isGap: false });
    expect([...log.stored()]).toHaveLength(1);
    add(log, 'shop', 1);
    expect(log.page('shop', ALL).events[0]?.id).toBeGreaterThan(first?.id ?? 0);
  });

  it('never give an id twice, also after all events of a time were dropped', () => {
    const limits = { ofInstance: 1, ofAll: 10 };
    const log = new EventLog(limits);
    add(log, 'shop', 3);
    const last = log.page('shop', ALL).events[0]?.id ?? 0;
    const copy = restored(log, limits);
    add(copy, 'shop', 1);
    expect(copy.page('shop', ALL).events[0]?.id).toBe(last + 1);
  });
});

describe('a page of the events of all instances', () => {
  const log = new EventLog();
  const names = Array.from({ length: 1_000 }, (_, index) => `shop-${index}`);
  for (let round = 0; round < 100; round += 1) {
    log.add(log.number(names.flatMap((name) => eventsOf(name, 1))));
  }

  it('has the oldest, whatever the order of the instances, and leads to the next', () => {
    const all = log.list({ after: 0, limit: 100_000 }).events;
    expect(all.map(({ event }) => event.id)).toEqual(all.map((_, index) => (all[0]?.event.id ?? 0) + index));
    for (const limit of [0, 1, 7, 1_000]) {
      expect(log.list({ after: 0, limit }).events).toEqual(all.slice(0, limit));
      const instances = new Set(names.toReversed());
      expect(log.list({ after: all[50]?.event.id ?? 0, limit, instances }).events).toEqual(all.slice(51, 51 + limit));
    }
  });

  it('is the same after a restart, which reads it by instance, without what was dropped meanwhile; a gap is told', () => {
    const limits = { ofInstance: 3, ofAll: 40 };
    const small = new EventLog(limits);
    for (let round = 0; round < 50; round += 1) {
      add(small, `i${(round * 7) % 9}`, 1 + (round % 5));
      for (const each of [small, restored(small, limits)]) {
        const names = [...each.instances];
        const held = names.flatMap((instance) => each.page(instance, ALL).events.map((event) => ({ instance, event })));
        held.sort((a, b) => a.event.id - b.event.id);
        const after = (held[4] ?? held.at(-1))?.event.id ?? 0;
        expect(each.list(ALL).events).toEqual(held);
        expect(each.list({ after, limit: 5 })).toEqual({
          ...{ events: held.slice(5, 10), newest: held.at(-1)?.event.id },
          isGap: names.some((name) => each.page(name, { after, limit: 0 }).isGap),
        });
      }
    }
  });

  it('is found without sorting all of them: who reads from the beginning would keep all others waiting', () => {
    const [cheapest = 0] = Array.from({ length: 10 }, () => timeOf(() => log.list({ after: 0, limit: 100 }))).sort(
      (a, b) => a - b,
    );
    const whole = timeOf(() => log.list({ after: 0, limit: 100_000 }));
    expect(cheapest).toBeLessThan(whole / 10);
  });
});

/** Returns how many milliseconds it takes. */
function timeOf(work: () => unknown): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}
