// Who is told what and when, of the real follower and reconciler with a provider that does as it is told.
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { createLog } from '../../src/base/log.ts';
import type { JsonMap } from '../../src/model/json.ts';
import type { NotificationRow } from '../../src/model/rows.ts';
import { NOTIFICATION_KINDS, type NotificationKind } from '../../src/model/settings.ts';
import type { AttentionItem } from '../../src/service/answers.ts';
import { Notifier } from '../../src/statuses/notifier.ts';
import type { Attempt } from '../../src/statuses/post-once.ts';
import { answerOf } from '../reconcile/build.ts';
import { Core } from '../reconcile/core.ts';
import { shopFiles } from '../reconcile/shop.ts';

const ACCEPTED: Attempt = { isAccepted: true, answer: '204', isOnlyThis: false, waitMs: undefined };
const AWAY: Attempt = { isAccepted: false, answer: 'connect ECONNREFUSED', isOnlyThis: false, waitMs: undefined };
const REFUSED: Attempt = { isAccepted: false, answer: '422', isOnlyThis: true, waitMs: undefined };
const HOUR_MS = 3_600_000;

/** A core with subscribers that take what they are sent, or answer as told. */
class NotifyingCore {
  core = new Core();
  /** What needs an operator. */
  items: readonly AttentionItem[] | undefined = [];
  readonly sent: { readonly to: string; readonly id: string; readonly type: string; readonly subject: string }[] = [];
  readonly lines: JsonMap[] = [];
  answer: (to: string, event: { readonly subject: string }) => Attempt | Promise<Attempt> = () => ACCEPTED;
  notifier: Notifier;
  /** Of the notifier that runs; one that was killed does nothing more. */
  #life = new AbortController();
  readonly #listeners: (() => void)[] = [];
  readonly #kinds: Readonly<Record<string, readonly NotificationKind[]>>;

  constructor(kinds: Readonly<Record<string, readonly NotificationKind[]>> = { ops: NOTIFICATION_KINDS }) {
    this.#kinds = kinds;
    this.notifier = this.#start();
  }

  async needs(...ids: readonly string[]): Promise<void> {
    this.items = ids.map((id) => ({
      id,
      kind: id.slice(0, id.indexOf(':')) as AttentionItem['kind'],
      instances: ['shop'],
      servers: { count: 1, examples: ['shop-a'] },
      reason: 'it is',
      since: null,
      action: null,
      acknowledged: null,
    }));
    for (const changed of this.#listeners) changed();
    await this.core.pass(2_000);
  }

  /** What a subscriber got, as type and subject. */
  told(to = 'ops'): readonly string[] {
    return this.sent.filter((one) => one.to === to).map(({ type, subject }) => `${type} ${subject}`);
  }

  rows(): readonly NotificationRow[] {
    return [...this.core.ledger.list('notification').values()];
  }

  async commit(...change: Parameters<Core['source']['commit']>): Promise<string> {
    const commit = this.core.source.commit(...change);
    await this.core.poll();
    await this.core.pass(5_000);
    return commit;
  }

  /** Kills the process, and starts another one on its rows. */
  async restart(): Promise<void> {
    this.#life.abort();
    this.core = await this.core.restart();
    this.notifier = this.#start();
    await this.core.poll();
    await this.core.pass(2_000);
  }

  #start(): Notifier {
    const { ledger, current, clock: real } = this.core;
    this.#life = new AbortController();
    const clock = clockOf(this.#life.signal, real);
    return new Notifier({
      ledger,
      clock,
      random: () => 0.5,
      followed: () => current.get()?.commit,
      log: createLog('info', { write: (line) => this.lines.push(JSON.parse(line)) }),
      attention: {
        items: () => this.items && new Map(this.items.map((item) => [item.id, item])),
        onChange: (changed) => this.#listeners.push(changed),
      },
      subscribers: Object.entries(this.#kinds).map(([name, kinds]) => ({
        name,
        kinds,
        instances: ['*'],
        send: async (event) => {
          this.sent.push({ to: name, id: event.id, type: event.type, subject: event.subject });
          return this.answer(name, event);
        },
      })),
    });
  }
}

/** Returns a clock whose timers wake nobody once `life` is over. */
function clockOf(life: AbortSignal, real: Clock): Clock {
  return {
    now: () => real.now(),
    monotonic: () => real.monotonic(),
    after: (ms, wake) => real.after(ms, () => (life.aborted ? undefined : wake())),
    nextTurn: () => real.nextTurn(),
  };
}

describe('an event', () => {
  it('is sent once to each subscriber that wants it', async () => {
    const told = new NotifyingCore({ ops: NOTIFICATION_KINDS, held: ['held'] });
    const first = await told.commit(shopFiles({ a: 'size: small' }));
    expect(told.told()).toEqual(['treeline.instance.done shop']);
    const second = await told.commit({ 'README.md': 'text' });
    await told.needs('held:shop', 'failed:shop');
    await told.needs('failed:shop');
    await told.core.pass(HOUR_MS);
    expect(told.told().slice(1)).toEqual([
      `treeline.commit.followed ${second}`,
      'treeline.held.firing held:shop',
      'treeline.attention.firing failed:shop',
      'treeline.held.resolved held:shop',
    ]);
    expect(told.told('held')).toEqual(['treeline.held.firing held:shop', 'treeline.held.resolved held:shop']);
    expect(first).not.toBe(second);
    expect(new Set(told.rows().map(({ state }) => state))).toEqual(new Set(['delivered']));
    expect(new Set(told.sent.map(({ to, id }) => `${to} ${id}`)).size).toBe(told.sent.length);
  });

  it('is not sent before the causes are known', async () => {
    const told = new NotifyingCore();
    await told.needs('failed:shop');
    told.items = undefined;
    await told.commit(shopFiles({ a: 'size: small' }));
    expect(told.sent).toEqual([]);
    await told.needs('failed:shop');
    expect(told.told()).toContain('treeline.attention.firing failed:shop');
  });

  it('an instance is done when all its servers are, also after failures and a restart', async () => {
    const told = new NotifyingCore({ ops: ['done'] });
    told.core.provider.script = ({ operation, resource }) =>
      operation === 'create' && resource === 'shop-b'
        ? Promise.resolve(answerOf('failed', { message: 'no room' }))
        : undefined;
    await told.commit(shopFiles({ a: 'size: small', b: 'size: small' }));
    await told.core.pass(HOUR_MS / 2);
    expect(told.core.states()).toMatchObject({ 'shop-a': 'done', 'shop-b': 'failed' });
    expect(told.sent).toEqual([]);
    await told.restart();
    told.core.provider.script = () => undefined;
    await told.core.operator.retry(told.core.order, { instance: 'shop' });
    await told.core.settle();
    await told.core.pass(5_000);
    expect(told.core.states()).toEqual({ 'shop-a': 'done', 'shop-b': 'done' });
    expect(told.told()).toEqual(['treeline.instance.done shop']);
  });
});

describe('an unreachable subscriber', () => {
  it('gets all events later in order, with the same ids, also after a restart', async () => {
    const told = new NotifyingCore();
    await told.commit(shopFiles({ a: 'size: small' }));
    told.sent.length = 0;
    told.answer = () => AWAY;
    await told.needs('held:shop');
    const id = told.sent[0]?.id;
    expect(told.sent).toHaveLength(1);
    await told.core.pass(10_000);
    expect(told.sent.length).toBeGreaterThan(1);
    await told.restart();
    expect(told.notifier.failure).toBeUndefined();
    for (let minute = 0; minute < 24 * 60; minute += 1) await told.core.pass(60_000);
    // At growing distances, up to ten minutes.
    expect(told.sent.length).toBeGreaterThan(24 * 6);
    expect(told.sent.length).toBeLessThan(24 * 15);
    const warned = told.lines.filter(({ msg }) => msg === 'a message was not accepted; it is tried again');
    expect(warned.length).toBeLessThanOrEqual(told.sent.length);
    expect(told.notifier.failure).toMatchObject({ reason: 'ops: connect ECONNREFUSED' });
    expect(new Set(told.sent.map((one) => one.id))).toEqual(new Set([id]));
    const attempts = told.rows().filter(({ type }) => type === 'treeline.held.firing');
    expect(attempts.length).toBeGreaterThan(2);
    expect(attempts[0]).toMatchObject({ target: 'ops', id, state: 'refused', answer: 'connect ECONNREFUSED' });
    told.answer = () => ACCEPTED;
    await told.core.pass(HOUR_MS);
    await told.needs();
    expect(told.told().slice(-2)).toEqual(['treeline.held.firing held:shop', 'treeline.held.resolved held:shop']);
    expect(told.sent.at(-2)?.id).toBe(id);
    expect(told.notifier.failure).toBeUndefined();
  });

  it('does not delay others, and gets one event at a time', async () => {
    const told = new NotifyingCore({ slow: ['held'], quick: ['held'] });
    await told.commit(shopFiles({ a: 'size: small' }));
    const answers: PromiseWithResolvers<Attempt>[] = [];
    told.answer = (to) => {
      if (to === 'quick') return ACCEPTED;
      const answer = Promise.withResolvers<Attempt>();
      answers.push(answer);
      return answer.promise;
    };
    await told.needs('held:a');
    await told.needs('held:a', 'held:b');
    await told.needs('held:b');
    expect([told.told('quick').length, told.told('slow').length]).toEqual([3, 1]);
    for (let count = 1; count <= 3; count += 1) {
      answers.shift()?.resolve(ACCEPTED);
      await told.core.pass(1_000);
      expect(told.told('slow')).toHaveLength(Math.min(count + 1, 3));
    }
    expect(told.told('slow')).toEqual(told.told('quick'));
    expect(told.rows().filter(({ state }) => state !== 'delivered')).toEqual([]);
  });

  it('is retried after its Retry-After', async () => {
    const told = new NotifyingCore({ ops: ['held'] });
    await told.commit(shopFiles({ a: 'size: small' }));
    told.answer = () => ({ ...AWAY, answer: '429', waitMs: HOUR_MS });
    await told.needs('held:shop');
    await told.core.pass(HOUR_MS - 10_000);
    expect(told.sent).toHaveLength(1);
    await told.core.pass(20_000);
    expect(told.sent).toHaveLength(2);
  });

  it('gets the other events if it refuses one', async () => {
    const told = new NotifyingCore({ ops: ['held', 'attention'] });
    await told.commit(shopFiles({ a: 'size: small' }));
    told.answer = (_to, { subject }) => (subject === 'held:shop' ? REFUSED : ACCEPTED);
    await told.needs('held:shop', 'failed:shop');
    expect(told.told()).toEqual(['treeline.held.firing held:shop', 'treeline.attention.firing failed:shop']);
    expect(told.notifier.failure).toBeUndefined();
  });
});

it('events are sent while the store fails, and recorded later', async () => {
  const told = new NotifyingCore({ ops: ['attention', 'held'] });
  await told.commit(shopFiles({ a: 'size: small' }));
  const { failures } = told.core.store;
  failures.push(...Array.from({ length: 1_000 }, () => new Error('the disk is full')));
  await told.needs('store:unsaved', 'held:shop');
  for (let count = 0; count < 3; count += 1) await told.core.pass(10_000);
  const begins = ['treeline.attention.firing store:unsaved', 'treeline.held.firing held:shop'];
  expect(told.told()).toEqual(begins);
  expect(told.rows()).toEqual([]);
  expect(told.lines.map(({ msg }) => msg)).toContain('accepted messages could not be recorded; it is tried again');
  failures.length = 0;
  await told.needs('held:shop');
  await told.core.pass(6 * 60_000);
  expect(told.told()).toEqual([...begins, 'treeline.attention.resolved store:unsaved']);
  expect(told.rows()).toHaveLength(3);
  await told.restart();
  expect(told.sent).toHaveLength(3);
});

it('Notifier keeps the last hundred attempts', async () => {
  const told = new NotifyingCore({ ops: ['held'] });
  await told.commit(shopFiles({ a: 'size: small' }));
  for (let count = 0; count < 60; count += 1) {
    await told.needs('held:shop');
    await told.needs();
  }
  await told.core.pass(60_000);
  expect(told.sent).toHaveLength(120);
  expect(told.rows()).toHaveLength(100);
});
