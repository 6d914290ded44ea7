// Lists the servers whose next call waits for a proxy, by proxy tag. A server with several tags is in several lines.
// All servers without tags share one line.
import { isSameList } from '../../base/lists.ts';

/**
 * Determines the order of servers. A server that was just checked goes first, because its check counts for only 30 s.
 */
interface Turn {
  readonly isChecked?: boolean;
  readonly isRoutine?: boolean;
}

/**
 * The lines of a tag, in the order in which they are offered. `checked`: servers to be created that were just checked
 * and not offered since. `routine`: idle servers that wait for a routine check.
 */
const RANKS = ['checked', 'action', 'routine'] as const;
type Rank = (typeof RANKS)[number];

/** The line of servers without tags. No tag is empty. */
const UNTAGGED = '';

/** A waiting server. */
interface Offer {
  readonly tags: readonly string[];
  rank: Rank;
  /** The rank when it was added. {@link ProxyOffers.rotate} changes `rank`. */
  readonly added: Rank;
}

/** The servers that wait for a proxy. */
export class ProxyOffers {
  readonly #offers = new Map<string, Offer>();
  /** By rank and tag. */
  readonly #lines = new Map<string, Set<string>>();
  /** By tag: thousands of proxies may wait, and only those with one of the server's tags are woken. */
  readonly #watchers = new Map<string, Set<() => void>>();

  /** Returns the tags of a server that waits; undefined if it does not wait. */
  tagsOf(server: string): readonly string[] | undefined {
    return this.#offers.get(server)?.tags;
  }

  /**
   * Appends a server to the lines of its tags, unless it is in them already. `isRoutine`: behind all servers that wait
   * for an action. `isChecked`: before them, so that its check still counts when a proxy asks.
   */
  add(server: string, tags: readonly string[], { isChecked = false, isRoutine = false }: Turn = {}): void {
    const rank = isChecked ? 'checked' : isRoutine ? 'routine' : 'action';
    const known = this.#offers.get(server);
    if (known?.added === rank && isSameList(known.tags, tags)) return;
    this.delete(server);
    this.#offers.set(server, { tags, rank, added: rank });
    for (const tag of distinctTags(tags)) this.#enter(server, lineAt(rank, tag));
  }

  /** Removes a server. */
  delete(server: string): void {
    const offer = this.#offers.get(server);
    if (offer === undefined) return;
    this.#offers.delete(server);
    for (const tag of distinctTags(offer.tags)) this.#leave(server, lineAt(offer.rank, tag));
  }

  /**
   * Moves a server that was offered to a proxy to the end of its lines. A server that was just checked goes first only
   * once, because that proxy may have no program for it.
   */
  rotate(server: string): void {
    const offer = this.#offers.get(server);
    if (offer === undefined) return;
    const { tags, rank } = offer;
    offer.rank = rank === 'checked' ? 'action' : rank;
    for (const tag of distinctTags(tags)) {
      this.#leave(server, lineAt(rank, tag));
      this.#enter(server, lineAt(offer.rank, tag));
    }
  }

  /**
   * Yields the servers for a proxy with these tags, each once, taking the tags in turn: just checked servers first,
   * servers that wait for a routine check last. No server may be added or moved during the iteration.
   */
  *for(tags: readonly string[]): Generator<string> {
    const seen = new Set<string>();
    for (const rank of RANKS) {
      const walks = distinctTags(tags).map((tag) => (this.#lines.get(lineAt(rank, tag)) ?? NONE).values());
      for (let walk = walks.shift(); walk !== undefined; walk = walks.shift()) {
        const { value, done } = walk.next();
        if (done) continue;
        walks.push(walk);
        if (!seen.has(value)) yield value;
        seen.add(value);
      }
    }
  }

  /**
   * Wakes all proxies that watch one of these tags; if the list is empty, proxies without tags; if omitted, all
   * proxies.
   */
  wake(tags?: readonly string[]): void {
    const watched = tags === undefined ? [...this.#watchers.keys()] : distinctTags(tags);
    for (const wake of new Set(watched.flatMap((tag) => [...(this.#watchers.get(tag) ?? [])]))) wake();
  }

  /**
   * Calls `wake` when a server for a proxy with these tags may have been added, until the returned function is called.
   */
  watch(tags: readonly string[], wake: () => void): () => void {
    for (const tag of distinctTags(tags)) {
      this.#watchers.set(tag, (this.#watchers.get(tag) ?? new Set()).add(wake));
    }
    return () => {
      for (const tag of distinctTags(tags)) {
        this.#watchers.get(tag)?.delete(wake);
        if (this.#watchers.get(tag)?.size === 0) this.#watchers.delete(tag);
      }
    };
  }

  #enter(server: string, line: string): void {
    this.#lines.set(line, (this.#lines.get(line) ?? new Set()).add(server));
  }

  #leave(server: string, line: string): void {
    const servers = this.#lines.get(line);
    servers?.delete(server);
    if (servers?.size === 0) this.#lines.delete(line);
  }
}

const NONE: ReadonlySet<string> = new Set();

function lineAt(rank: Rank, tag: string): string {
  return `${rank} ${tag}`;
}

function distinctTags(tags: readonly string[]): readonly string[] {
  return tags.length === 0 ? [UNTAGGED] : [...new Set(tags)];
}
