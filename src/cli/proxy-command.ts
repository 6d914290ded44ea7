// `treeline proxy`: runs the actions that a controller leaves to proxies, at a remote site. `treeline proxy check`
// prints every mistake of its settings.
import type { Command } from 'commander';
import { loadProxySettings } from '../agents/load-proxy-settings.ts';
import { startProxy } from '../agents/start-proxy.ts';
import { createLog } from '../base/log.ts';
import { SettingsError } from '../settings/load-settings.ts';
import { warnOfOpenFiles } from '../settings/secret-files.ts';
import { StoreError } from '../store/store-error.ts';
import { CommandFailure } from './command-failure.ts';
import { describeControllerFailure, readCredentials } from './connection-failure.ts';
import { printProblems } from './format-problem.ts';
import { type Format, formatOption } from './output.ts';
import { EXIT_CODES_HELP, runUntilSignalled, serving, stopWhenInputEnds } from './run-until-signalled.ts';
import { fromUserDirectory } from './user-directory.ts';

/**
 * Adds the command. Exit code 0: stopped cleanly, or checked without a mistake; 1: mistakes; 3: an operator has to
 * correct something; 4: another start may succeed.
 */
export function addProxyCommand(program: Command): void {
  const proxy = program
    .command('proxy')
    .description('run the programs of providers at a remote site')
    .option('--config <file>', 'the settings of the proxy')
    .option('--stop-with-input', 'also stop when standard input ends')
    .addHelpText(
      'after',
      `\nSIGTERM or SIGINT stops it cleanly: it claims no more actions, and waits for running ones. A ` +
        `second one, a second later, stops it immediately.\n${EXIT_CODES_HELP}`,
    )
    .action((options: ProxyOptions) => serving([SettingsError, StoreError], () => runProxy(options)));
  proxy
    .command('check')
    .description('check the settings of a proxy and the files they name')
    .argument('<file>', 'the settings of the proxy')
    .addOption(formatOption())
    .addHelpText('after', '\nExit code 0: clean, 1: errors, 3: could not run.')
    .action(checkProxySettings);
}

interface ProxyOptions {
  readonly config?: string;
  readonly stopWithInput?: true;
}

async function runProxy({ config, stopWithInput }: ProxyOptions): Promise<void> {
  if (config === undefined) throw new CommandFailure('say where the settings of the proxy are: --config FILE');
  const settings = await loadProxySettings(fromUserDirectory(config));
  await readCredentials(settings.tls, 'tls.');
  const log = createLog(settings.log.level);
  const { tls } = settings;
  await warnOfOpenFiles(log, [{ setting: 'tls.key', path: tls.key }]);
  const describe = (error: Error): string => describeControllerFailure(error, tls);
  const running = await startProxy(settings, { log, describe });
  if (stopWithInput) stopWhenInputEnds();
  await runUntilSignalled(running, log);
  // It would keep the process alive.
  if (stopWithInput) process.stdin.destroy();
}

/** Problems name the file as the person has written it. */
async function checkProxySettings(file: string, { format }: { readonly format: Format }): Promise<void> {
  try {
    const { tls } = await loadProxySettings(fromUserDirectory(file));
    await readCredentials(tls, 'tls.');
    printProblems([], format);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    if (error.problems.length === 0) throw new CommandFailure(error.message, { cause: error });
    const problems = error.problems.map((problem) => ({ ...problem, file }));
    printProblems(problems, format);
  }
}
