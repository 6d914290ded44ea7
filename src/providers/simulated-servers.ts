// Stores the servers of the simulated provider in an SQLite table, so that a killed controller loses none. Every call
// is synchronous and takes some tens of microseconds for any number of servers.
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { reasonOf } from '../base/wording.ts';
import type { Properties } from '../model/objects.ts';

/** Remembered actions for each server. A repeated call is one of the last. */
const ACTIONS_MAX = 20;
/** How long to wait for another program that reads the file. */
const BUSY_MS = 1000;
/** Nothing is synced, so a power cut may damage the file and lose the servers. A removed server has no properties. */
const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = OFF;
  CREATE TABLE IF NOT EXISTS servers (name TEXT PRIMARY KEY, properties TEXT, actions TEXT NOT NULL) STRICT;
  DELETE FROM servers WHERE properties IS NULL;
`;

/** The servers of one simulated provider. */
export class SimulatedServers {
  readonly #database: DatabaseSync;
  readonly #select;
  readonly #replace;

  /** Opens the file, creating it and its directory if missing. Throws if it is not a file of this provider. */
  constructor(file: string) {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // SQLite creates its other files with the same mode.
    closeSync(openSync(file, 'a', 0o600));
    this.#database = openDatabase(file);
    this.#select = this.#database.prepare('SELECT properties, actions FROM servers WHERE name = ?');
    this.#replace = this.#database.prepare(
      'INSERT OR REPLACE INTO servers (name, properties, actions) VALUES (?, ?, ?)',
    );
  }

  /** Returns the properties of a server, or undefined if there is none. */
  find(name: string): Properties | undefined {
    const properties = this.#select.get(name)?.properties;
    return typeof properties === 'string' ? JSON.parse(properties) : undefined;
  }

  /**
   * Returns true if an action has changed this server before. Actions of removed servers are forgotten at the next
   * start.
   */
  hasSeen(name: string, action: string): boolean {
    return this.#actionsOf(name).includes(action);
  }

  /** Creates, changes or (with null) removes a server. If it throws, nothing has changed. */
  change(name: string, { action, properties }: { action: string; properties: Properties | null }): void {
    const actions = [...this.#actionsOf(name), action].slice(-ACTIONS_MAX);
    this.#replace.run(name, properties && JSON.stringify(properties), JSON.stringify(actions));
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #actionsOf(name: string): readonly string[] {
    const actions = this.#select.get(name)?.actions;
    return typeof actions === 'string' ? JSON.parse(actions) : [];
  }
}

function openDatabase(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: BUSY_MS });
  try {
    database.exec(SCHEMA);
    return database;
  } catch (error) {
    database.close();
    const advice = 'Restore the file, or delete it to start with no servers.';
    throw new Error(`${file} is not a file of the simulated provider: ${reasonOf(error)}. ${advice}`, { cause: error });
  }
}
