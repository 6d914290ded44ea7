// `treeline render`: makes files of a machine from templates and the record of its node, once or as a service.
import type { Command } from 'commander';
import { loadRenderSettings } from '../agents/render/load-render-settings.ts';
import { Renderer } from '../agents/render/renderer.ts';
import { systemClock } from '../base/clock.ts';
import { createLog } from '../base/log.ts';
import { LeftoverError } from '../programs/program-runner.ts';
import { SettingsError } from '../settings/load-settings.ts';
import { warnOfOpenFiles } from '../settings/secret-files.ts';
import { StoreError } from '../store/store-error.ts';
import { CommandFailure, EXIT_PROBLEMS, expecting } from './command-failure.ts';
import { checkServerFiles, describeControllerFailure } from './connection-failure.ts';
import { runUntilSignalled, stopWhenInputEnds } from './run-until-signalled.ts';
import { fromUserDirectory } from './user-directory.ts';

/** As the command line gives them. */
interface Options {
  readonly config: string;
  readonly once?: true;
  readonly stopWithInput?: true;
}

/** Adds the command. Exit code 0: done, or stopped cleanly; 1: not all is as the present record says; 3: could not run. */
export function addRenderCommand(program: Command): void {
  program
    .command('render')
    .description('make files of this machine from templates and the record of its node')
    .requiredOption('--config <file>', 'its settings: the controller, the node, templates and files')
    .option('--once', 'make the files right once, and end; without it, go on and follow the record')
    .option(
      '--stop-with-input',
      'also stop when standard input ends: for a program that starts this, and may be killed',
    )
    .addHelpText(
      'after',
      '\nExit code of --once: 0 the files are as the record says, 1 they are not or the record is an earlier one, 3 could not run.' +
        '\nSIGTERM or SIGINT stops the service cleanly: a command that runs may end. A second one, a second later, at once.',
    )
    .action(render);
}

async function render({ config, once, stopWithInput }: Options): Promise<void> {
  const settings = await expecting([SettingsError], () => loadRenderSettings(fromUserDirectory(config)));
  const { tls } = settings;
  await checkServerFiles(tls, '');
  const log = createLog(settings.log.level);
  await warnOfOpenFiles(log, { secrets: [{ setting: 'key', path: tls.key }], providers: [] });
  const describe = (error: Error): string => describeControllerFailure(error, tls, { server: 'server', ca: 'ca' });
  const renderer = await expecting([StoreError, LeftoverError], () =>
    Renderer.open(settings, { log, clock: systemClock, describe }),
  );
  if (once) {
    await renderOnce(renderer);
    return;
  }
  renderer.start();
  if (stopWithInput) stopWhenInputEnds();
  await runUntilSignalled(renderer, log);
  // It would keep the process alive.
  if (stopWithInput) process.stdin.destroy();
}

async function renderOnce(renderer: Renderer): Promise<void> {
  const { unanswered, failed, isIdle } = await renderer.pass(0);
  await renderer.stop();
  if (isIdle) throw new CommandFailure(`there is no record, and none of an earlier time: ${unanswered}`);
  const reasons = [unanswered, failed].filter((reason) => reason !== null);
  for (const reason of reasons) process.stderr.write(`treeline: ${reason}\n`);
  if (reasons.length > 0) process.exitCode = EXIT_PROBLEMS;
}
