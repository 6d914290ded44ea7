// Takes apart what `git cat-file` prints, in pieces of any size. See git-cat-file, "Batch Output".

import { OBJECT_TYPES, type ObjectType } from './git-object.ts';
import { GitError } from './git-process.ts';

/** An object, and how large it is. */
export interface ObjectAnswer {
  readonly type: ObjectType;
  readonly size: number;
  /** Null where contents were not asked for, or where there is too much. */
  readonly bytes: Buffer | null;
}

export interface AnswerOptions {
  readonly hasContents: boolean;
  /** The content of a larger object is skipped. */
  readonly bytesMax: number;
}

const NEWLINE = 0x0a;
const LINE_LENGTH_MAX = 200;

/** Reads the answers of one process, which come in the order of the questions. */
export class AnswerReader {
  readonly #options: AnswerOptions;
  #line = '';
  /** The object whose content comes, and how much of it was there, the newline behind it included. */
  #open: { readonly answer: ObjectAnswer; consumed: number } | undefined;

  constructor(options: AnswerOptions) {
    this.#options = options;
  }

  /** Returns the answers that are whole by now, undefined for an object that is not there. Throws GitError where it is none. */
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
        // What does not fit is the newline.
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
