// Remembers in a replica's own directory the last commit of a database that it has seen. So it notices a database that
// was set back to a backup, and a promoted standby that lacks the last transactions. docs/decisions/0006-recovery.md.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { momentOf, reasonOf } from '../../base/wording.ts';
import { isMap } from '../../model/json.ts';
import { codeOf, StoreError } from '../store-error.ts';

/** What a replica has seen of a database. */
interface SeenState {
  /** How messages name the database. */
  readonly database: string;
  /** Made with the tables. */
  readonly installation: string;
  readonly revision: number;
  /** Of the leader that made this commit. */
  readonly fencing: number;
  /** RFC 3339. */
  readonly at: string;
}

const FILE = 'database-seen.json';

/** Returns the path of the file in a replica's directory. */
function seenPath(directory: string): string {
  return join(directory, FILE);
}

/** Returns what the replica has seen; undefined: nothing, or the file cannot be read. */
export function readSeen(directory: string): SeenState | undefined {
  try {
    const seen: unknown = JSON.parse(readFileSync(seenPath(directory), 'utf8'));
    const isSeen =
      isMap(seen) &&
      typeof seen.installation === 'string' &&
      typeof seen.revision === 'number' &&
      typeof seen.fencing === 'number';
    return isSeen ? (seen as unknown as SeenState) : undefined;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw new StoreError(`${seenPath(directory)} cannot be read: ${reasonOf(error)}`, { cause: error });
  }
}

/**
 * Throws StoreError if the replica of a directory has used a database since its embedded store was left. Nothing is
 * lost if the store was exported from that database at the commit that the replica has seen last.
 */
export function requireEmbedded(directory: string, revisionOf: () => number | undefined): void {
  const seen = readSeen(directory);
  if (seen === undefined) return;
  if (revisionOf() !== seen.revision) throw notExported(directory, seen);
  forgetSeen(directory);
}

function notExported(directory: string, seen: SeenState): StoreError {
  return new StoreError(
    `The settings name the embedded store in ${directory}, and this replica recorded what it did in ${seen.database} until ${seen.at}. ` +
      `To go back, stop all replicas and run "treeline store backup ${join(directory, 'store.sqlite')}" with the settings of that ` +
      `database. To use the store that is here, which knows nothing of what was done since, remove ${seenPath(directory)}.`,
  );
}

/** After a restore into the embedded store of a directory, that is what holds. */
export function forgetSeen(directory: string): void {
  rmSync(seenPath(directory), { force: true });
}

function otherInstallation(directory: string, seen: SeenState, database: string): StoreError {
  return new StoreError(
    `${database[0]?.toUpperCase()}${database.slice(1)} has the rows of another installation than this replica has used, which was ` +
      `in ${seen.database} until ${seen.at}. Correct the URL. If this database is meant, as after a restore into it, remove ` +
      `${seenPath(directory)}.`,
  );
}

/** The directory of a replica. */
interface SeenOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A database that was just opened. */
interface OpenedDatabase extends Pick<SeenState, 'database' | 'installation' | 'revision'> {
  /** The fencing number under which the commit was made that was seen last. */
  readonly knownTerm: number | undefined;
}

/** Keeps the file of a replica up to date: a commit is in it before an answer reports what it did. */
export class SeenFile {
  /** What was seen before, if the database lacks it; undefined: it does not, or that was accepted. */
  lost: SeenState | undefined;
  /** Another leader made the commit that was seen last. */
  isOther = false;
  /** This replica has not seen that database before. */
  isFirst = false;
  /** The last commit that was seen before the start. */
  readonly known: SeenState | undefined;
  readonly #options: SeenOptions;
  #seen = { database: '', installation: '', revision: -1, fencing: 0 };

  constructor(options: SeenOptions) {
    this.#options = options;
    this.known = readSeen(options.directory);
  }

  /** Notes a commit that this process has made or read, and the fencing number of the leader that made it. */
  note(revision: number, fencing: number): void {
    if (revision === this.#seen.revision && fencing === this.#seen.fencing) return;
    this.#seen = { ...this.#seen, revision, fencing };
    // What is lost stays remembered until it was accounted for, and so does that an empty database is new: a process
    // that ends before it leads has recorded neither.
    if (this.lost === undefined && revision > 0) this.#write();
  }

  /** Compares a database with what was seen of it. Throws StoreError if it has rows of another installation. */
  compare({ database, installation, revision, knownTerm }: OpenedDatabase): void {
    const { known } = this;
    this.#seen = { ...this.#seen, database, installation };
    this.isFirst = known?.installation !== installation;
    if (known === undefined) return;
    if (this.isFirst && revision > 0) throw otherInstallation(this.#options.directory, known, database);
    const isBehind = revision < known.revision;
    this.isOther = !isBehind && knownTerm !== known.fencing;
    this.lost = !this.isFirst && (isBehind || this.isOther) ? known : undefined;
  }

  /** From now on what the store shows counts as seen, also if it lacks what was seen before. */
  accept(): void {
    this.lost = undefined;
    this.isFirst = false;
    this.#write();
  }

  #write(): void {
    const { directory, clock, log } = this.#options;
    try {
      const path = seenPath(directory);
      const seen: SeenState = { ...this.#seen, at: momentOf(clock.now()) };
      writeFileSync(`${path}.new`, `${JSON.stringify(seen)}\n`, { mode: 0o600 });
      renameSync(`${path}.new`, path);
    } catch (error) {
      // Without the file only a database that was set back is not noticed.
      log.debug({ reason: reasonOf(error) }, 'what was seen of the database could not be remembered');
    }
  }
}
