// Keeps the line of commits that was walked last: a commit that is followed asks for the same one twice. Ids name contents, so
// that nothing makes it invalid.
import type { ParsedCommit } from './git-object.ts';
import { lineBetween } from './history.ts';
import type { ObjectReader } from './object-reader.ts';

interface WalkedLine {
  readonly from: string;
  readonly to: string;
  /** At most as many as {@link lineBetween} returns. */
  readonly commits: readonly ParsedCommit[];
}

/** The line that was walked last, if it was determined. */
export class LastLine {
  #last: WalkedLine | undefined;

  /** Returns what {@link lineBetween} returns. `to` is here, so every commit of the line is. */
  async between(
    objects: Pick<ObjectReader, 'readCommit'>,
    from: string,
    to: ParsedCommit,
  ): Promise<readonly ParsedCommit[] | undefined> {
    if (this.#last?.from === from && this.#last.to === to.oid) return this.#last.commits;
    const commits = await lineBetween(objects, from, to);
    if (commits !== undefined) this.#last = { from, to: to.oid, commits };
    return commits;
  }
}
