// Holds names by key in little memory, where most keys have a few names: one set for each key would take more than its names.

/** So many names of one key are searched one after the other; above that, a set holds them. */
const LISTED_MAX = 16;

type Names = string | readonly string[] | Set<string>;

const NO_NAMES: readonly string[] = [];

/** Names by key; keys without names are removed. */
export class CompactNames {
  readonly #names = new Map<string, Names>();

  /** Returns the names of a key, each once. A later change does not appear in them, or does at the end. */
  of(key: string): Iterable<string> {
    const names = this.#names.get(key) ?? NO_NAMES;
    return typeof names === 'string' ? [names] : names;
  }

  has(key: string): boolean {
    return this.#names.has(key);
  }

  /** Returns the keys that have names. */
  keys(): Iterable<string> {
    return this.#names.keys();
  }

  /** Removes a name from the keys `from`, then adds it to the keys `to`. */
  move(name: string, from: Iterable<string>, to: Iterable<string>): void {
    for (const key of from) this.#set(key, without(this.#names.get(key), name));
    for (const key of to) this.#set(key, joined(this.#names.get(key), name));
  }

  #set(key: string, names: Names | undefined): void {
    if (names === undefined) this.#names.delete(key);
    else this.#names.set(key, names);
  }
}

function joined(names: Names | undefined, name: string): Names {
  if (names === undefined || names === name) return name;
  if (names instanceof Set) return names.add(name);
  if (typeof names === 'string') return [names, name];
  if (names.includes(name)) return names;
  // A list that grew by `push` has room for as many again.
  return names.length < LISTED_MAX ? names.concat(name) : new Set(names).add(name);
}

function without(names: Names | undefined, name: string): Names | undefined {
  if (names === undefined || names === name) return undefined;
  if (typeof names === 'string') return names;
  if (names instanceof Set) {
    names.delete(name);
    return names.size === 0 ? undefined : names;
  }
  const left = names.filter((other) => other !== name);
  return left.length === 1 ? left[0] : left;
}
