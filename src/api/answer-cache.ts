// Keeps answers as they are sent, so that an unchanged one costs a look-up. See docs/decisions/0065-answers-that-did-not-change.md.
import type { AnswerSources } from '../model/answer-sources.ts';
import { isSameList } from '../model/is-same-list.ts';
import { numbersOf } from './source-numbers.ts';

/** Holds the records of about 30,000 nodes of common size. */
export const CACHE_BYTES_MAX = 32 * 1024 * 1024;
/** A larger answer is made anew each time: it would take the room of too many others. */
export const KEPT_BYTES_MAX = 4 * 1024 * 1024;

/** A serialized body and its tag. */
export interface SerializedAnswer {
  readonly json: string;
  /** Bytes of `json` in UTF-8. */
  readonly bytes: number;
  readonly etag: string;
}

interface Kept {
  /** See source-numbers.ts. */
  readonly sources: readonly unknown[];
  readonly answer: SerializedAnswer;
}

/** The memory of a key, an entry of the map and a tag, besides the text. */
const ENTRY_BYTES = 300;

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
    return kept !== undefined && isSameList(kept.sources, numbersOf(sources)) ? kept.answer : undefined;
  }

  /** Keeps an answer in place of the one before. */
  set(key: string, sources: AnswerSources, answer: SerializedAnswer): void {
    this.#remove(key);
    this.#kept.set(key, { sources: numbersOf(sources), answer });
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
