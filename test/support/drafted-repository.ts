// A repository of texts to which drafts are written as the write queue does it: asked for their edits, checked, committed.
import { expect } from 'vitest';
import { invariant } from '../../src/base/invariant.ts';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import { type ErrorDetail, ServiceError, type ServiceErrorCode } from '../../src/model/service-error.ts';
import { desiredAfter } from '../../src/service/write/check-edits.ts';
import type { Draft } from '../../src/service/write/draft.ts';
import { type Judging, type TextChanges, TextRepository } from './text-repository.ts';

export interface Refused {
  readonly code: ServiceErrorCode;
  readonly message: string;
  readonly details: readonly ErrorDetail[];
}

export class DraftedRepository {
  readonly #repository = new TextRepository();
  readonly #texts = new Map<string, string>();
  #desired: DesiredState;

  constructor(files: TextChanges) {
    this.#desired = this.commit(files);
  }

  get desired(): DesiredState {
    return this.#desired;
  }

  textOf(path: string): string {
    const text = this.#texts.get(path);
    invariant(text !== undefined, `there is a file ${path}`);
    return text;
  }

  /** A commit that somebody pushes. */
  commit(changes: TextChanges, judging?: Judging): DesiredState {
    this.#desired = this.#repository.commit(changes, judging);
    for (const [path, text] of Object.entries(changes)) {
      if (text === null) this.#texts.delete(path);
      else this.#texts.set(path, text);
    }
    return this.#desired;
  }

  /**
   * Writes a draft and returns what became of the files, null for a removed one; nothing where nothing had to change. The
   * commit that it becomes must bring the very problems that it was judged by.
   */
  write(draft: Draft): TextChanges {
    const edits = draft.edits(this.#desired);
    if (edits.length === 0) return {};
    const foreseen = desiredAfter(this.#desired, edits, draft).desired;
    const changes = Object.fromEntries(edits.map(({ path, text }) => [path, text]));
    expect(this.commit(changes).problems).toEqual(foreseen.problems);
    return changes;
  }

  /** Returns why a draft is refused. The repository stays as it is. */
  refused(draft: () => Draft): Refused {
    try {
      const made = draft();
      desiredAfter(this.#desired, made.edits(this.#desired), made);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const { code, message, details } = error;
      return { code, message, details };
    }
    throw new Error('the draft was not refused');
  }
}

/** Returns the lines that only one of the two texts has: `-` before, `+` after. Lines that moved count as unchanged. */
export function changedLines(before: string, after: string): string[] {
  const old = before.split('\n');
  const now = after.split('\n');
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `-${line}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+${line}`),
  ];
}
