// Watches the causes that need an operator, and logs the begin and the end of each. There is one watch for each leader.
// It keeps no state beyond the leader, so the next leader logs every lasting cause as if it began.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { type LogOnceAMinute, logOnceAMinute } from '../../base/log-once-a-minute.ts';
import { WokenLoop } from '../../base/woken-loop.ts';
import { toRfc3339 } from '../../base/wording.ts';
import type { EndedCauses } from '../../reconcile/row-requests.ts';
import type { AttentionItem } from '../answers.ts';
import { shortened } from './attention.ts';
import type { AllAttention } from './progress-reads.ts';

/** Changes that come this close to each other are handled together. */
const SETTLE_MS = 1_000;
/** Some causes begin or end with time, or without a change of rows. */
const RESYNC_MS = 5_000;
/** A younger process may not have seen all outside causes yet. */
export const NEW_MS = 6 * 60_000;

interface AttentionWatchOptions {
  /** Returns all causes that need an operator; undefined while they are unknown. */
  readonly attention: () => AllAttention | undefined;
  /** Removes ended causes from the acknowledgements. */
  readonly endAcknowledgements: (ended: EndedCauses) => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Logs causes that begin and end. An acknowledged cause begins when its acknowledgement ends. */
export class AttentionWatch {
  readonly #options: AttentionWatchOptions;
  readonly #logOnceAMinute: LogOnceAMinute;
  readonly #logCauseOnceAMinute: LogOnceAMinute;
  readonly #listeners: (() => void)[] = [];
  #items: ReadonlyMap<string, AttentionItem> | undefined;
  /** The causes that ended since the last update of the acknowledgements. */
  #ended: ReadonlySet<string> = new Set();
  /** The time from which an unseen cause counts as ended, by the monotonic clock. */
  readonly #knowsAt: number;
  readonly #loop: WokenLoop;

  constructor(options: AttentionWatchOptions) {
    this.#options = options;
    this.#logOnceAMinute = logOnceAMinute(options.clock);
    this.#logCauseOnceAMinute = logOnceAMinute(options.clock);
    this.#knowsAt = options.clock.monotonic() + NEW_MS;
    this.#loop = new WokenLoop({ clock: options.clock, everyMs: RESYNC_MS, work: (signal) => this.#refresh(signal) });
    this.wake();
  }

  /** Returns the causes of the last refresh by id, acknowledged or not; undefined before the first refresh. */
  items(): ReadonlyMap<string, AttentionItem> | undefined {
    return this.#items;
  }

  /** Calls `listener` after a refresh in which causes began or ended. It must not throw. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Requests a refresh soon. Call it after every change; calls are combined. */
  wake(): void {
    this.#loop.wakeWithin(SETTLE_MS);
  }

  /** Resolves when the last refresh has ended. */
  async stop(): Promise<void> {
    await this.#loop.close();
  }

  /** Never rejects. */
  async #refresh(signal: AbortSignal): Promise<false> {
    const { attention, clock, log } = this.#options;
    const before = toRfc3339(clock.now());
    try {
      const found = attention();
      if (found !== undefined && !signal.aborted) {
        this.#compare(found.items);
        await this.#endAcknowledgements(before, found.covered);
      }
    } catch (error) {
      const repeats = this.#logOnceAMinute(error);
      if (repeats) log.error({ err: error, ...repeats }, 'the causes that need an operator cannot be computed');
    }
    return false;
  }

  #compare(items: readonly AttentionItem[]): void {
    const before = this.#items ?? new Map<string, AttentionItem>();
    const present = new Map<string, AttentionItem>();
    for (const item of items) present.set(item.id, shortened(item));
    this.#items = present;
    this.#ended = this.#ended.union(new Set(before.keys()).difference(present));
    const isShown = (item: AttentionItem | undefined): boolean => item?.acknowledged === null;
    const over = [...before.values()].filter((item) => !present.has(item.id));
    const begun = [...present.values()].filter((item) => isShown(item) && !isShown(before.get(item.id)));
    for (const item of over) this.#log('over', item);
    for (const item of begun) this.#log('begin', item);
    if (over.length + begun.length > 0) for (const listener of this.#listeners) listener();
  }

  async #endAcknowledgements(before: string, covered: ReadonlySet<string>): Promise<void> {
    const { clock, endAcknowledgements } = this.#options;
    const [present, ended] = [this.#items, this.#ended];
    const isKnown = clock.monotonic() >= this.#knowsAt;
    const isOver = (id: string): boolean => !present?.has(id) && !covered.has(id) && (isKnown || ended.has(id));
    await endAcknowledgements({ isOver, before });
    this.#ended = new Set();
  }

  #log(what: 'begin' | 'over', item: AttentionItem): void {
    const { id, kind, instances, servers, since, reason, action } = item;
    const { log } = this.#options;
    const repeats = this.#logCauseOnceAMinute(`${what} ${id}`);
    const fields = { attention: id, kind, instances, servers: servers.count, since, ...repeats };
    if (repeats && what === 'begin') log.warn({ ...fields, action }, `needs an operator: ${reason}`);
    else if (repeats) log.info(fields, `needs no operator any more: ${reason}`);
  }
}
