// Remembers in a replica's own directory the last commit of a database that it has seen. So it notices a database that
// was set back to a backup, and a promoted standby that lacks the last transactions. docs/decisions/0006-recovery.md.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { momentOf, reasonOf } from '../../base/wording.ts';
import { isMap } from '../../model/json.ts';
import { codeOf, StoreError } from '../store-error.ts';
import { DatabaseConnections, type DatabaseOptions } from './connection.ts';
import { STATE } from './statements.ts';

/** What a replica has seen of a database. */
interface SeenState {
  /** How messages name the database. */
  readonly database: string;
  /** Made with the tables. */
  readonly installation: string;
  readonly revision: number;
  /** RFC 3339. */
  readonly at: string;
}

const FILE = 'database-seen.json';
const WRITE_MS = 5_000;

/** Returns the path of the file in a replica's directory. */
function seenPath(directory: string): string {
  return join(directory, FILE);
}

/** Returns what the replica has seen; undefined: nothing, or the file cannot be read. */
export function readSeen(directory: string): SeenState | undefined {
  try {
    const seen: unknown = JSON.parse(readFileSync(seenPath(directory), 'utf8'));
    const isSeen = isMap(seen) && typeof seen.installation === 'string' && typeof seen.revision === 'number';
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

/** What {@link SeenFile} is opened with. */
interface SeenOptions {
  readonly directory: string;
  readonly store: { readonly revision: number };
  /** The store has no rows. */
  readonly isEmpty: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Keeps the file of a replica up to date until it is closed: some seconds after a commit, and at the end. */
export class SeenFile {
  /** What was seen before, where the database is behind that; undefined: it is not. */
  readonly lost: SeenState | undefined;
  /** This replica has not seen that database before. */
  readonly isFirst: boolean;
  readonly #options: SeenOptions;
  readonly #place: Pick<SeenState, 'database' | 'installation'>;
  #written: number | undefined;
  #cancel: (() => void) | undefined;

  private constructor(options: SeenOptions, place: Pick<SeenState, 'database' | 'installation'>) {
    this.#options = options;
    this.#place = place;
    const seen = readSeen(options.directory);
    if (seen !== undefined && seen.installation !== place.installation && !options.isEmpty) {
      throw otherInstallation(options.directory, seen, place.database);
    }
    const isBehind = seen?.installation === place.installation && options.store.revision < seen.revision;
    this.lost = isBehind ? seen : undefined;
    this.isFirst = seen?.installation !== place.installation;
    // What is lost stays remembered until it was accounted for.
    if (!isBehind) this.accept();
  }

  /**
   * Compares the database of an open store with what was seen of it. Throws StoreError where it cannot be read, and
   * where it is that of another installation.
   */
  static async open(database: DatabaseOptions, options: SeenOptions): Promise<SeenFile> {
    const connections = new DatabaseConnections(database);
    try {
      const [[, , installation] = []] = await connections.read((run) => run(STATE));
      return new SeenFile(options, { database: connections.name, installation: String(installation) });
    } finally {
      await connections.close();
    }
  }

  /** From now on what the store shows counts as seen, also where that is behind what was seen before. */
  accept(): void {
    this.#cancel?.();
    this.#write();
    this.#cancel = this.#options.clock.after(WRITE_MS, () => this.accept());
  }

  close(): void {
    if (this.#cancel === undefined) return;
    this.#cancel();
    this.#write();
  }

  #write(): void {
    const { directory, store, clock, log } = this.#options;
    const { revision } = store;
    if (revision === this.#written) return;
    try {
      const path = seenPath(directory);
      const seen: SeenState = { ...this.#place, revision, at: momentOf(clock.now()) };
      writeFileSync(`${path}.new`, `${JSON.stringify(seen)}\n`, { mode: 0o600 });
      renameSync(`${path}.new`, path);
      this.#written = revision;
    } catch (error) {
      // Without the file only a database that was set back is not noticed.
      log.debug({ reason: reasonOf(error) }, 'what was seen of the database could not be remembered');
    }
  }
}
