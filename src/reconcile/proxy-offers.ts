// Lists the servers that wait for a proxy to take their next call, by proxy tag. A server with several tags is in
// several lines; one without tags is in a line of its own kind.
import { NameLine } from './name-line.ts';

/** What a server waits for decides who comes first: one that was just checked, for its check counts 30 s only. */
interface Turn {
  readonly isChecked?: boolean;
  readonly isRoutine?: boolean;
}

/** The line of servers without tags. No tag is empty. */
const UNTAGGED = '';

/** The servers that wait for a proxy. */
export class ProxyOffers {
  readonly #lines = new Map<string, NameLine>();
  /** The same for servers that are to be created and were just checked: they go first, until they were offered once. */
  readonly #checked = new Map<string, NameLine>();
  /** The same for servers at rest that wait for a routine check: actions go first. */
  readonly #routine = new Map<string, NameLine>();
  /** By the same lines as the servers: thousands may wait, and only those of the server's tags have to look. */
  readonly #watchers = new Map<string, Set<() => void>>();

  /**
   * Appends a server to the lines of its tags; `isRoutine`: behind all servers that wait for an action; `isChecked`:
   * before them, so that its check still counts when a proxy asks, however many others are to be checked.
   */
  add(server: string, tags: readonly string[], { isChecked = false, isRoutine = false }: Turn = {}): void {
    const lines = isRoutine ? this.#routine : this.#lines;
    for (const tag of linesOf(tags)) append(isChecked ? this.#checked : lines, tag, server);
  }

  /** Removes a server. */
  delete(server: string, tags: readonly string[]): void {
    for (const lines of [this.#checked, this.#lines, this.#routine])
      for (const tag of linesOf(tags)) remove(lines, tag, server);
  }

  /**
   * Moves a server to the end of the lines of the proxy to which it was offered: others come first next time. One that was
   * just checked goes first once: that proxy may have no program for it.
   */
  rotate(server: string, tags: readonly string[]): void {
    for (const tag of linesOf(tags)) {
      const lines = [this.#checked, this.#lines, this.#routine].find((some) => some.get(tag)?.has(server));
      if (lines === undefined) continue;
      remove(lines, tag, server);
      append(lines === this.#checked ? this.#lines : lines, tag, server);
    }
  }

  /**
   * Yields the servers for a proxy with these tags, those of each tag in turn, each server once: first those that were
   * just checked, and last those that wait for a routine check. No server may be added or moved meanwhile.
   */
  *for(tags: readonly string[]): Generator<string> {
    const seen = new Set<string>();
    yield* inTurn(this.#checked, tags, seen);
    yield* inTurn(this.#lines, tags, seen);
    yield* inTurn(this.#routine, tags, seen);
  }

  /** Wakes all proxies that watch one of these tags, or nothing but servers without tags; all without `tags`. */
  wake(tags?: readonly string[]): void {
    const lines = tags === undefined ? [...this.#watchers.keys()] : linesOf(tags);
    for (const wake of new Set(lines.flatMap((line) => [...(this.#watchers.get(line) ?? [])]))) wake();
  }

  /** Calls `wake` when a server for a proxy with these tags may have been added, until the returned function is called. */
  watch(tags: readonly string[], wake: () => void): () => void {
    for (const line of linesOf(tags)) {
      this.#watchers.set(line, (this.#watchers.get(line) ?? new Set()).add(wake));
    }
    return () => {
      for (const line of linesOf(tags)) {
        this.#watchers.get(line)?.delete(wake);
        if (this.#watchers.get(line)?.size === 0) this.#watchers.delete(line);
      }
    };
  }
}

function append(lines: Map<string, NameLine>, tag: string, server: string): void {
  const line = lines.get(tag) ?? new NameLine();
  line.add(server);
  lines.set(tag, line);
}

function remove(lines: Map<string, NameLine>, tag: string, server: string): void {
  lines.get(tag)?.delete(server);
  if (lines.get(tag)?.size === 0) lines.delete(tag);
}

function linesOf(tags: readonly string[]): readonly string[] {
  return tags.length === 0 ? [UNTAGGED] : [...new Set(tags)];
}

/** Yields the names of these lines in turn that were not seen, and notes them. */
function* inTurn(lines: ReadonlyMap<string, NameLine>, tags: readonly string[], seen: Set<string>): Generator<string> {
  const walks = linesOf(tags).flatMap((tag) => lines.get(tag)?.names() ?? []);
  while (walks.length > 0) {
    for (const walk of [...walks]) {
      const { value, done } = walk.next();
      if (done) walks.splice(walks.indexOf(walk), 1);
      else if (!seen.has(value)) yield value;
      if (!done) seen.add(value);
    }
  }
}
