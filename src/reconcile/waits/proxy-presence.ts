// Tracks which registered proxies ask for work. If no proxy asks for a server's work, the server is blocked and an
// operator has to act: see docs/concepts.md, proxies. In memory of the leader, from its start.
import type { Clock } from '../../base/clock.ts';
import { durationOf } from '../../base/wording.ts';
import { fitsProxy } from '../../machine/responsibility.ts';

/** A registered client with the role proxy. */
export interface RegisteredProxy {
  readonly serial: string;
  readonly tags: readonly string[];
}

interface KnownProxy {
  readonly tags: readonly string[];
  /** When it last asked, else when it became known here; by the monotonic clock. */
  since: number;
  /** True if it has asked since the start of this process. */
  hasAsked: boolean;
}

interface ProxyPresenceOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Returns the proxies, and the same array while they are unchanged; undefined before a desired state is active. */
  readonly registered: () => readonly RegisteredProxy[] | undefined;
  /** Called when a silent proxy with these tags asks for work. */
  readonly heard: (tags: readonly string[]) => void;
}

/** A proxy is silent after this time. It asks at least once a minute, and more often while it carries out an action. */
const SILENT_MS = 300_000;

/** Tracks which proxies ask for work. */
export class ProxyPresence {
  readonly #options: ProxyPresenceOptions;
  readonly #proxies = new Map<string, KnownProxy>();
  #registered: readonly RegisteredProxy[] | undefined;

  constructor(options: ProxyPresenceOptions) {
    this.#options = options;
  }

  /** The registered proxies. */
  get registered(): readonly RegisteredProxy[] {
    this.#follow();
    return this.#registered ?? [];
  }

  /** Records that a proxy asks for work or carries out an action. */
  hear(serial: string): void {
    this.#follow();
    const proxy = this.#proxies.get(serial);
    if (proxy === undefined) return;
    const isNew = !this.#isRecent(proxy);
    proxy.since = this.#options.clock.monotonic();
    proxy.hasAsked = true;
    if (isNew) this.#options.heard(proxy.tags);
  }

  /** Returns when a proxy last asked, in milliseconds since 1970; undefined if it has not asked since the start. */
  heardAt(serial: string): number | undefined {
    this.#follow();
    const proxy = this.#proxies.get(serial);
    return proxy?.hasAsked === true ? this.#wallTime(proxy) : undefined;
  }

  /** Returns true if a registered proxy that manages servers with these tags is not silent. */
  isAsking(tags: readonly string[]): boolean {
    this.#follow();
    return this.#proxies.values().some((proxy) => fitsProxy(tags, proxy.tags) && this.#isRecent(proxy));
  }

  /**
   * Returns after how many milliseconds all proxies that manage servers with these tags become silent, unless one of
   * them asks; undefined if they are silent.
   */
  silentMs(tags: readonly string[]): number | undefined {
    if (!this.isAsking(tags)) return undefined;
    const fitting = this.#proxies.values().filter((proxy) => fitsProxy(tags, proxy.tags));
    const last = Math.max(...fitting.map(({ since }) => since));
    return last + SILENT_MS - this.#options.clock.monotonic();
  }

  /**
   * Returns when a proxy that manages servers with these tags last asked, in milliseconds since 1970, if all are
   * silent; null if none is registered; undefined if one is not silent.
   */
  silentSince(tags: readonly string[]): number | null | undefined {
    if (this.isAsking(tags)) return undefined;
    const last = this.#lastOf(tags);
    return last === undefined ? null : this.#wallTime(last);
  }

  /** Returns a text about the last request of a proxy that manages servers with these tags: `last request 57 s ago`. */
  requestWords(tags: readonly string[]): string {
    this.#follow();
    const last = this.#lastOf(tags);
    if (last === undefined) return 'none is registered';
    const duration = durationOf(this.#options.clock.monotonic() - last.since);
    return last.hasAsked ? `last request ${duration} ago` : `no request for ${duration}`;
  }

  /** Returns the proxy of these tags that last asked; if none has asked, the one that became known last. */
  #lastOf(tags: readonly string[]): KnownProxy | undefined {
    const fitting = this.#proxies.values().filter((proxy) => fitsProxy(tags, proxy.tags));
    return fitting.toArray().sort((a, b) => Number(b.hasAsked) - Number(a.hasAsked) || b.since - a.since)[0];
  }

  /** Updates the proxies from the registered ones. A new proxy does not count as silent: it may be about to start. */
  #follow(): void {
    const registered = this.#options.registered();
    if (registered === undefined || registered === this.#registered) return;
    const since = this.#options.clock.monotonic();
    const before = new Map(this.#proxies);
    this.#registered = registered;
    this.#proxies.clear();
    for (const { serial, tags } of registered)
      this.#proxies.set(serial, { since, hasAsked: false, ...before.get(serial), tags });
  }

  #wallTime({ since }: KnownProxy): number {
    const { clock } = this.#options;
    return clock.now() - (clock.monotonic() - since);
  }

  #isRecent({ since }: KnownProxy): boolean {
    return this.#options.clock.monotonic() - since < SILENT_MS;
  }
}
