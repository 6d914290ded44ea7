// Encodes a group of commits as lines of the journal.
import { encodedChanges, type WaitingCommit } from './commit-queue.ts';
import { encodeEvent, type StoredEvent } from './event-log.ts';

/** The lines that a group of commits adds to the journal. */
export class GroupLines {
  readonly #commits: readonly WaitingCommit[];
  readonly #events: readonly StoredEvent[];
  /** How many more bytes all rows take in a snapshot, once all lines are encoded. */
  growth = 0;

  constructor(commits: readonly WaitingCommit[], events: readonly StoredEvent[]) {
    this.#commits = commits;
    this.#events = events;
  }

  *encode(): Generator<string> {
    for (const commit of this.#commits) {
      for (const { json, growth } of encodedChanges(commit)) {
        this.growth += growth;
        yield json;
      }
    }
    for (const event of this.#events) yield encodeEvent(event);
  }
}
