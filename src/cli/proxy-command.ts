// `treeline proxy`: carries out the actions of a controller at a remote site, or checks the settings of the proxy.
import type { Command } from 'commander';
import { loadProxySettings } from '../agents/load-proxy-settings.ts';
import { startProxy } from '../agents/start-proxy.ts';
import { createLog } from '../base/log.ts';
import type { Problem } from '../model/problem.ts';
import { SettingsError } from '../settings/load-settings.ts';
import { warnOfOpenFiles } from '../settings/secret-files.ts';
import { StoreError } from '../store/store-error.ts';
import { CommandFailure } from './command-failure.ts';
import { describeControllerFailure, faultOfClient, readCredentials } from './connection-failure.ts';
import { printSettingsProblems } from './format-problem.ts';
import { EXIT_CODES_HELP, runUntilSignalled, serving } from './run-until-signalled.ts';
import { fromUserDirectory } from './user-directory.ts';

/**
 * Adds the command. Exit code 0: stopped cleanly, or checked without a mistake; 1: mistakes; 3: an operator has to
 * correct something; 4: another start may succeed.
 */
export function addProxyCommand(program: Command): void {
  program
    .command('proxy')
    .description('run the programs of providers at a remote site')
    .requiredOption('--config <file>', 'the settings of the proxy')
    .option('--check', 'check the settings and all they name, and start nothing')
    .option('--stop-with-input', 'also stop when standard input ends')
    .addHelpText(
      'after',
      `\nSIGTERM or SIGINT stops it cleanly: it claims no more actions, and waits for running ones. A ` +
        `second one, a second later, stops it immediately.\n${EXIT_CODES_HELP}\nWith --check: 0: right, 1: errors, ` +
        '3: could not run.',
    )
    .action(async ({ config, check, stopWithInput }: ProxyOptions) => {
      if (check) return await printSettingsProblems(config, checkProxySettings);
      await serving([SettingsError, StoreError], () => runProxy(config, stopWithInput));
    });
}

interface ProxyOptions {
  readonly config: string;
  readonly check?: true;
  readonly stopWithInput?: true;
}

async function runProxy(config: string, stopWithInput?: true): Promise<void> {
  const settings = await loadProxySettings(fromUserDirectory(config));
  await readCredentials(settings.tls, 'tls.');
  const log = createLog(settings.log.level);
  const { tls } = settings;
  await warnOfOpenFiles(log, [{ setting: 'tls.key', path: tls.key, isSecret: true }]);
  const describe = (error: Error): string => describeControllerFailure(error, tls);
  const running = await startProxy(settings, { log, describe });
  await runUntilSignalled(running, log, stopWithInput);
}

/** Throws SettingsError for an invalid file, and CommandFailure for a certificate that no controller accepts. */
async function checkProxySettings(path: string): Promise<readonly Problem[]> {
  const { tls } = await loadProxySettings(path);
  await readCredentials(tls, 'tls.');
  const fault = faultOfClient(tls.cert);
  if (fault !== undefined) throw new CommandFailure(fault);
  return [];
}
