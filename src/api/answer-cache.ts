// Keeps answers as they are sent, so that an unchanged one costs a look-up. See docs/decisions/0065-answers-that-did-not-change.md.
import type { AnswerSources } from '../model/answer-sources.ts';

/** A serialized body and its tag. */
export interface SerializedAnswer {
  readonly json: string;
  /** Bytes of `json` in UTF-8. */
  readonly bytes: number;
  readonly etag: string;
}

interface Kept {
  /** See {@link numberOf}. */
  readonly sources: readonly unknown[];
  readonly answer: SerializedAnswer;
}

/** The memory of a key, an entry of the map and a tag, besides the text. */
const ENTRY_BYTES = 300;

/** Below 0, so that none is equal to a number that is a source itself. */
const numbers = new WeakMap<object, number>();
let lastNumber = 0;

/**
 * Returns a number that no other object has, and anything else as it is. So a kept answer is compared with what it was made of,
 * and does not keep that in memory: a whole desired state, perhaps.
 */
function numberOf(source: unknown): unknown {
  if (typeof source !== 'object' || source === null) return source;
  const known = numbers.get(source);
  if (known !== undefined) return known;
  lastNumber -= 1;
  numbers.set(source, lastNumber);
  return lastNumber;
}

/**
 * Answers by key, at most `bytesMax` of them together; the one that was added first gives way. An answer is valid as long
 * as its sources are the same objects: no time is involved.
 */
export class AnswerCache {
  readonly #bytesMax: number;
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Returns the answer of a key if it was made of the same objects, else undefined. */
  get(key: string, sources: AnswerSources): SerializedAnswer | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined || kept.sources.length !== sources.length) return undefined;
    return kept.sources.every((source, index) => source === numberOf(sources[index])) ? kept.answer : undefined;
  }

  /** Keeps an answer in place of the one before. */
  set(key: string, sources: AnswerSources, answer: SerializedAnswer): void {
    this.#remove(key);
    this.#kept.set(key, { sources: sources.map(numberOf), answer });
    this.#bytes += costOf(key, answer);
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#remove(oldest);
    }
  }

  #remove(key: string): void {
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    this.#kept.delete(key);
    this.#bytes -= costOf(key, kept.answer);
  }
}

/** A text takes one byte a character, or two as soon as one character needs them. */
function costOf(key: string, { json, bytes }: SerializedAnswer): number {
  return key.length + (bytes === json.length ? bytes : 2 * json.length) + ENTRY_BYTES;
}
