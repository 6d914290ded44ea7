// `treeline store`: backs up and restores what the controller has recorded, and copies it into a database and out of
// one. The repository is not part of it.
import { existsSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { countOf, whyUnusable } from '../base/wording.ts';
import { HEAD } from '../follow/object-rows.ts';
import { recoverRows } from '../follow/recover-rows.ts';
import { longestActionMs } from '../machine/recovery.ts';
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
import { type BackedUp, backUpStore, restoreStore, storeRevision } from '../store/store-file.ts';
import { CommandFailure, expecting } from './command-failure.ts';
import { type Format, formatOption, printAs } from './output.ts';
import { fromUserDirectory } from './user-directory.ts';

interface Options {
  readonly config: string;
  readonly format: Format;
}

interface RestoreCommandOptions extends Options {
  readonly force?: boolean;
}

/** Adds the commands. Exit code 0: done; 3: could not run, and nothing was changed. */
export function addStoreCommand(program: Command): void {
  const store = program.command('store').description('back up, restore and move what the controller has recorded');
  withOptions(store.command('backup'))
    .description('write the embedded store to a file, at any time')
    .argument('[target]', 'a new file, or a folder for it', '.')
    .addHelpText(
      'after',
      '\nThe file contains properties and outputs of servers, but no keys or passwords of the controller.',
    )
    .action(async (target: string, options: Options) => await backUp(target, options));
  withOptions(store.command('restore'))
    .description('replace the embedded store by a backup')
    .argument('<backup>', 'a file of treeline store backup or export')
    .option('--force', 'replace a store that has commits, and keep its files')
    .addHelpText('after', '\nRun it as the user that the controller runs as. A recovery begins.')
    .action(
      async (backup: string, options: RestoreCommandOptions) => await restore(fromUserDirectory(backup), options),
    );
  withOptions(store.command('export'))
    .description('write a PostgreSQL database to a file, at any time')
    .argument('[target]', 'a new file, or a folder for it', '.')
    .addHelpText(
      'after',
      '\nTo move to the embedded store: stop all replicas, export to store.sqlite in its directory, and change "store".',
    )
    .action(async (target: string, options: Options) => await exportTo(target, options));
  withOptions(store.command('import'))
    .description('fill an empty PostgreSQL database from a backup')
    .argument('<backup>', 'a file of treeline store backup or export')
    .addHelpText(
      'after',
      '\nTo move to PostgreSQL: stop the controller, back up, change "store", and import. Start it then.',
    )
    .action(async (backup: string, options: Options) => await importFrom(fromUserDirectory(backup), options));
}

function withOptions(command: Command): Command {
  return command.requiredOption('--config <file>', "the operator's settings, treeline.yaml").addOption(formatOption());
}

async function backUp(target: string, { config, format }: Options): Promise<void> {
  const settings = await readStoreSettings(config);
  const { directory } = embeddedOf(settings, 'pg_dump, or treeline store export');
  const file = await fileFor(target, settings);
  printBackup(file, format, await expecting([StoreError], () => backUpStore(directory, file)));
}

async function exportTo(target: string, { config, format }: Options): Promise<void> {
  const settings = await readStoreSettings(config);
  const database = await databaseOf(settings, 'treeline store backup');
  const file = await fileFor(target, settings);
  printBackup(file, format, await expecting([StoreError], () => exportDatabase(database, file)));
}

function printBackup(file: string, format: Format, { document, bytes }: BackedUp): void {
  const text = `backed up ${describe(document)}\nto ${file} (${countOf(bytes, 'byte')})`;
  printAs(format, { file, bytes, ...factsOf(document) }, () => text);
}

async function restore(backup: string, { config, format, force = false }: RestoreCommandOptions): Promise<void> {
  const settings = await readStoreSettings(config);
  const { directory } = embeddedOf(settings, 'pg_restore, or treeline store import into an empty database');
  const now = Date.now();
  const renew = (rows: RecordedRows) => recoverRows(rows, lostRows(settings, now));
  const { document, former } = await expecting([StoreError], async () => {
    const restored = await restoreStore(directory, backup, { force, now, renew });
    forgetSeen(directory);
    return restored;
  });
  const aside = former === null ? '' : `\nthe former files are in ${former}`;
  const text = `restored ${describe(document)}\nto ${directory}${aside}`;
  printAs(format, { directory, former, ...factsOf(document) }, () => text);
}

/** Begins a recovery, unless the embedded store that was left is at the same commit: then nothing was done since. */
async function importFrom(backup: string, { config, format }: Options): Promise<void> {
  const settings = await readStoreSettings(config);
  const database = await databaseOf(settings, 'treeline store restore');
  const { directory } = settings.store;
  const document = await expecting([StoreError], async () => {
    const advice = 'Stop that controller first. Nothing was imported.';
    using _lock = existsSync(directory) ? lockDirectory(directory, advice) : undefined;
    // Other replicas may have recorded more than this one has seen of a database.
    const left = readSeen(directory) === undefined ? storeRevision(directory) : undefined;
    const imported = await importDatabase(database, backup, ({ revision, tables }) =>
      revision === left ? [] : recoverRows({ list: (kind) => tables[kind] }, lostRows(settings, Date.now())),
    );
    forgetSeen(directory);
    return imported;
  });
  const place = nameOf(readDatabaseUrl(database.url, database.ca !== undefined).address);
  printAs(format, factsOf(document), () => `imported ${describe(document)}\nto ${place}`);
}

type RecordedRows = Parameters<typeof recoverRows>[0];

function lostRows({ execution }: Settings, now: number): Parameters<typeof recoverRows>[1] {
  return { reason: 'the store was restored from a backup', now, runsMs: longestActionMs(execution) };
}

function embeddedOf({ store }: Settings, instead: string): Settings['store'] {
  if (store.kind === 'lowdb') return store;
  throw new CommandFailure(`the settings name a PostgreSQL database; use ${instead}`);
}

async function databaseOf({ store }: Settings, instead: string): Promise<DatabaseOptions> {
  if (store.kind === 'lowdb') throw new CommandFailure(`the settings name the embedded store; use ${instead}`);
  return await expecting([StoreError], () => readDatabaseSettings(store));
}

async function readStoreSettings(config: string): Promise<Settings> {
  return await expecting([SettingsError], () => loadSettings(fromUserDirectory(config)));
}

/** A folder gets a file named after controller and time, so that names sort by age and are unique. */
async function fileFor(target: string, { id }: Settings): Promise<string> {
  const moment = new Date().toISOString().replaceAll(/[:.]/g, '-');
  const path = fromUserDirectory(target);
  if (target.endsWith('/')) await makeFolder(path);
  const isFolder = existsSync(path) && statSync(path).isDirectory();
  const file = isFolder ? join(path, `treeline-${id}-${moment}.backup`) : path;
  if (existsSync(file)) throw new CommandFailure(`${file} is there already; name another file`);
  return file;
}

async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new CommandFailure(`the folder ${path} cannot be made: ${whyUnusable(error)}`, { cause: error });
  }
}

/** The output for programs. */
function factsOf({ tables }: StoreDocument): { readonly rows: number; readonly commit: string | null } {
  return { rows: countRows(tables), commit: tables.head.get(HEAD)?.commit ?? null };
}

function describe(document: StoreDocument): string {
  const { rows, commit } = factsOf(document);
  return `${countOf(rows, 'row')}, ${commit === null ? 'no commit followed yet' : `followed commit ${commit}`}`;
}
