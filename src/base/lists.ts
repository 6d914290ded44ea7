// Compares lists item by item, and keeps equal ones once, with equal texts: of the servers of a group, most are equal.
import { emptyMap } from '../model/json.ts';
import type { Properties, PropertyValue } from '../model/objects.ts';

/** Returns the list that it was given, or the one before if that has the same items. It keeps one list. */
export type ShareList = <Item>(list: readonly Item[]) => readonly Item[];

/** Returns a function that shares lists. */
export function listSharing(): ShareList {
  let last: readonly unknown[] = [];
  return <Item>(list: readonly Item[]): readonly Item[] => {
    // Both hold the same items, so they have the same type.
    if (isSameList(list, last)) return last as readonly Item[];
    last = list;
    return list;
  };
}

/** Returns true if both lists have the same items in the same order. Equal objects count as different ones. */
export function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a === b || (a.length === b.length && a.every((item, index) => item === b[index]));
}

/** Keeps an entry as the newest; beyond `max` the oldest gives way. */
export function keepNewest<Key, Value>(
  values: Map<Key, Value>,
  [key, value]: readonly [Key, Value],
  max: number,
): void {
  values.delete(key);
  values.set(key, value);
  for (const oldest of values.keys()) {
    if (values.size <= max) return;
    values.delete(oldest);
  }
}

/** So many texts are remembered; then it starts over. The servers of a group stand near each other in every file. */
const TEXTS_MAX = 10_000;

/** The texts that were read last, and the last list of each property. */
export class SharedTexts {
  readonly #texts = new Map<string, string>();
  readonly #lists = new Map<string, readonly string[]>();

  /** Returns the equal text that was given before, or `text` if there was none. */
  text(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size >= TEXTS_MAX) this.#texts.clear();
    this.#texts.set(text, text);
    return text;
  }

  /** Returns a list of these texts. */
  texts(texts: readonly string[]): readonly string[] {
    return texts.map((text) => this.text(text));
  }

  /** Returns equal properties. A list is the one that the property had before, if the two are equal. */
  properties(properties: Properties): Properties {
    const shared = emptyMap<PropertyValue>();
    for (const [key, value] of Object.entries(properties)) {
      shared[key] = typeof value === 'string' ? this.text(value) : this.#shareList(key, value);
    }
    return shared;
  }

  #shareList(property: string, list: readonly string[]): readonly string[] {
    const last = this.#lists.get(property);
    if (last !== undefined && isSameList(last, list)) return last;
    if (this.#lists.size >= TEXTS_MAX) this.#lists.clear();
    const texts = this.texts(list);
    this.#lists.set(property, texts);
    return texts;
  }
}
