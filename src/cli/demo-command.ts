// `treeline demo`, which is also `npm start`: everything a first look needs, made in one folder, and a controller on it.
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { TlsFilesError } from '../api/tls/tls-files.ts';
import { startController } from '../compose.ts';
import { SettingsError } from '../load-settings.ts';
import { createLog } from '../log.ts';
import { StoreError } from '../store/store-error.ts';
import { expecting } from './command-failure.ts';
import { ensureCredentials } from './demo/credentials.ts';
import { instructions } from './demo/instructions.ts';
import { watchUntilDone } from './demo/progress.ts';
import { ensureSettings } from './demo/settings-file.ts';
import { ensureRepository } from './demo/stacks-repository.ts';
import { print } from './output.ts';
import { runUntilSignalled } from './run-until-signalled.ts';
import { fromUserDirectory } from './user-directory.ts';

/** Adds the command. Exit code 0: stopped cleanly; 3: could not run. */
export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description('make certificates and a sample repository, and run a controller on them; a second start goes on')
    .option('--dir <directory>', 'where everything is kept', '.treeline')
    .addHelpText('after', '\nCtrl-C stops it cleanly. Nothing outside the directory is touched.')
    .action(async ({ dir }: { readonly dir: string }) => {
      await runDemo(fromUserDirectory(dir));
    });
}

async function runDemo(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const repository = join(folder, 'stacks.git');
  const credentials = await ensureCredentials(join(folder, 'pki'), Date.now());
  await ensureRepository(repository, credentials.clients);
  const settings = await expecting([SettingsError], () => ensureSettings(folder));
  const logFile = join(folder, 'treeline.log');
  const log = createLog(settings.log.level, createWriteStream(logFile));
  const controller = await expecting([StoreError, TlsFilesError], () => startController(settings, { log }));
  const running = runUntilSignalled(controller, log);
  print('Bringing the stacks up:');
  await Promise.race([running, watchUntilDone(controller, print)]);
  print(`\n${instructions(controller, { folder, repository, log: logFile, credentials }, fromUserDirectory('.'))}`);
  await running;
}
