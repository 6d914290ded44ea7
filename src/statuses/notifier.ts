// Tells subscribers what needs a person, what is followed and what is done. What is to be told is recorded before it is sent, and stays
// recorded until it is delivered or given up, so that a restart or another leader goes on with it. ARCHITECTURE.md, "Events and messages".
import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { type LogOnceAMinute, logOnceAMinute } from '../base/log-once-a-minute.ts';
import { WokenLoop } from '../base/woken-loop.ts';
import { momentOf } from '../base/wording.ts';
import { isAtRest } from '../machine/drift.ts';
import { compareNames } from '../model/names.ts';
import type { Change, NotificationRow, ServerRow } from '../model/rows.ts';
import type { NotificationTarget } from '../model/settings.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import { type AttentionWatch, NEW_MS } from '../service/progress/attention-watch.ts';
import { attentionEvents, type NewNotification, newEvents } from './notification-events.ts';
import { retryMs } from './pace.ts';
import type { SendNotification } from './send-notification.ts';

/** One subscriber. */
export interface Subscriber extends Pick<NotificationTarget, 'name' | 'kinds' | 'instances'> {
  readonly send: SendNotification;
}

interface NotifierOptions {
  readonly subscribers: readonly Subscriber[];
  readonly ledger: Pick<Ledger, 'read' | 'list' | 'index' | 'commit' | 'watch' | 'server'>;
  /** Returns the followed commit; undefined while nothing is active. */
  readonly followed: () => string | undefined;
  /** Tells what needs a person, and of changes of it. */
  readonly attention: Pick<AttentionWatch, 'items' | 'onBegin' | 'onOver'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** In [0, 1). */
  readonly random: () => number;
}

/** Changes that come this close to each other are looked at together. */
const GATHER_MS = 2_000;
/** How often it is looked without a change. */
const REVIEW_MS = 60_000;
/** How soon a try that failed at the store or with an error is repeated. */
const AGAIN_MS = 10_000;
/** A failure that ends before is none that a person has to know of. */
const TOLD_AFTER_MS = 60_000;
/** The one cause for which nothing can be recorded. */
const UNSAVED = 'store:unsaved';
const GIVE_UP_MS = 72 * 3_600_000;
/** Events of one subscriber that wait; the oldest beyond that are given up. */
const WAITING_MAX = 1_000;
/** Events of one subscriber that are over and still shown. */
const OVER_MAX = 100;
/** So many requests to one subscriber are one run of its loop. */
const SENDS_MAX = 50;

/** What is sent to one subscriber, at its own pace. */
interface Delivery extends Subscriber {
  readonly loop: WokenLoop;
  readonly pause: Pause;
}

type NamedEvent = readonly [id: string, row: NotificationRow];

/** A running notifier. */
export class Notifier {
  readonly #options: NotifierOptions;
  readonly #logOnceAMinute: LogOnceAMinute;
  /** Records what is to be told. */
  readonly #loop: WokenLoop;
  readonly #deliveries: readonly Delivery[];
  /** When it is not new any more, by the monotonic clock. */
  readonly #knowsAt: number;
  /** Instances that a commit gave something to do since the last look, with that commit. */
  #begun = new Map<string, string>();
  /** The causes that were seen since what was told of them was recorded last. */
  #seen = new Set<string>();
  /** The ids of what is being sent: how that ends is recorded, and nothing else of it meanwhile. */
  readonly #sending = new Set<string>();
  /** What is sent could be recorded last: else the same would be sent again and again. */
  #isRecording = false;
  /** What is told of a store that takes nothing. It is recorded as soon as that takes something: its end is told then as well. */
  #unrecorded: readonly Change[] = [];

  constructor(options: NotifierOptions) {
    const { clock, ledger, attention } = options;
    this.#options = options;
    this.#logOnceAMinute = logOnceAMinute(clock);
    this.#knowsAt = clock.monotonic() + NEW_MS;
    this.#loop = new WokenLoop({ clock, everyMs: REVIEW_MS, work: () => this.#work() });
    this.#deliveries = options.subscribers.map((subscriber): Delivery => {
      const pause = new Pause();
      const work = (signal: AbortSignal): Promise<boolean> => this.#deliver({ ...subscriber, loop, pause }, signal);
      const loop = new WokenLoop({ clock, work });
      return { ...subscriber, loop, pause };
    });
    for (const row of ledger.list('server').values()) this.#onRow(row);
    ledger.watch((change) => this.#onChange(change));
    for (const on of ['onBegin', 'onOver'] as const) attention[on](() => this.#loop.wakeWithin(GATHER_MS));
    this.#loop.wakeWithin(GATHER_MS);
  }

  /** Why a subscriber does not take what it is told, for more than a minute; undefined where all do. */
  get failure(): { readonly reason: string; readonly since: string } | undefined {
    const now = this.#options.clock.now();
    const lasts = ({ failures, since }: Pause): boolean => failures > 0 && now - Date.parse(since) >= TOLD_AFTER_MS;
    const first = this.#deliveries.find(({ pause }) => lasts(pause));
    return first && { reason: `${first.name}: ${first.pause.reason}`, since: first.pause.since };
  }

  /** Records and sends what is due, within some seconds. The rest is sent after the next start. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await Promise.all(this.#deliveries.map(({ loop }) => loop.stop()));
  }

  #onChange({ kind, expected, value }: Change): void {
    if (kind === 'head') this.#loop.wakeWithin(GATHER_MS);
    if (kind !== 'server') return;
    const [before, after] = [expected as ServerRow | undefined, value as ServerRow | null];
    if (after !== null && after.commit !== before?.commit) this.#onRow(after);
    if (before === undefined || after === null || isAtRest(after)) this.#loop.wakeWithin(GATHER_MS);
  }

  #onRow(row: ServerRow): void {
    if (!isAtRest(row)) this.#begun.set(row.instance, row.commit);
  }

  /** Never throws. */
  async #work(): Promise<boolean> {
    try {
      await this.#record();
      this.#isRecording = true;
    } catch (error) {
      this.#fails(error);
      this.#holdUnrecorded();
    }
    for (const { loop } of this.#deliveries) loop.wake();
    return false;
  }

  #fails(error: unknown): void {
    this.#isRecording = false;
    const repeats = this.#logOnceAMinute(error);
    if (repeats)
      this.#options.log.error({ err: error, ...repeats }, 'notifications could not be recorded; it is tried again');
    this.#loop.wakeWithin(AGAIN_MS);
  }

  /** Records what is to be told, together with what it begins or ends. */
  async #record(): Promise<void> {
    const { ledger, followed, attention, subscribers, clock } = this.#options;
    const [commit, items] = [followed(), attention.items()];
    if (commit === undefined || items === undefined) return;
    if (this.#unrecorded.length > 0) await ledger.commit(this.#unrecorded);
    this.#unrecorded = [];
    const begun = this.#begun;
    this.#begun = new Map();
    const [stored, now] = [ledger.list('alert'), clock.now()];
    const { alerts, events } = newEvents({
      ...{ items: [...items.values()], alerts: stored, commit, begun, targets: subscribers, now },
      progressOf: (instance) => this.#progressOf(instance),
      isNew: clock.monotonic() < this.#knowsAt,
      hasSeen: (id) => this.#seen.has(id),
    });
    for (const id of items.keys()) this.#seen.add(id);
    const changes = [...alerts].map(([name, value]): Change => {
      return { kind: 'alert', name, value, expected: stored.get(name) };
    });
    try {
      const all = [...changes, ...this.#notificationsOf(events), ...this.#overdue()];
      if (all.length > 0) await ledger.commit(all);
      this.#seen = new Set(items.keys());
    } catch (error) {
      this.#begun = new Map([...begun, ...this.#begun]);
      throw error;
    }
  }

  /** Has it told that nothing can be recorded. */
  #holdUnrecorded(): void {
    const { ledger, attention, subscribers: targets, clock } = this.#options;
    const item = attention.items()?.get(UNSAVED);
    if (item === undefined || this.#unrecorded.length > 0 || ledger.read('alert', UNSAVED) !== undefined) return;
    const facts = { items: [item], alerts: new Map(), targets, isNew: false, hasSeen: () => true, now: clock.now() };
    const { alerts, events } = attentionEvents(facts);
    const begun = [...alerts].map(([name, value]): Change => ({ kind: 'alert', name, value, expected: undefined }));
    this.#unrecorded = [...begun, ...this.#notificationsOf(events)];
  }

  /** Sends to a subscriber what cannot be recorded. It is recorded meanwhile where that is possible again, and then it is sent once more. */
  async #sendUnrecorded({ name: target, send }: Subscriber, signal: AbortSignal): Promise<void> {
    for (const { kind, name: id, value: row } of this.#unrecorded) {
      if (kind !== 'notification' || row?.target !== target || row.state !== 'waiting') continue;
      const { isAccepted, answer } = await send(id, row, signal);
      const triedAt = momentOf(this.#options.clock.now());
      const state = isAccepted ? 'delivered' : 'waiting';
      const value = { ...row, state, attempts: row.attempts + 1, triedAt, answer } as const;
      const told: Change = { kind, name: id, value, expected: undefined };
      this.#unrecorded = this.#unrecorded.map((change) => (change.name === id ? told : change));
    }
  }

  #progressOf(instance: string): { readonly servers: number; readonly isAtRest: boolean } {
    const { ledger } = this.#options;
    const servers = [...ledger.index.serversOf(instance)];
    const isResting = (name: string): boolean => {
      const row = ledger.server(name);
      return row === undefined || isAtRest(row);
    };
    return { servers: servers.length, isAtRest: servers.every(isResting) };
  }

  #notificationsOf(events: readonly NewNotification[]): readonly Change[] {
    const { clock } = this.#options;
    const fresh = { time: momentOf(clock.now()), state: 'waiting', attempts: 0, triedAt: null, answer: null } as const;
    return events.flatMap(({ type, subject, data, targets }, index) =>
      targets.map((target): Change => {
        const value = { target, type, subject, data, ...fresh };
        return { kind: 'notification', name: newId(index), value, expected: undefined };
      }),
    );
  }

  /** Removes what is over and not shown any more, and what is for nobody of the settings; gives up what is too much. */
  #overdue(): readonly Change[] {
    const names = new Set(this.#options.subscribers.map(({ name }) => name));
    const all = [...this.#options.ledger.list('notification')].sort(byTime);
    const byTarget = Map.groupBy(all, ([, { target }]) => target);
    return [...byTarget].flatMap(([target, rows]): readonly Change[] => {
      if (!names.has(target)) return rows.map(removal);
      const { waiting = [], over = [] } = Object.groupBy(rows, ([, { state }]) =>
        state === 'waiting' ? 'waiting' : 'over',
      );
      const tooMany = waiting
        .filter(([id]) => !this.#sending.has(id))
        .slice(0, Math.max(0, waiting.length - WAITING_MAX));
      const repeats = tooMany.length > 0 && this.#logOnceAMinute(`${target}: too many wait`);
      const fields = { subscriber: target, count: tooMany.length };
      if (repeats) this.#options.log.error({ ...fields, ...repeats }, 'notifications are given up: too many wait');
      return [
        ...over.slice(0, -OVER_MAX).map(removal),
        ...tooMany.map(([name, expected]): Change => {
          const answer = `${WAITING_MAX} later ones wait too`;
          return { kind: 'notification', name, value: { ...expected, state: 'given up', answer }, expected };
        }),
      ];
    });
  }

  /** Sends to one subscriber what waits, the oldest first. Returns true if there may be more at once. Never throws. */
  async #deliver(delivery: Delivery, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#sendUnrecorded(delivery, signal);
      return this.#isRecording && (await this.#sendWaiting(delivery, signal));
    } catch (error) {
      this.#fails(error);
      return false;
    }
  }

  async #sendWaiting({ name, send, loop, pause }: Delivery, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#options;
    let count = 0;
    for (; count < SENDS_MAX && !signal.aborted; count += 1) {
      const due = pause.firstDue(this.#waitingFor(name), clock.monotonic());
      if (due === undefined) break;
      const [id, row] = due;
      this.#sending.add(id);
      try {
        const attempt = await send(id, row, signal);
        if (!attempt.isAccepted && signal.aborted) return false;
        await this.#conclude(due, { pause, ...attempt });
      } finally {
        this.#sending.delete(id);
      }
    }
    const next = pause.nextMs(this.#waitingFor(name), clock.monotonic());
    if (next !== undefined) loop.wakeWithin(next);
    return count === SENDS_MAX;
  }

  #waitingFor(name: string): readonly NamedEvent[] {
    const rows = [...this.#options.ledger.list('notification')];
    return rows.filter(([, { target, state }]) => target === name && state === 'waiting').sort(byTime);
  }

  async #conclude(
    [id, row]: NamedEvent,
    { pause, ...attempt }: Awaited<ReturnType<SendNotification>> & { readonly pause: Pause },
  ): Promise<void> {
    const { ledger, clock, log, random } = this.#options;
    const { isAccepted, answer } = attempt;
    const isOld = clock.now() - Date.parse(row.time) >= GIVE_UP_MS;
    const state = isAccepted ? 'delivered' : isOld ? 'given up' : 'waiting';
    const fields = { notification: id, subscriber: row.target, type: row.type, subject: row.subject, answer };
    if (isAccepted) pause.end();
    else pause.begin(id, { ...attempt, now: clock.now(), at: clock.monotonic(), random });
    if (state !== 'waiting') pause.forget(id);
    if (state === 'given up') log.error(fields, 'a notification is given up');
    else if (state === 'waiting') {
      const repeats = this.#logOnceAMinute(`${row.target}: ${answer}`);
      if (repeats) log.warn({ ...fields, ...repeats }, 'a notification could not be delivered; it is tried again');
    }
    const value = { ...row, state, attempts: row.attempts + 1, triedAt: momentOf(clock.now()), answer } as const;
    await ledger.commit([{ kind: 'notification', name: id, value, expected: row }]);
  }
}

interface FailedAttempt extends Pick<Awaited<ReturnType<SendNotification>>, 'answer' | 'isOnlyThis' | 'waitMs'> {
  readonly now: number;
  readonly at: number;
  readonly random: () => number;
}

/** When a subscriber is asked again; by the monotonic clock. After a start it is asked at once. */
class Pause {
  failures = 0;
  reason = '';
  since = '';
  #until = 0;
  /** Events that the subscriber refused, while others pass. */
  readonly #refused = new Map<string, { readonly attempts: number; readonly until: number }>();

  firstDue(waiting: readonly NamedEvent[], at: number): NamedEvent | undefined {
    return waiting.find(([id]) => this.#dueAt(id) <= at);
  }

  /** Returns how long it is until the next one is due; undefined where none is. */
  nextMs(waiting: readonly NamedEvent[], at: number): number | undefined {
    return waiting.length === 0 ? undefined : Math.max(0, Math.min(...waiting.map(([id]) => this.#dueAt(id))) - at);
  }

  begin(id: string, { answer, isOnlyThis, waitMs = 0, now, at, random }: FailedAttempt): void {
    if (isOnlyThis) {
      const attempts = (this.#refused.get(id)?.attempts ?? 0) + 1;
      this.#refused.set(id, { attempts, until: at + Math.max(waitMs, retryMs(attempts, random)) });
      return;
    }
    if (this.failures === 0) this.since = momentOf(now);
    this.failures += 1;
    this.reason = answer;
    this.#until = at + Math.max(waitMs, retryMs(this.failures, random));
  }

  end(): void {
    this.failures = 0;
  }

  forget(id: string): void {
    this.#refused.delete(id);
  }

  #dueAt(id: string): number {
    return Math.max(this.#until, this.#refused.get(id)?.until ?? 0);
  }
}

/** Returns an id that no other event has. Of those that are recorded together, the first sorts first. */
function newId(index: number): string {
  return `msg_${String(index).padStart(5, '0')}_${randomUUID()}`;
}

function removal([name, expected]: NamedEvent): Change {
  return { kind: 'notification', name, value: null, expected };
}

function byTime([a, before]: NamedEvent, [b, after]: NamedEvent): number {
  return compareNames(before.time, after.time) || compareNames(a, b);
}
