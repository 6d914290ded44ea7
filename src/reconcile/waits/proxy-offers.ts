// Lists the servers that wait for a proxy to take their next call, by proxy tag. A server with several tags is in
// several lines; one without tags is in a line of its own kind.
import { isSameList } from '../../base/lists.ts';

/** What a server waits for decides who comes first: one that was just checked, for its check counts 30 s only. */
interface Turn {
  readonly isChecked?: boolean;
  readonly isRoutine?: boolean;
}

/**
 * The lines of a tag, in the order in which they are offered. `checked`: servers that are to be created and were just
 * checked go first, until they were offered once. `routine`: idle servers that wait for a routine check.
 */
const RANKS = ['checked', 'action', 'routine'] as const;
type Rank = (typeof RANKS)[number];

/** The line of servers without tags. No tag is empty. */
const UNTAGGED = '';

/** A server that waits. */
interface Offer {
  readonly tags: readonly string[];
  rank: Rank;
  /** As it was added: {@link ProxyOffers.rotate} moves it. */
  readonly added: Rank;
}

/** The servers that wait for a proxy. */
export class ProxyOffers {
  readonly #offers = new Map<string, Offer>();
  /** By rank and tag. */
  readonly #lines = new Map<string, Set<string>>();
  /** By tag: thousands may wait, and only those of the server's tags have to look. */
  readonly #watchers = new Map<string, Set<() => void>>();

  /** Returns the tags of a server that waits; undefined if it does not wait. */
  tagsOf(server: string): readonly string[] | undefined {
    return this.#offers.get(server)?.tags;
  }

  /**
   * Appends a server to the lines of its tags, unless it stands there already; `isRoutine`: behind all servers that
   * wait for an action;
   * `isChecked`: before them, so that its check still counts when a proxy asks, however many others are to be checked.
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
   * Moves a server to the end of its lines, since it was offered to a proxy: others come first next time. One that was
   * just checked goes first once: that proxy may have no program for it.
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
   * Yields the servers for a proxy with these tags, those of each tag in turn, each server once: first those that were
   * just checked, and last those that wait for a routine check. No server may be added or moved meanwhile.
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

  /** Wakes all proxies that watch one of these tags, or nothing but servers without tags; all without `tags`. */
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
