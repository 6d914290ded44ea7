// `treeline serve`: runs the controller until a signal, or checks its settings.
import { setFlagsFromString } from 'node:v8';
import type { Command } from 'commander';
import { TlsFilesError } from '../api/tls/tls-files.ts';
import { createLog } from '../base/log.ts';
import { SecretFileError } from '../base/secrets.ts';
import { type Controller, startController } from '../compose.ts';
import { SourceError } from '../repository/source.ts';
import { loadSettings, SettingsError } from '../settings/load-settings.ts';
import { StoreError } from '../store/store-error.ts';
import { checkSettings } from './check-settings.ts';
import { CommandFailure, EXIT_TRY_AGAIN } from './command-failure.ts';
import { printSettingsProblems } from './format-problem.ts';
import { EXIT_CODES_HELP, runUntilSignalled, serving } from './run-until-signalled.ts';
import { fromUserDirectory } from './user-directory.ts';

interface Options {
  readonly config: string;
  readonly check?: true;
  readonly acceptHistory?: string;
}

/**
 * Adds the command. Exit code 0: stopped cleanly; 1: --check found errors; 3: an operator has to correct something; 4:
 * another start may succeed.
 */
export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('run the controller')
    .requiredOption('--config <file>', "the operator's settings, treeline.yaml")
    .option('--check', 'check the settings and all they name, and start nothing')
    .option('--accept-history <commit>', 'accept this commit if no registered client can')
    .addHelpText(
      'after',
      `\nSIGTERM or SIGINT stops it cleanly; a second one, a second later, immediately.\n${EXIT_CODES_HELP}\nWith ` +
        '--check: 0: right (warnings allowed), 1: errors, 3: could not run.',
    )
    .action(async ({ config, check, acceptHistory }: Options) => {
      if (check) return await printSettingsProblems(config, checkSettings);
      setFlagsFromString(HEAP_GROWTH);
      await serving(FINAL, () => serve(config, acceptHistory));
    });
}

/** By default, V8 lets a heap grow to about four times what is in use. ARCHITECTURE.md, "Memory". */
const HEAP_GROWTH = '--heap-growing-percent=30';

const FINAL = [SettingsError, SourceError, StoreError, TlsFilesError, SecretFileError];

async function serve(config: string, acceptedHistory: string | undefined): Promise<void> {
  const settings = { ...(await loadSettings(fromUserDirectory(config))), acceptedHistory };
  const log = createLog(settings.log.level);
  let controller: Controller | undefined;
  // Registered before the start, because the signal would end a process without a handler.
  if (settings.audit !== null) process.on('SIGHUP', () => controller?.reopenAudit());
  controller = await startController(settings, { log });
  if (!(await runUntilSignalled(controller, log))) return;
  const message = 'this replica has lost the lease; a supervisor restarts it as a standby';
  throw new CommandFailure(message, { exitCode: EXIT_TRY_AGAIN });
}
