// A repository of texts to which drafts are written as the write queue does it: asked for their edits, checked, committed.
import { expect } from 'vitest';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import { desiredAfter } from '../../src/service/write/check-edits.ts';
import type { Draft } from '../../src/service/write/draft.ts';
import { type TextChanges, TextRepository } from './text-repository.ts';

export class DraftedRepository {
  readonly #repository = new TextRepository();
  #desired: DesiredState;

  constructor(files: TextChanges) {
    this.#desired = this.commit(files);
  }

  get desired(): DesiredState {
    return this.#desired;
  }

  /** A commit that somebody pushes. */
  commit(changes: TextChanges): DesiredState {
    this.#desired = this.#repository.commit(changes);
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
  refused(draft: () => Draft): Pick<ServiceError, 'code' | 'message' | 'details'> {
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
