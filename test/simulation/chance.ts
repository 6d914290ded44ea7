// Chance that a seed decides: a stream for what is drawn in order, and draws by key for what happens in any order.

/** Draws numbers one after the other; the same seed draws the same ones. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = mixed(seed);
  }

  /** Returns a number in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    return mixed(this.#state) / 2 ** 32;
  }

  /** Returns true with this likelihood. */
  is(likelihood: number): boolean {
    return this.next() < likelihood;
  }

  /** Returns an integer from 0 up to, not including, `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  pick<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[this.below(items.length)] ?? items[0];
  }

  /** Returns one of the items, each as likely as its weight says. */
  weighted<Item>(items: readonly [readonly [weight: number, item: Item], ...(readonly [number, Item])[]]): Item {
    let left = this.next() * items.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, item] of items) {
      left -= weight;
      if (left < 0) return item;
    }
    return items[0][1];
  }
}

/** Returns a number in [0, 1) that a seed and a key always give: what one event draws changes nothing for the others. */
export function drawn(seed: number, key: string): number {
  let hash = seed ^ 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1) {
    hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  }
  return mixed(hash) / 2 ** 32;
}

/** The finalizer of MurmurHash3, with a step before it so that 0 does not stay 0. */
function mixed(value: number): number {
  let hash = (value + 0x9e3779b9) | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
