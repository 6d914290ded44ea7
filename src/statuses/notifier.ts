// Notifies subscribers of causes that need an operator, followed commits and done instances. ARCHITECTURE.md, "Events
// and messages".
import { randomUUID } from 'node:crypto';
import { toRfc3339 } from '../base/wording.ts';
import { isIdle } from '../machine/drift.ts';
import { compareNames } from '../model/names.ts';
import type { Change, ServerRow } from '../model/rows.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import type { Outage } from '../service/answers.ts';
import { type AttentionWatch, NEW_MS } from '../service/progress/attention-watch.ts';
import { LevelLoop, type Message } from './level-loop.ts';
import type { Attempt } from './post-once.ts';
import { SavedRows } from './saved-rows.ts';
import type { SendNotification } from './send-notification.ts';
import { acceptedBy, changedAlerts, type EventTarget, type OwedEvent, owedEvents } from './wanted-events.ts';

/** One subscriber. */
export interface Subscriber extends EventTarget {
  readonly send: SendNotification;
}

interface NotifierOptions extends Pick<ConstructorParameters<typeof LevelLoop>[0], 'clock' | 'log' | 'random'> {
  readonly subscribers: readonly Subscriber[];
  readonly ledger: Pick<Ledger, 'read' | 'list' | 'index' | 'commit' | 'watch' | 'server'>;
  /** Returns the followed commit; undefined while nothing is active. */
  readonly followed: () => string | undefined;
  /** The causes that need an operator, and their changes. */
  readonly attention: Pick<AttentionWatch, 'items' | 'onChange'>;
}

type EventMessage = OwedEvent & Message;

const REVIEW_MS = 60_000;
/** A shorter failure is not shown to operators. */
const SHOWN_AFTER_MS = 60_000;
/** The number of attempts that are kept for all subscribers. */
const ATTEMPTS_MAX = 100;

/** A running notifier. */
export class Notifier {
  readonly #options: NotifierOptions;
  readonly #alerts: SavedRows<'alert'>;
  readonly #attempts: SavedRows<'notification'>;
  readonly #loops: readonly LevelLoop<EventMessage>[];
  /** The time at which this process is no longer new, by the monotonic clock. */
  readonly #knowsAt: number;
  /** The instances that got work from a commit since the last computation, with that commit. */
  #begun = new Map<string, string>();

  constructor(options: NotifierOptions) {
    const { clock, ledger, attention, subscribers } = options;
    this.#options = options;
    this.#knowsAt = clock.monotonic() + NEW_MS;
    this.#alerts = new SavedRows(ledger, 'alert');
    this.#attempts = new SavedRows(ledger, 'notification');
    for (const row of ledger.list('server').values()) this.#onRow(row);
    this.#loops = subscribers.map((subscriber) => this.#loopOf(subscriber));
    ledger.watch((change) => this.#onChange(change));
    attention.onChange(() => this.#wake());
  }

  /** Why a subscriber has not accepted an event for more than a minute; undefined if all have. */
  get failure(): Outage | undefined {
    const shownSince = this.#options.clock.now() - SHOWN_AFTER_MS;
    const found = this.#loops.find(({ failure }) => failure && Date.parse(failure.since) <= shownSince);
    return found?.failure && { ...found.failure, reason: `${found.to}: ${found.failure.reason}` };
  }

  /** Sends what is due, within some seconds. The rest is sent after the next start. */
  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()));
  }

  #loopOf(subscriber: Subscriber): LevelLoop<EventMessage> {
    const { clock, log, random } = this.#options;
    return new LevelLoop<EventMessage>({
      to: subscriber.name,
      everyMs: REVIEW_MS,
      clock,
      log,
      random,
      send: subscriber.send,
      differing: () => {
        this.#update();
        return owedEvents(this.#alerts.rows, subscriber).map(messageOf);
      },
      note: (event, attempt) => this.#note(subscriber.name, event, attempt),
      save: async () => void (await Promise.all([this.#alerts.save(), this.#attempts.save()])),
    });
  }

  #onChange({ kind, expected, value }: Change): void {
    if (kind === 'head') this.#wake();
    if (kind !== 'server') return;
    const [before, after] = [expected as ServerRow | undefined, value as ServerRow | null];
    if (after !== null && after.commit !== before?.commit) this.#onRow(after);
    if (before === undefined || after === null || isIdle(after)) this.#wake();
  }

  #onRow(row: ServerRow): void {
    if (!isIdle(row)) this.#begun.set(row.instance, row.commit);
  }

  #wake(): void {
    for (const loop of this.#loops) loop.wake();
  }

  #update(): void {
    const { followed, attention, subscribers, clock } = this.#options;
    const [commit, items] = [followed(), attention.items()];
    if (commit === undefined || items === undefined) return;
    const begun = this.#begun;
    this.#begun = new Map();
    const changed = changedAlerts({
      items: [...items.values()],
      alerts: this.#alerts.rows,
      commit,
      begun,
      targets: subscribers,
      progressOf: (instance) => this.#progressOf(instance),
      isNew: clock.monotonic() < this.#knowsAt,
      now: clock.now(),
    });
    for (const [name, row] of changed) this.#alerts.set(name, row);
  }

  #progressOf(instance: string): { readonly servers: number; readonly isIdle: boolean } {
    const { ledger } = this.#options;
    const servers = [...ledger.index.serversOf(instance)];
    const isResting = (name: string): boolean => {
      const row = ledger.server(name);
      return row === undefined || isIdle(row);
    };
    return { servers: servers.length, isIdle: servers.every(isResting) };
  }

  #note(target: string, event: OwedEvent, { isAccepted, answer }: Attempt): void {
    const { alert, id, type, subject, time } = event;
    const triedAt = toRfc3339(this.#options.clock.now());
    const state = isAccepted ? 'delivered' : 'refused';
    this.#attempts.set(`${triedAt} ${randomUUID()}`, { target, id, type, subject, time, state, triedAt, answer });
    const old = [...this.#attempts.rows.keys()].sort(compareNames).slice(0, -ATTEMPTS_MAX);
    for (const name of old) this.#attempts.set(name, null);
    const row = this.#alerts.rows.get(alert);
    const accepted = isAccepted && row !== undefined ? acceptedBy(target, event, row) : undefined;
    if (accepted !== undefined) this.#alerts.set(alert, accepted);
  }
}

function messageOf(event: OwedEvent): EventMessage {
  const { id, type, subject } = event;
  return { ...event, key: id, about: { notification: id, type, subject } };
}
