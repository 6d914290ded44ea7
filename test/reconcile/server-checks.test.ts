// Tests when servers are checked: before a create, and at rest; times and cost.
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/model/call-result.ts';
import type { DriftPolicy } from '../../src/model/objects.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import type { ProviderEntry } from '../../src/providers/provider-registry.ts';
import type { CallInFlight } from '../../src/reconcile/calls/capacity.ts';
import { ServerChecks } from '../../src/reconcile/checks/server-checks.ts';
import { Queue } from '../../src/reconcile/queue.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { answerOf, RETRY, rowIn, SMALL } from './build.ts';

const PERIOD_MS = 300_000;
const OK = answerOf('done');
const DOWN = answerOf('retryable', { message: 'down' });

const ENTRY = {
  timeoutSeconds: 60,
  concurrency: 10,
  retry: RETRY,
  provider: {
    lostActionEnds: 'with its call',
    perform: () => Promise.reject(new Error('not called')),
    close: async () => undefined,
  },
} as const;

const CALL: CallInFlight = {
  provider: 'lab',
  isRoutine: false,
  claimed: { monotonic: 0, wall: 0 },
  end: new AbortController(),
};

/** A schedule whose checks end by hand, on a queue of servers, with counts of what both do. */
class Site {
  readonly clock = new ManualClock();
  readonly rows = new Map<string, ServerRow>();
  readonly running: string[] = [];
  wakes = 0;
  timers = 0;
  drift: DriftPolicy = 'report';
  tags: readonly string[] = ['lab'];
  readonly schedule: ServerChecks;
  readonly queue: Queue;
  #draws = 0;

  constructor(random?: () => number) {
    const { clock } = this;
    const counting = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      after: (ms: number, wake: () => void) => {
        this.timers += 1;
        return clock.after(ms, wake);
      },
      nextTurn: () => clock.nextTurn(),
    };
    this.queue = new Queue({
      clock: counting,
      concurrency: Number.POSITIVE_INFINITY,
      handle: async (server) => this.#pass(server),
    });
    const entry = (name: string): ProviderEntry | undefined =>
      name === 'gone' ? undefined : { ...ENTRY, name, checkSeconds: PERIOD_MS / 1000, drift: this.drift };
    this.schedule = new ServerChecks({
      clock: counting,
      ledger: { server: (server) => this.rows.get(server), read: () => undefined },
      random: random ?? (() => this.#drawn()),
      registry: { byName: entry, match: () => entry('proxied') },
      recordOf: () => ({ ProxyTag: this.tags }),
      wake: (server) => this.queue.add(server),
    });
  }

  /** Passes over a server, which has this row now. */
  async follow(server: string, row: ServerRow = rowIn('done', { applied: SMALL })): Promise<void> {
    this.rows.set(server, row);
    this.queue.add(server);
    await this.settle();
  }

  /** Adds a server that this process has brought to its state. */
  async followNew(server: string, row?: ServerRow): Promise<void> {
    await this.follow(server, rowIn('updating'));
    await this.follow(server, row);
  }

  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await this.settle();
  }

  /** Ends every running check. Returns the servers. */
  async end(answer: Answer = OK): Promise<string[]> {
    const servers = this.running.splice(0);
    for (const server of servers) {
      this.endOne(server, answer);
      this.queue.add(server);
    }
    await this.settle();
    return servers;
  }

  /** Ends the routine check of a server; undefined: without an answer. */
  endOne(server: string, answer: Answer | undefined): void {
    const result = answer && ({ kind: 'check', provider: 'lab', answer } as const);
    this.schedule.ended(server, result, { ...CALL, isRoutine: true });
  }

  /** Ends a check of a server that waits for its create. */
  checked(server: string, outcome: Answer['outcome'], { provider = 'proxied', tags }: Partial<CallInFlight>): void {
    this.rows.set(server, rowIn('pending', { provider: null, wanted: SMALL }));
    this.schedule.ended(server, { kind: 'check', provider, answer: answerOf(outcome) }, { ...CALL, tags });
  }

  async settle(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
  }

  #pass(server: string): void {
    this.wakes += 1;
    const isDue = this.schedule.isDue(server);
    if (isDue) this.running.push(server);
    const next = isDue ? ({ kind: 'check', provider: 'lab', isRoutine: true } as const) : ({ kind: 'rest' } as const);
    this.schedule.follow(server, this.rows.get(server) ?? null, next);
    const ms = this.schedule.msLeft(server);
    if (ms !== undefined) this.queue.addAfter(server, ms);
  }

  /** Numbers in [0, 1) that are spread evenly. */
  #drawn(): number {
    this.#draws += 1;
    return (this.#draws * 0.618034) % 1;
  }
}

describe('the time of the next check', () => {
  it.each([
    [0, 0.9],
    [0.5, 1],
    [0.999, 1.1],
  ])('is checkSeconds after the last one, with a jitter of a tenth: %d', async (random, share) => {
    const site = new Site(() => random);
    await site.followNew('a');
    for (let round = 0; round < 3; round += 1) {
      await site.pass(PERIOD_MS * share - 1_000);
      expect(site.running).toEqual([]);
      await site.pass(1_000);
      expect(await site.end()).toEqual(['a']);
    }
  });

  it('is spread over checkSeconds after a start', async () => {
    const site = new Site();
    for (let index = 0; index < 300; index += 1) await site.follow(`s${index}`);
    for (let minute = 0; minute < 5; minute += 1) {
      await site.pass(PERIOD_MS / 5);
      const { length } = await site.end();
      expect(length).toBeGreaterThan(45);
      expect(length).toBeLessThan(75);
    }
  });

  it('backs off after each failure up to an hour, and resets after a success', async () => {
    const site = new Site(() => 0.5);
    await site.followNew('a');
    const pauses: number[] = [];
    for (let round = 0; round < 8; round += 1) {
      const from = site.clock.now();
      while (site.running.length === 0) await site.pass(PERIOD_MS / 2);
      pauses.push((site.clock.now() - from) / PERIOD_MS);
      await site.end(DOWN);
    }
    expect(pauses).toEqual([1, 2, 4, 8, 12, 12, 12, 12]);
    expect(site.schedule.failureOf('a')).toMatchObject({ message: 'down' });
    await site.pass(12 * PERIOD_MS);
    await site.end();
    expect(site.schedule.failureOf('a')).toBeUndefined();
    await site.pass(PERIOD_MS);
    expect(await site.end()).toEqual(['a']);
  });

  it('is immediate after a check that an action interrupted', async () => {
    const site = new Site(() => 0.5);
    await site.followNew('a');
    await site.pass(PERIOD_MS);
    expect(await site.end(DOWN)).toEqual(['a']);
    await site.pass(2 * PERIOD_MS);
    const [server = ''] = site.running.splice(0);
    site.endOne(server, undefined);
    expect(site.schedule.isDue('a')).toBe(true);
    site.queue.add('a');
    await site.settle();
    expect(await site.end(DOWN)).toEqual(['a']);
    expect(site.schedule.msLeft('a')).toBe(4 * PERIOD_MS);
  });
});

describe('a check before a create', () => {
  const lab = { tags: ['lab'] };
  const edge = { tags: ['edge'] };

  it('counts for 30 s by either clock, and until an action begins', () => {
    const site = new Site();
    site.checked('web', 'absent', lab);
    site.checked('db', 'retryable', lab);
    site.clock.setWall(0);
    site.clock.advance(30_000);
    expect(['web', 'db', 'other'].map((server) => site.schedule.lastOf(server))).toEqual([
      'answered',
      'failed',
      undefined,
    ]);
    site.clock.advance(1);
    expect(site.schedule.lastOf('web')).toBeUndefined();
    site.checked('web', 'absent', lab);
    site.clock.setWall(site.clock.now() + 30_001);
    expect(site.schedule.lastOf('web')).toBeUndefined();
    site.checked('web', 'absent', lab);
    site.schedule.forget('web');
    expect(site.schedule.lastOf('web')).toBeUndefined();
  });

  it('by another site replaces a check that found a server, but not one that found none', () => {
    const site = new Site();
    site.tags = ['edge', 'lab'];
    const ends = (): unknown => [lab, edge].map(({ tags }) => site.schedule.lastOf('web', tags));
    site.checked('web', 'done', lab);
    site.checked('web', 'absent', edge);
    expect(ends()).toEqual([undefined, 'answered']);
    site.checked('web', 'absent', lab);
    site.checked('web', 'retryable', edge);
    expect(ends()).toEqual(['answered', 'failed']);
  });
});
