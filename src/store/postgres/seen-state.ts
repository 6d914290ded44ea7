// Remembers in a replica's own directory the last commit of a database that it has seen. So it notices a database that
// was set back to a backup, and a promoted standby that lacks the last transactions. docs/decisions/0006-recovery.md.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { momentOf, reasonOf } from '../../base/wording.ts';
import { isMap } from '../../model/json.ts';
import type { LowdbStore } from '../lowdb-store.ts';
import { codeOf, StoreError } from '../store-error.ts';

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

/** The directory of a replica, and its open store. */
interface SeenOptions {
  readonly directory: string;
  readonly store: Pick<LowdbStore, 'path' | 'installation' | 'revision'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Keeps the file of a replica up to date until it is closed: some seconds after a commit, and at the end. */
export class SeenFile {
  /** What was seen before, where the database is behind that; undefined: it is not, or that was accepted. */
  lost: SeenState | undefined;
  /** This replica has not seen that database before. */
  isFirst: boolean;
  readonly #options: SeenOptions;
  #written: number | undefined;
  #cancel: (() => void) | undefined;

  /** Compares a store with what was seen of it. Throws StoreError if it has rows of another installation. */
  constructor(options: SeenOptions) {
    this.#options = options;
    const { directory, store } = options;
    const seen = readSeen(directory);
    this.isFirst = seen?.installation !== store.installation;
    if (seen !== undefined && this.isFirst && store.revision > 0) throw otherInstallation(directory, seen, store.path);
    const isBehind = seen !== undefined && !this.isFirst && store.revision < seen.revision;
    this.lost = isBehind ? seen : undefined;
    // What is lost stays remembered until it was accounted for.
    if (!isBehind) this.#keep();
  }

  /** From now on what the store shows counts as seen, also where that is behind what was seen before. */
  accept(): void {
    this.lost = undefined;
    this.isFirst = false;
    this.#keep();
  }

  close(): void {
    if (this.#cancel === undefined) return;
    this.#cancel();
    this.#write();
  }

  #keep(): void {
    this.#cancel?.();
    this.#write();
    this.#cancel = this.#options.clock.after(WRITE_MS, () => this.#keep());
  }

  #write(): void {
    const { directory, store, clock, log } = this.#options;
    const { path: database, installation = '', revision } = store;
    if (revision === this.#written) return;
    try {
      const path = seenPath(directory);
      const seen: SeenState = { database, installation, revision, at: momentOf(clock.now()) };
      writeFileSync(`${path}.new`, `${JSON.stringify(seen)}\n`, { mode: 0o600 });
      renameSync(`${path}.new`, path);
      this.#written = revision;
    } catch (error) {
      // Without the file only a database that was set back is not noticed.
      log.debug({ reason: reasonOf(error) }, 'what was seen of the database could not be remembered');
    }
  }
}
