// Tests the schedule of checks of servers at rest: times, number at once, and cost.
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/model/call-result.ts';
import type { DriftPolicy } from '../../src/model/objects.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import { CheckSchedule } from '../../src/reconcile/check-schedule.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { answerOf, rowIn, SMALL } from './build.ts';

const PERIOD_MS = 300_000;
const OK = answerOf('done');
const DOWN = answerOf('retryable', { message: 'down' });

/** A schedule whose offers are carried out by hand, with counts of what it does. */
class Site {
  readonly clock = new ManualClock();
  readonly rows = new Map<string, ServerRow>();
  readonly running: string[] = [];
  readonly ended: string[] = [];
  wakes = 0;
  timers = 0;
  free = Number.POSITIVE_INFINITY;
  drift: DriftPolicy = 'report';
  readonly schedule: CheckSchedule;
  #draws = 0;

  constructor(concurrency = 10, random?: () => number) {
    const { clock } = this;
    this.schedule = new CheckSchedule({
      ...{
        concurrency,
        rowOf: (server) => this.rows.get(server),
        isPulled: (name) => name === 'proxied',
        random: random ?? (() => this.#drawn()),
      },
      clock: {
        now: () => clock.now(),
        monotonic: () => clock.monotonic(),
        after: (ms, wake) => {
          this.timers += 1;
          return clock.after(ms, wake);
        },
      },
      capacity: { hasCapacity: () => this.running.length < this.free },
      entryOf: (name) =>
        name === 'gone' ? undefined : { checkSeconds: PERIOD_MS / 1000, drift: this.drift, concurrency },
      wake: (server) => this.#pass(server),
      endCall: (server) => this.ended.push(server),
    });
  }

  /** Adds a server that has the row after a pass. */
  follow(server: string, row: ServerRow = rowIn('done', { applied: SMALL })): void {
    this.rows.set(server, row);
    this.schedule.follow(server, row);
  }

  /** Adds a server that this process has brought to its state. */
  followNew(server: string, row?: ServerRow): void {
    this.schedule.follow(server, rowIn('updating'));
    this.follow(server, row);
  }

  /** Ends every running check; those that are offered then begin. Returns the servers. */
  end(answer: Answer = OK): string[] {
    const servers = this.running.splice(0);
    for (const server of servers) this.endOne(server, answer);
    this.schedule.offer();
    return servers;
  }

  endOne(server: string, answer: Answer): void {
    this.schedule.ended(server, answer);
    this.schedule.follow(server, this.rows.get(server) ?? null);
  }

  #pass(server: string): void {
    this.wakes += 1;
    if (!this.schedule.isDue(server)) throw new Error(`${server} was woken and may not be checked`);
    const begins = this.running.length < this.free;
    if (begins) this.running.push(server);
    this.schedule.follow(server, this.rows.get(server) ?? null, begins ? 'begins' : 'none');
  }

  /** Numbers in [0, 1) that are spread evenly. */
  #drawn(): number {
    this.#draws += 1;
    return (this.#draws * 0.618034) % 1;
  }
}

describe('the time of a check', () => {
  it.each([
    [0, 0.9],
    [0.5, 1],
    [0.999, 1.1],
  ])('is checkSeconds after the last one, and differs by a tenth: %d', (random, share) => {
    const site = new Site(10, () => random);
    site.followNew('a');
    for (let round = 0; round < 3; round += 1) {
      site.clock.advance(PERIOD_MS * share - 1_000);
      expect(site.running).toEqual([]);
      site.clock.advance(1_000);
      expect(site.end()).toEqual(['a']);
    }
  });

  it('is spread over checkSeconds after a start', () => {
    const site = new Site(1_000);
    for (let index = 0; index < 300; index += 1) site.follow(`s${index}`);
    for (let minute = 0; minute < 5; minute += 1) {
      site.clock.advance(PERIOD_MS / 5);
      const { length } = site.end();
      expect(length).toBeGreaterThan(45);
      expect(length).toBeLessThan(75);
    }
  });

  it('comes later after each failure, at most an hour, and as before after a success', () => {
    const site = new Site(10, () => 0.5);
    site.followNew('a');
    const pauses: number[] = [];
    for (let round = 0; round < 8; round += 1) {
      const from = site.clock.now();
      while (site.running.length === 0) site.clock.advance(PERIOD_MS / 2);
      pauses.push((site.clock.now() - from) / PERIOD_MS);
      site.end(DOWN);
    }
    expect(pauses).toEqual([1, 2, 4, 8, 12, 12, 12, 12]);
    expect(site.schedule.failureOf('a')).toMatchObject({ message: 'down' });
    site.clock.advance(12 * PERIOD_MS);
    site.end();
    expect(site.schedule.failureOf('a')).toBeUndefined();
    site.clock.advance(PERIOD_MS);
    expect(site.end()).toEqual(['a']);
  });

  it('never comes for a server that is not at rest, is off, or has no entry', () => {
    const site = new Site();
    const policy = rowIn('done').policy;
    for (const state of ['pending', 'failed', 'retrying', 'blocked', 'unknown', 'updating'] as const) {
      site.follow(state, rowIn(state, { applied: SMALL }));
    }
    site.follow('off', rowIn('done', { applied: SMALL, policy: { ...policy, drift: 'off' } }));
    site.follow('entry gone', rowIn('done', { applied: SMALL, provider: 'gone' }));
    site.follow('unwanted', rowIn('done', { applied: SMALL, wanted: null }));
    expect(site.schedule.size).toBe(0);
    site.clock.advance(10 * PERIOD_MS);
    expect(site.wakes).toBe(0);
    expect(site.timers).toBe(0);
  });

  it('ends with the rest of the server, and with the server', () => {
    const site = new Site();
    site.follow('a');
    site.follow('b');
    site.follow('a', rowIn('pending', { applied: SMALL }));
    site.schedule.follow('b', null);
    expect(site.schedule.size).toBe(0);
    site.clock.advance(2 * PERIOD_MS);
    expect(site.wakes).toBe(0);
  });
});

describe('room for checks', () => {
  it('is half of the calls, and goes on when one has ended', () => {
    const site = new Site(10, () => 0.5);
    for (let index = 0; index < 20; index += 1) site.followNew(`s${index}`);
    site.clock.advance(PERIOD_MS);
    expect(site.running).toHaveLength(5);
    const seen = [site.end(), site.end(), site.end(), site.end()].flat();
    expect(new Set(seen).size).toBe(20);
    expect(site.running).toEqual([]);
  });

  it('is nothing while actions take everything, and no wake-up is spent', () => {
    const site = new Site(10, () => 0.5);
    site.free = 0;
    for (let index = 0; index < 20; index += 1) site.followNew(`s${index}`);
    site.clock.advance(PERIOD_MS);
    for (let call = 0; call < 100; call += 1) site.schedule.offer();
    expect(site.wakes).toBe(0);
    site.free = 1;
    site.schedule.offer();
    expect(site.running).toHaveLength(1);
  });

  it('is given back to an action, once for each; the check comes again soon, and has not failed', () => {
    const site = new Site(10, () => 0.5);
    site.followNew('a');
    site.followNew('b');
    site.clock.advance(PERIOD_MS);
    site.schedule.giveBack('lab');
    site.schedule.giveBack('lab');
    site.schedule.giveBack('lab');
    expect(site.ended).toEqual(['a', 'b']);
    site.end(answerOf('retryable', { message: 'no answer' }));
    site.clock.advance(10_000);
    expect(site.running).toEqual(['a', 'b']);
  });

  it('is given back to an action on the same server', () => {
    const site = new Site(10, () => 0.5);
    site.followNew('a');
    site.clock.advance(PERIOD_MS);
    site.follow('a', rowIn('pending', { applied: SMALL }));
    site.follow('a', rowIn('pending', { applied: SMALL }));
    expect(site.ended).toEqual(['a']);
  });
});

describe('a requested check', () => {
  it('begins at once, and once, whatever the policy', () => {
    const site = new Site();
    site.drift = 'off';
    site.follow('a');
    expect(site.schedule.request('a')).toBe(true);
    expect(site.schedule.request('a')).toBe(true);
    expect(site.running).toEqual(['a']);
    site.end();
    expect(site.schedule.size).toBe(0);
    site.clock.advance(10 * PERIOD_MS);
    expect(site.wakes).toBe(1);
  });

  it('is none for a server that is not at rest or not there', () => {
    const site = new Site();
    site.follow('a', rowIn('failed', { applied: SMALL }));
    expect([site.schedule.request('a'), site.schedule.request('b')]).toEqual([false, false]);
  });
});

describe('the work', () => {
  it('is one wake-up a check and one timer at a time, also with 10,000 servers', () => {
    const site = new Site(100);
    for (let index = 0; index < 10_000; index += 1) site.follow(`s${index}`);
    expect(site.clock.pending).toBe(1);
    const { timers } = site;
    const checked: string[] = [];
    for (let second = 0; second < PERIOD_MS / 1000; second += 1) {
      site.clock.advance(1_000);
      for (let ended = site.end(); ended.length > 0; ended = site.end()) checked.push(...ended);
      expect(site.clock.pending).toBeLessThanOrEqual(1);
    }
    expect(new Set(checked).size).toBe(10_000);
    // Those that were checked first come again a little early.
    expect(checked.length).toBeLessThan(10_500);
    expect(site.wakes).toBe(checked.length);
    // A timer for each second and for each time that the next check changed.
    expect(site.timers - timers).toBeLessThan(1_000);
    site.schedule.stop();
    expect(site.clock.pending).toBe(0);
  });
});

it('a timer that is rounded to whole milliseconds finds its server due', () => {
  const site = new Site(10, () => 0.333_333_3);
  site.clock.advance(0.4);
  site.followNew('a');
  const { timers } = site;
  for (let second = 0; second < 2 * PERIOD_MS; second += 1_000) site.clock.advance(1_000);
  expect(site.timers - timers).toBeLessThanOrEqual(1);
  expect(site.running).toEqual(['a']);
});
