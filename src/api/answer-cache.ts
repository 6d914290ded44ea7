// Keeps answers that depend only on the desired state and the rows, until one of these changes.
import type { IncomingMessage } from 'node:http';
import { readLimitsOf } from '../model/least-rights.ts';
import type { WrittenAnswer } from './answer.ts';
import { findClient } from './authenticate.ts';

const MIB = 1024 * 1024;
/** The records of about 30,000 nodes of common size. */
const CACHE_BYTES = 96 * MIB;
/** The memory of an entry in addition to the text: path, map entry and tag. */
const ENTRY_BYTES = 300;
/** A query or encoded characters: with these, one answer could be kept under any number of paths. */
const MANY_SPELLINGS = /[?%]/;

/** An answer, and the pattern of the route that made it. */
type KeptAnswer = WrittenAnswer & { readonly route: unknown };

/** Returns the pattern of the route that answers a request; undefined before it is found. */
export function routeOf(request: IncomingMessage & { readonly route?: { readonly path?: unknown } }): unknown {
  return request.route?.path;
}

/** The answers of the current version, by path. If they take too much memory, the oldest is dropped. */
export class AnswerCache {
  readonly #versionNow: () => string;
  readonly #bytesMax: number;
  readonly #answers = new Map<string, KeptAnswer>();
  /** The version of all kept answers. */
  #version = '';
  #bytes = 0;

  /** `versionNow`: see Reader. */
  constructor(versionNow: () => string, bytesMax = CACHE_BYTES) {
    this.#versionNow = versionNow;
    this.#bytesMax = bytesMax;
  }

  /** Returns the current version, and drops the answers of other versions. */
  version(): string {
    const version = this.#versionNow();
    if (version === this.#version) return version;
    this.#answers.clear();
    this.#bytes = 0;
    this.#version = version;
    return version;
  }

  /** Returns the answer to a request, if it is kept. */
  find(request: IncomingMessage): KeptAnswer | undefined {
    this.version();
    return this.#answers.get(keyOf(request));
  }

  /** Keeps an answer. `version`: the current version before the answer was built. */
  keep(request: IncomingMessage, version: string, answer: WrittenAnswer): void {
    const key = keyOf(request);
    if (version !== this.version() || MANY_SPELLINGS.test(key) || this.#answers.has(key)) return;
    this.#answers.set(key, { ...answer, route: routeOf(request) });
    this.#bytes += answer.bytes + ENTRY_BYTES;
    for (const [oldest, { bytes }] of this.#answers) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#answers.delete(oldest);
      this.#bytes -= bytes + ENTRY_BYTES;
    }
  }
}

/**
 * Returns the key of an answer within a version: its URL, and the limits of what the client sees.
 */
function keyOf(request: IncomingMessage): string {
  const { url = '' } = request;
  const client = findClient(request);
  const limits = client && readLimitsOf(client);
  return limits === undefined ? url : `${limits.key} ${url}`;
}
