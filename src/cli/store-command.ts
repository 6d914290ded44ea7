// `treeline store`: backs up and restores the rows of the controller, in the embedded store or in a database. A backup
// of one kind can fill the other. It does not include the repository.
import { existsSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { countOf } from '../base/wording.ts';
import { HEAD } from '../follow/object-rows.ts';
import { longestActionMs, recoverRows } from '../machine/recovery.ts';
import type { Settings } from '../model/settings.ts';
import { loadSettings, SettingsError } from '../settings/load-settings.ts';
import { lockDirectory } from '../store/lock.ts';
import type { DatabaseOptions } from '../store/postgres/connection.ts';
import { exportDatabase, importDatabase } from '../store/postgres/database-backup.ts';
import { readDatabaseSettings, readDatabaseUrl } from '../store/postgres/database-url.ts';
import { nameOf } from '../store/postgres/postgres-error.ts';
import { forgetSeen, readSeen } from '../store/postgres/seen-state.ts';
import { countRows, type StoreDocument } from '../store/store-document.ts';
import { StoreError } from '../store/store-error.ts';
import { backUpStore, type RenewRows, restoreStore, storeRevision } from '../store/store-file.ts';
import { CommandFailure, expecting } from './command-failure.ts';
import { type Format, formatOption, printAs } from './output.ts';
import { fromUserDirectory } from './user-directory.ts';

interface Options {
  readonly config: string;
  readonly format: Format;
  readonly force?: boolean;
}

/** Adds the commands. Exit code 0: done; 3: could not run, and nothing was changed. */
export function addStoreCommand(program: Command): void {
  const store = program.command('store').description('back up and restore what the controller has recorded');
  withOptions(store.command('backup').alias('export'))
    .description('write the store to a file, at any time; also "export"')
    .argument('[target]', 'a new file, or a folder for it', '.')
    .addHelpText(
      'after',
      '\nThe file contains properties and outputs of servers, but no keys or passwords of the controller.',
    )
    .action((target: string, options: Options) => expecting(EXPECTED, () => backUp(target, options)));
  withOptions(store.command('restore').alias('import'))
    .description('fill a store or database from a backup; also "import"')
    .argument('<backup>', 'a file of treeline store backup')
    .option('--force', 'replace an embedded store that has commits')
    .addHelpText(
      'after',
      '\nRun it as the user that the controller runs as. A recovery begins. A PostgreSQL database has to be empty.',
    )
    .action((backup: string, options: Options) =>
      expecting(EXPECTED, () => restore(fromUserDirectory(backup), options)),
    );
}

const EXPECTED = [StoreError, SettingsError];

function withOptions(command: Command): Command {
  return command.requiredOption('--config <file>', "the operator's settings, treeline.yaml").addOption(formatOption());
}

async function backUp(target: string, { config, format }: Options): Promise<void> {
  const settings = await loadSettings(fromUserDirectory(config));
  const { store } = settings;
  const file = await fileFor(target, settings);
  const { document, bytes } =
    store.kind === 'lowdb'
      ? await backUpStore(store.directory, file)
      : await exportDatabase(await readDatabaseSettings(store), file);
  const text = `backed up ${describe(document)}\nto ${file} (${countOf(bytes, 'byte')})`;
  printAs(format, { file, bytes, ...factsOf(document) }, () => text);
}

async function restore(backup: string, { config, format, force = false }: Options): Promise<void> {
  const settings = await loadSettings(fromUserDirectory(config));
  const { store } = settings;
  if (store.kind !== 'lowdb') {
    return await fillDatabase(backup, { settings, format, database: await readDatabaseSettings(store) });
  }
  const { directory } = store;
  const now = Date.now();
  const renew = recoverIn(settings, now);
  const { document, former } = await restoreStore(directory, backup, { force, now, renew });
  forgetSeen(directory);
  const aside = former === null ? '' : `\nthe former files are in ${former}`;
  const text = `restored ${describe(document)}\nto ${directory}${aside}`;
  printAs(format, { directory, former, ...factsOf(document) }, () => text);
}

interface Filling {
  readonly settings: Settings;
  readonly format: Format;
  readonly database: DatabaseOptions;
}

/**
 * Begins a recovery, unless the former embedded store is at the same revision: then nothing was done since the
 * backup.
 */
async function fillDatabase(backup: string, { settings, format, database }: Filling): Promise<void> {
  const { directory } = settings.store;
  const advice = 'Stop that controller first. Nothing was restored.';
  using _lock = existsSync(directory) ? lockDirectory(directory, advice) : undefined;
  // Of a database, other replicas may have recorded more than this one has seen.
  const left = readSeen(directory) === undefined ? storeRevision(directory) : undefined;
  const recover = recoverIn(settings, Date.now());
  const document = await importDatabase(database, backup, (rows) => (rows.revision === left ? [] : recover(rows)));
  forgetSeen(directory);
  const place = nameOf(readDatabaseUrl(database.url, database.ca !== undefined).address);
  printAs(format, factsOf(document), () => `restored ${describe(document)}\nto ${place}`);
}

/** Returns the function that begins a recovery in the rows of a backup. */
function recoverIn({ execution }: Settings, now: number): RenewRows {
  const lost = { reason: 'the store was restored from a backup', now, runsMs: longestActionMs(execution) };
  return ({ tables }) => recoverRows({ list: (kind) => tables[kind] }, lost);
}

/** In a folder, the file name contains controller and time, so that names are unique and sort by age. */
async function fileFor(target: string, { id }: Settings): Promise<string> {
  const moment = new Date().toISOString().replaceAll(/[:.]/g, '-');
  const path = fromUserDirectory(target);
  if (target.endsWith('/')) await mkdir(path, { recursive: true, mode: 0o700 });
  const isFolder = existsSync(path) && statSync(path).isDirectory();
  const file = isFolder ? join(path, `treeline-${id}-${moment}.backup`) : path;
  // SQLite would read a leftover log of an earlier file with this name.
  const taken = ['', '-wal', '-shm', '-journal'].map((end) => file + end).find((path) => existsSync(path));
  if (taken !== undefined) throw new CommandFailure(`${taken} is there already; name another file`);
  return file;
}

/** The output for programs. */
function factsOf({ tables }: StoreDocument): { readonly rows: number; readonly commit: string | null } {
  return { rows: countRows(tables), commit: tables.head.get(HEAD)?.commit ?? null };
}

function describe(document: StoreDocument): string {
  const { rows, commit } = factsOf(document);
  return `${countOf(rows, 'row')}, ${commit === null ? 'no commit followed yet' : `followed commit ${commit}`}`;
}
