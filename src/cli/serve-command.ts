// `treeline serve`: runs the controller until it is told to stop.
import type { Command } from 'commander';
import { TlsFilesError } from '../api/tls/tls-files.ts';
import { SecretFileError } from '../api/webhook/secret-file.ts';
import { createLog } from '../base/log.ts';
import { type Controller, startController } from '../compose.ts';
import { LeftoverError } from '../programs/program-runner.ts';
import { SourceError } from '../repository/source.ts';
import { loadSettings, SettingsError } from '../settings/load-settings.ts';
import { StoreError } from '../store/store-error.ts';
import { expecting } from './command-failure.ts';
import { limitHeapGrowth } from './limit-heap-growth.ts';
import { runUntilSignalled } from './run-until-signalled.ts';
import { fromUserDirectory } from './user-directory.ts';

/** Adds the command. Exit code 0: stopped cleanly; 3: could not run. */
export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('run the controller')
    .requiredOption('--config <file>', "the operator's settings, treeline.yaml")
    .addHelpText('after', '\nSIGTERM or SIGINT stops it cleanly; a second one, a second later, at once.')
    .action(async ({ config }: { readonly config: string }) => {
      limitHeapGrowth();
      const settings = await expecting([SettingsError], () => loadSettings(fromUserDirectory(config)));
      const log = createLog(settings.log.level);
      let controller: Controller | undefined;
      // From before the start, since the signal ends a process that does not take it.
      if (settings.audit !== null) process.on('SIGHUP', () => controller?.reopenAudit());
      controller = await expecting([SourceError, StoreError, TlsFilesError, SecretFileError, LeftoverError], () =>
        startController(settings, { log }),
      );
      await runUntilSignalled(controller, log);
    });
}
