// Knows which of the registered proxies ask for work. Servers of proxies that none asked for do not continue, and a
// person has to be told: see docs/concepts.md, proxies. It is known to the process that leads, from its own start on.
import type { Clock } from '../../base/clock.ts';
import { isSameList } from '../../base/lists.ts';
import { durationOf } from '../../base/wording.ts';
import type { Presence } from '../../machine/decision.ts';
import { fitsProxy } from '../../machine/responsibility.ts';

/** A registered client with the role proxy. */
export interface RegisteredProxy {
  readonly serial: string;
  readonly tags: readonly string[];
}

interface KnownProxy {
  readonly tags: readonly string[];
  presence: Presence;
  /** When it last asked, or else when it became known here; by the monotonic clock. */
  since: number;
  /** What `since` is the time of: its last request, its registration, or the start of this process. */
  sign: 'request' | 'registration' | 'start';
}

interface ProxyPresenceOptions {
  readonly clock: Clock;
  /** Returns the proxies, the same array while they are the same; undefined before a desired state is active. */
  readonly registered: () => readonly RegisteredProxy[] | undefined;
  /** Called when a proxy with these tags is heard of again, or is not any more. */
  readonly changed: (tags: readonly string[]) => void;
}

/** A proxy asks at least once a minute, and more often while it carries something out. */
const SILENT_MS = 300_000;
const TICK_MS = 30_000;

/** Which proxies are heard of. A change of that is one moment for all who ask: it waits for no question. */
export class ProxyPresence {
  readonly #options: ProxyPresenceOptions;
  readonly #proxies = new Map<string, KnownProxy>();
  #registered: readonly RegisteredProxy[] | undefined;
  #cancel: () => void;

  constructor(options: ProxyPresenceOptions) {
    this.#options = options;
    this.#cancel = options.clock.after(TICK_MS, () => this.#tick());
  }

  /** The registered proxies. */
  get registered(): readonly RegisteredProxy[] {
    this.#follow();
    return this.#registered ?? [];
  }

  /** Notes that a client asks for work, or is at work. */
  hear(serial: string): void {
    this.#follow();
    const proxy = this.#proxies.get(serial);
    if (proxy === undefined) return;
    const isNew = proxy.presence !== 'heard';
    proxy.since = this.#options.clock.monotonic();
    proxy.presence = 'heard';
    proxy.sign = 'request';
    if (isNew) this.#options.changed(proxy.tags);
  }

  /** Returns the best presence of the registered proxies that manage servers with these tags. */
  of(tags: readonly string[]): Presence {
    this.#follow();
    let best: Presence = 'silent';
    for (const proxy of this.#proxies.values()) {
      if (proxy.presence === 'silent' || !fitsProxy(tags, proxy.tags)) continue;
      if (proxy.presence === 'heard') return 'heard';
      best = 'awaited';
    }
    return best;
  }

  /**
   * Returns when a proxy that manages servers with these tags was heard of last, in milliseconds since 1970, where none
   * is any more; null where none is registered. Undefined where one is heard of, or may still be.
   */
  unheardSince(tags: readonly string[]): number | null | undefined {
    if (this.of(tags) !== 'silent') return undefined;
    const last = this.#lastOf(tags)?.since;
    const { clock } = this.#options;
    return last === undefined ? null : clock.now() - (clock.monotonic() - last);
  }

  /** Returns words on the last request of a proxy that manages servers with these tags: `last request 57 s ago`. */
  requestWords(tags: readonly string[]): string {
    this.#follow();
    const last = this.#lastOf(tags);
    if (last === undefined) return 'none is registered';
    const ago = `${durationOf(this.#options.clock.monotonic() - last.since)} ago`;
    if (last.sign === 'request') return `last request ${ago}`;
    return `no request since ${last.sign === 'start' ? 'the controller started' : 'it was registered'} ${ago}`;
  }

  /** Returns the proxy of these tags that asked last; without a request, the one that became known last. */
  #lastOf(tags: readonly string[]): KnownProxy | undefined {
    const fitting = this.#proxies.values().filter((proxy) => fitsProxy(tags, proxy.tags));
    return fitting
      .toArray()
      .sort((a, b) => Number(b.sign === 'request') - Number(a.sign === 'request') || b.since - a.since)[0];
  }

  /** Ends the watch. */
  stop(): void {
    this.#cancel();
  }

  /** Who is registered while this process leads has been heard of by that: a person is just about to start it. */
  #follow(): void {
    const registered = this.#options.registered();
    if (registered === undefined || registered === this.#registered) return;
    const isStart = this.#registered === undefined;
    const [presence, sign] = isStart ? (['awaited', 'start'] as const) : (['heard', 'registration'] as const);
    const since = this.#options.clock.monotonic();
    const before = new Map(this.#proxies);
    this.#registered = registered;
    this.#proxies.clear();
    for (const { serial, tags } of registered) {
      this.#proxies.set(serial, { presence, since, sign, ...before.get(serial), tags });
    }
    for (const [serial, { tags }] of this.#proxies) {
      const known = before.get(serial);
      if (known === undefined || !isSameList(known.tags, tags)) this.#options.changed(tags);
    }
  }

  #tick(): void {
    this.#follow();
    const now = this.#options.clock.monotonic();
    for (const proxy of this.#proxies.values()) {
      if (proxy.presence === 'silent' || now - proxy.since < SILENT_MS) continue;
      proxy.presence = 'silent';
      this.#options.changed(proxy.tags);
    }
    this.#cancel = this.#options.clock.after(TICK_MS, () => this.#tick());
  }
}
