// Watches the causes that need an operator. Logs and reports to listeners when one begins and when it is over. One for
// each leader; what it knows is lost with it, so that the next one reports everything that lasts as if it began.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { type LogOnceAMinute, logOnceAMinute } from '../../base/log-once-a-minute.ts';
import { WokenLoop } from '../../base/woken-loop.ts';
import { momentOf } from '../../base/wording.ts';
import type { EndedCauses } from '../../reconcile/row-requests.ts';
import type { AttentionItem } from '../answers.ts';
import { shortened } from './attention.ts';
import type { AllAttention } from './progress-reads.ts';

/** Changes that come this close to each other are handled together. */
const SETTLE_MS = 1_000;
/** Some causes begin or end with time alone, or outside of what is recorded. */
const RESYNC_MS = 5_000;
/** A process that is not older has not seen all causes outside yet. */
export const NEW_MS = 6 * 60_000;

interface AttentionWatchOptions {
  /** Returns everything that needs an operator; undefined while that is not known. */
  readonly attention: () => AllAttention | undefined;
  /** Removes causes that are over from the acknowledgements. */
  readonly endAcknowledgements: (ended: EndedCauses) => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
}

type Listener = (item: AttentionItem) => void;

/**
 * Reports causes that begin and end. A cause that begins acknowledged begins once that is over, and each one does so
 * again then.
 */
export class AttentionWatch {
  readonly #options: AttentionWatchOptions;
  readonly #logOnceAMinute: LogOnceAMinute;
  readonly #logCauseOnceAMinute: LogOnceAMinute;
  readonly #listeners = { begin: [] as Listener[], over: [] as Listener[] };
  #items: ReadonlyMap<string, AttentionItem> | undefined;
  /** The ids of the causes that have begun for those who listen. */
  readonly #begun = new Set<string>();
  /** The causes that have ended since acknowledgements were ended last. */
  #ended: ReadonlySet<string> = new Set();
  /** From when on a cause that is not seen is over, by the monotonic clock. */
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

  /** Returns the causes by id, acknowledged or not, as of the last look; undefined before the first one. */
  items(): ReadonlyMap<string, AttentionItem> | undefined {
    return this.#items;
  }

  /**
   * Calls `listener` with each cause that begins to need an operator, and again when its acknowledgement has ended. It
   * must not throw.
   */
  onBegin(listener: Listener): void {
    this.#listeners.begin.push(listener);
  }

  /** Calls `listener` with each cause that has begun, as it was known last, once it is over. It must not throw. */
  onOver(listener: Listener): void {
    this.#listeners.over.push(listener);
  }

  /** Has it look soon: something has changed. May be called as often as something changes. */
  wake(): void {
    this.#loop.wakeWithin(SETTLE_MS);
  }

  /** Resolves once it looks no more. */
  async stop(): Promise<void> {
    await this.#loop.close();
  }

  /** Never rejects. */
  async #refresh(signal: AbortSignal): Promise<false> {
    const { attention, clock, log } = this.#options;
    const before = momentOf(clock.now());
    try {
      const found = attention();
      if (found !== undefined && !signal.aborted) {
        this.#compare(found.items);
        await this.#endAcknowledgements(before, found.covered);
      }
    } catch (error) {
      const repeats = this.#logOnceAMinute(error);
      if (repeats) log.error({ err: error, ...repeats }, 'what needs an operator cannot be found');
    }
    return false;
  }

  #compare(items: readonly AttentionItem[]): void {
    const before = this.#items ?? new Map<string, AttentionItem>();
    const present = new Map<string, AttentionItem>();
    for (const item of items) present.set(item.id, shortened(item));
    this.#items = present;
    this.#ended = this.#ended.union(new Set(before.keys()).difference(present));
    for (const [id, item] of before) {
      if (!present.has(id) && this.#begun.delete(id)) this.#report('over', item);
    }
    for (const item of present.values()) {
      const wasAcknowledged = before.get(item.id)?.acknowledged != null;
      if (item.acknowledged !== null || (this.#begun.has(item.id) && !wasAcknowledged)) continue;
      this.#begun.add(item.id);
      this.#report('begin', item);
    }
  }

  async #endAcknowledgements(before: string, covered: ReadonlySet<string>): Promise<void> {
    const { clock, endAcknowledgements } = this.#options;
    const [present, ended] = [this.#items, this.#ended];
    const isKnown = clock.monotonic() >= this.#knowsAt;
    const isOver = (id: string): boolean => !present?.has(id) && !covered.has(id) && (isKnown || ended.has(id));
    await endAcknowledgements({ isOver, before });
    this.#ended = new Set();
  }

  #report(what: 'begin' | 'over', item: AttentionItem): void {
    const { id, kind, instances, servers, since, reason, action } = item;
    const { log } = this.#options;
    const repeats = this.#logCauseOnceAMinute(`${what} ${id}`);
    const fields = { attention: id, kind, instances, servers: servers.count, since, ...repeats };
    if (repeats && what === 'begin') log.warn({ ...fields, action }, `needs an operator: ${reason}`);
    else if (repeats) log.info(fields, `needs no operator any more: ${reason}`);
    for (const listener of this.#listeners[what]) listener(item);
  }
}
