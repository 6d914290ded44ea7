// Remembers the last seen commit of a database in the replica's directory, to detect a database that was restored from
// a backup and a promoted standby that lacks the last transactions. docs/decisions/0006-recovery.md.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { reasonOf, toRfc3339 } from '../../base/wording.ts';
import { isMap } from '../../model/json.ts';
import { codeOf, StoreError } from '../store-error.ts';

/** The last seen state of a database. */
interface SeenState {
  /** The name of the database in messages. */
  readonly database: string;
  /** Created with the tables. */
  readonly installation: string;
  readonly revision: number;
  /** The fencing number of that commit's leader. */
  readonly fencing: number;
  /** RFC 3339. */
  readonly at: string;
}

const FILE = 'database-seen.json';

/** Returns the path of the file in a replica's directory. */
function seenPath(directory: string): string {
  return join(directory, FILE);
}

/** Returns the seen state; undefined if there is none or the file cannot be read. */
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
 * Throws StoreError if the replica of a directory has used a database since it left its embedded store, unless the
 * store was exported from that database at the last seen commit.
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

/** Forgets the seen state after a restore into the embedded store. */
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

/** The options of {@link SeenFile}. */
interface SeenOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A database that was just opened. */
interface OpenedDatabase extends Pick<SeenState, 'database' | 'installation' | 'revision'> {
  /** The fencing number of the leader of the last seen commit. */
  readonly knownTerm: number | undefined;
}

/** Keeps the file of a replica up to date: a commit is in it before an answer depends on the commit. */
export class SeenFile {
  /** The seen state, if the database lacks it; undefined if it does not, or if the loss was accepted. */
  lost: SeenState | undefined;
  /** True if another leader made the commit with the last seen number. */
  isOther = false;
  /** True if this replica has not seen that database before. */
  isFirst = false;
  /** The last commit that was seen before this start. */
  readonly known: SeenState | undefined;
  readonly #options: SeenOptions;
  #seen = { database: '', installation: '', revision: -1, fencing: 0 };

  constructor(options: SeenOptions) {
    this.#options = options;
    this.known = readSeen(options.directory);
  }

  /** Notes a commit that this process has made or read, and the fencing number of its leader. */
  note(revision: number, fencing: number): void {
    if (revision === this.#seen.revision && fencing === this.#seen.fencing) return;
    this.#seen = { ...this.#seen, revision, fencing };
    // Keeps a lost state, or the fact that an empty database is new, until `accept`: a process that ends before it
    // leads has not recorded it.
    if (this.lost === undefined && revision > 0) this.#write();
  }

  /** Compares a database with its seen state. Throws StoreError if it has rows of another installation. */
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

  /** Accepts the current state of the store, even if it lacks commits that were seen before. */
  accept(): void {
    this.lost = undefined;
    this.isFirst = false;
    this.#write();
  }

  #write(): void {
    const { directory, clock, log } = this.#options;
    try {
      const path = seenPath(directory);
      const seen: SeenState = { ...this.#seen, at: toRfc3339(clock.now()) };
      writeFileSync(`${path}.new`, `${JSON.stringify(seen)}\n`, { mode: 0o600 });
      renameSync(`${path}.new`, path);
    } catch (error) {
      // Without the file, only the detection of a restored database is lost.
      log.debug({ reason: reasonOf(error) }, 'what was seen of the database could not be remembered');
    }
  }
}
