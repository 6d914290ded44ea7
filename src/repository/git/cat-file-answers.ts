// Parses the output of `git cat-file`, which arrives in pieces of any size. See git-cat-file, "Batch Output".

import { OBJECT_TYPES, type ObjectType } from './git-object.ts';
import { GitError } from './git-process.ts';

/** An object, and its size. */
export interface ObjectAnswer {
  readonly type: ObjectType;
  readonly size: number;
  /** Null if contents were not requested, or if the object is too large. */
  readonly bytes: Buffer | null;
}

interface AnswerOptions {
  readonly hasContents: boolean;
  /** The content of a larger object is skipped. */
  readonly bytesMax: number;
}

const NEWLINE = 0x0a;
const LINE_LENGTH_MAX = 200;

/** Parses the answers of one process, which come in the order of the questions. */
export class AnswerReader {
  readonly #options: AnswerOptions;
  #line = '';
  /** The object whose content is being read, and the number of bytes read, including the newline after it. */
  #open: { readonly answer: ObjectAnswer; consumed: number } | undefined;

  constructor(options: AnswerOptions) {
    this.#options = options;
  }

  /**
   * Returns the answers that are complete by now, undefined for a missing object. Throws GitError for malformed output.
   */
  push(chunk: Buffer): readonly (ObjectAnswer | undefined)[] {
    const answers: (ObjectAnswer | undefined)[] = [];
    let at = 0;
    while (at < chunk.length) {
      if (this.#open === undefined) {
        const end = chunk.indexOf(NEWLINE, at);
        this.#line += chunk.toString('latin1', at, end < 0 ? chunk.length : end);
        if (this.#line.length > LINE_LENGTH_MAX) throw new GitError('git prints no answer');
        if (end < 0) break;
        at = end + 1;
        const answer = this.#begin();
        if (this.#open === undefined) answers.push(answer);
      } else {
        const { answer, consumed } = this.#open;
        const end = Math.min(chunk.length, at + answer.size + 1 - consumed);
        // The byte beyond the size is the newline.
        answer.bytes?.set(chunk.subarray(at, Math.min(end, at + answer.size - consumed)), consumed);
        this.#open.consumed += end - at;
        at = end;
        if (this.#open.consumed <= answer.size) break;
        this.#open = undefined;
        answers.push(answer);
      }
    }
    return answers;
  }

  #begin(): ObjectAnswer | undefined {
    const [, type, size] = /^[0-9a-f]{40} ([a-z]+)(?: (\d+))?$/.exec(this.#line) ?? [];
    this.#line = '';
    if (type === 'missing') return undefined;
    if (size === undefined || !isObjectType(type)) throw new GitError('git prints no answer');
    const { hasContents, bytesMax } = this.#options;
    const bytes = hasContents && Number(size) <= bytesMax ? Buffer.allocUnsafe(Number(size)) : null;
    const answer = { type, size: Number(size), bytes };
    if (hasContents) this.#open = { answer, consumed: 0 };
    return answer;
  }
}

function isObjectType(text: string | undefined): text is ObjectType {
  return OBJECT_TYPES.some((type) => type === text);
}
