// When clients were seen: in memory, and in rows that are written at most once an hour.
import { describe, expect, it } from 'vitest';
import { toRfc3339 } from '../../src/base/wording.ts';
import type { Client } from '../../src/model/objects.ts';
import type { Change, SeenRow } from '../../src/model/rows.ts';
import { ClientsSeen } from '../../src/service/progress/clients-seen.ts';
import type { PresentRows } from '../../src/service/views.ts';
import { ManualClock } from '../support/manual-clock.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.parse('2026-11-20T10:00:00.000Z');
const DATES = { begins: START - HOUR, expires: START + 1_000 * HOUR };

/** The rows of a store, and who remembers whom. `record` does what the leader does once a minute. */
class Scene {
  readonly clock = new ManualClock(START);
  readonly rows = new Map<string, SeenRow>();
  readonly registered = new Set<string>();
  seen = new ClientsSeen(this.clock);

  constructor(...serials: readonly string[]) {
    for (const serial of serials) this.registered.add(serial);
  }

  get at(): PresentRows {
    const read = (_kind: string, name: string): SeenRow | undefined => this.rows.get(name);
    return { read, list: () => this.rows } as unknown as PresentRows;
  }

  show(serial: string, dates: Partial<typeof DATES> = {}): boolean {
    return this.seen.note({ serial, ...DATES, ...dates });
  }

  record(): readonly string[] {
    const isRegistered = (serial: string) => (this.registered.has(serial) ? ({ serial } as Client) : undefined);
    const changes = this.seen.changes(this.at, isRegistered) as readonly Extract<Change, { kind: 'seen' }>[];
    for (const { name, value, expected } of changes) {
      expect(this.rows.get(name)).toBe(expected);
      if (value === null) this.rows.delete(name);
      else this.rows.set(name, value);
    }
    return changes.map(({ name }) => name);
  }
}

describe('the time when a client was seen', () => {
  it('is recorded at the first request, and then at most once an hour', () => {
    const scene = new Scene('A1');
    let written = 0;
    for (let minute = 0; minute < 180; minute += 1) {
      scene.show('A1');
      written += scene.record().length;
      scene.clock.advance(MINUTE);
    }
    expect(written).toBe(3);
  });

  it.each([{ expires: DATES.expires + HOUR }, { begins: START }])(
    'is recorded immediately with another certificate: %j',
    (dates) => {
      const scene = new Scene('A1');
      scene.show('A1');
      scene.record();
      scene.clock.advance(MINUTE);
      expect(scene.show('A1', dates)).toBe(true);
      expect(scene.record()).toEqual(['A1']);
      const { begins, expires } = { ...DATES, ...dates };
      expect(scene.rows.get('A1')).toMatchObject({ notBefore: toRfc3339(begins), notAfter: toRfc3339(expires) });
    },
  );

  it('is known after a restart', () => {
    const scene = new Scene('A1');
    scene.show('A1');
    scene.record();
    scene.clock.advance(HOUR / 2);
    scene.show('A1');
    expect(scene.seen.of('A1', scene.at)?.lastSeen).toBe('2026-11-20T10:30:00.000Z');
    scene.seen = new ClientsSeen(scene.clock);
    expect(scene.seen.of('A1', scene.at)?.lastSeen).toBe('2026-11-20T10:00:00.000Z');
    scene.clock.advance(MINUTE);
    scene.show('A1');
    expect(scene.seen.of('A1', scene.at)?.lastSeen).toBe('2026-11-20T10:31:00.000Z');
  });

  it('is removed with the client', () => {
    const scene = new Scene('A1', 'A2');
    scene.show('A1');
    scene.show('A2');
    scene.record();
    scene.registered.delete('A1');
    expect(scene.record()).toEqual(['A1']);
    expect([...scene.rows.keys()]).toEqual(['A2']);
    expect(scene.seen.of('A1', scene.at)).toBeUndefined();
    expect(scene.record()).toEqual([]);
  });

  it('is sent to the leader once an hour', () => {
    const scene = new Scene('A1');
    expect([scene.show('A1'), scene.show('A1')]).toEqual([true, false]);
    scene.clock.advance(HOUR);
    expect([scene.show('A1'), scene.show('A1')]).toEqual([true, false]);
    expect(scene.show('A1', { expires: DATES.expires + HOUR })).toBe(true);
  });
});
