// Who waits for what. A waiting server waits for one thing at a time, so a change wakes only those it may concern.
import { NameLine } from './name-line.ts';

export class Waiting {
  readonly #servers = new Map<string, Set<string>>();
  readonly #groups = new Map<string, Set<string>>();
  /** By provider, in order of asking. */
  readonly #room = new Map<string, NameLine>();

  /** `name` wants to be woken when the row of `server` changes. */
  forServer(name: string, server: string): void {
    add(this.#servers, server, name);
  }

  /** `name` wants to be woken when a row of its group changes. */
  forGroup(name: string, group: string): void {
    add(this.#groups, group, name);
  }

  /** `name` wants to be woken when a call of `provider` may be started. First come, first served. */
  forRoom(name: string, provider: string): void {
    const line = this.#room.get(provider) ?? new NameLine();
    this.#room.set(provider, line);
    line.add(name);
  }

  /** Returns those who waited for this server's row or one of its group, and forgets them. */
  onChange(server: string, groups: Iterable<string>): readonly string[] {
    const woken = [...take(this.#servers, server)];
    for (const group of groups) woken.push(...take(this.#groups, group));
    return woken;
  }

  /** Returns the one who has waited longest for a provider that has room now, and forgets it. */
  onRoom(hasRoom: (provider: string) => boolean): string | undefined {
    for (const [provider, line] of this.#room) {
      if (line.size === 0) this.#room.delete(provider);
      else if (hasRoom(provider)) return line.take();
    }
    return undefined;
  }
}

function add(sets: Map<string, Set<string>>, key: string, name: string): void {
  sets.set(key, (sets.get(key) ?? new Set()).add(name));
}

function take(sets: Map<string, Set<string>>, key: string): ReadonlySet<string> {
  const names = sets.get(key) ?? new Set();
  sets.delete(key);
  return names;
}
