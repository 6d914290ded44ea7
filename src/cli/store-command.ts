// `treeline store`: backs up and restores what the controller has recorded, in both kinds of store, and so moves it
// from one to the other. The repository is not part of it.
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
import type { DatabaseOptions } from '../store/postgres/connection.ts';
import { readDatabase, restoreDatabase } from '../store/postgres/database-backup.ts';
import { readDatabaseSettings, readDatabaseUrl } from '../store/postgres/database-url.ts';
import { nameOf } from '../store/postgres/postgres-error.ts';
import { forgetSeen } from '../store/postgres/seen-state.ts';
import { countRows, type StoreDocument } from '../store/store-document.ts';
import { StoreError } from '../store/store-error.ts';
import { type BackedUp, backUpStore, restoreStore, writeBackup } from '../store/store-file.ts';
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

const MOVING = `To move to PostgreSQL, or back: stop the controller, back up, change "store" in the settings, restore, and start. Everything
that is recorded goes along, and nothing is made twice.`;

/** Adds the commands. Exit code 0: done; 3: could not run, and nothing was changed. */
export function addStoreCommand(program: Command): void {
  const store = program.command('store').description('back up and restore what the controller has recorded');
  withOptions(store.command('backup'))
    .description('write the recorded state to a file, also while it runs')
    .argument('[target]', 'a new file, or a folder for it', '.')
    .addHelpText('after', '\nThe file holds no key and no password, but whatever stands in properties and outputs.')
    .action(async (target: string, options: Options) => await backUp(target, options));
  withOptions(store.command('restore'))
    .description('replace the recorded state; stop the controller first')
    .argument('<backup>', 'a file of treeline store backup, of either kind of store')
    .option('--force', 'also over a store with rows, which are kept aside')
    .addHelpText('after', `\nRun it as the user that the controller runs as.\n\n${MOVING}`)
    .action(
      async (backup: string, options: RestoreCommandOptions) => await restore(fromUserDirectory(backup), options),
    );
}

function withOptions(command: Command): Command {
  return command.requiredOption('--config <file>', "the operator's settings, treeline.yaml").addOption(formatOption());
}

async function backUp(target: string, { config, format }: Options): Promise<void> {
  const settings = await readStoreSettings(config);
  const file = await fileFor(target, settings);
  const { document, bytes } = await expecting([StoreError], () => writeStore(settings.store, file));
  const text = `backed up ${describe(document)}\nto ${file} (${countOf(bytes, 'byte')})`;
  printAs(format, { file, bytes, ...factsOf(document) }, () => text);
}

async function restore(backup: string, { config, format, force = false }: RestoreCommandOptions): Promise<void> {
  const { store, execution } = await readStoreSettings(config);
  const { directory } = store;
  const now = Date.now();
  const lost = { reason: 'the store was restored from a backup', now, runsMs: longestActionMs(execution) };
  const renew = (rows: Parameters<typeof recoverRows>[0]) => recoverRows(rows, lost);
  const options = { force, now, renew };
  const { document, former, place } = await expecting([StoreError], async () => {
    if (store.kind === 'lowdb') {
      const restored = await restoreStore(directory, backup, options);
      forgetSeen(directory);
      return { ...restored, place: directory };
    }
    const database = await readDatabaseSettings(store);
    const restored = await restoreDatabase(database, backup, { ...options, directory, progress: tellProgress });
    forgetSeen(directory);
    return { ...restored, place: databaseName(database) };
  });
  const kept = store.kind === 'lowdb' ? 'the former files are in' : 'the former rows are in the backup';
  const aside = former === null ? '' : `\n${kept} ${former}`;
  const text = `restored ${describe(document)}\nto ${place}${aside}`;
  printAs(format, { directory, former, ...factsOf(document) }, () => text);
}

/** Writes a backup of either kind of store. */
async function writeStore(store: Settings['store'], file: string): Promise<BackedUp> {
  if (store.kind === 'lowdb') return await backUpStore(store.directory, file);
  const database = await readDatabaseSettings(store);
  tellProgress(`reading ${databaseName(database)}`);
  return await writeBackup(await readDatabase(database), file);
}

function databaseName({ url, ca }: DatabaseOptions): string {
  return nameOf(readDatabaseUrl(url, ca !== undefined).address);
}

/** Only for a person who looks on. */
function tellProgress(step: string): void {
  if (process.stderr.isTTY) process.stderr.write(`treeline: ${step}\n`);
}

async function readStoreSettings(config: string): Promise<Settings> {
  return await expecting([SettingsError], () => loadSettings(fromUserDirectory(config)));
}

/** A folder gets a file whose name tells controller and time, so that names sort by age and never meet. */
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
