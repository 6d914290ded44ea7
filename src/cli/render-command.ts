// `treeline render`: writes files of a machine from templates and the record of its node, once or as a service.
import type { Command } from 'commander';
import { ControllerClient } from '../agents/controller-client.ts';
import { loadRenderSettings, type RenderSettings } from '../agents/render/load-render-settings.ts';
import { ManagedFileError } from '../agents/render/managed-file.ts';
import { TemplateError } from '../agents/render/render-template.ts';
import { findChanges, Renderer, type RendererOptions } from '../agents/render/renderer.ts';
import { systemClock } from '../base/clock.ts';
import { createLog } from '../base/log.ts';
import { visible } from '../base/wording.ts';
import { LeftoverError } from '../programs/program-runner.ts';
import { SettingsError } from '../settings/load-settings.ts';
import { warnOfOpenFiles } from '../settings/secret-files.ts';
import { StoreError } from '../store/store-error.ts';
import { CommandFailure, EXIT_PROBLEMS, expecting } from './command-failure.ts';
import { describeControllerFailure, readCredentials } from './connection-failure.ts';
import { print } from './output.ts';
import { runUntilSignalled } from './run-until-signalled.ts';
import { fromUserDirectory } from './user-directory.ts';

/** The options of the command line. */
interface Options {
  readonly config: string;
  readonly once?: true;
  readonly noop?: true;
  readonly stopWithInput?: true;
}

/**
 * Adds the command. Exit code 0: done, or stopped cleanly; 1: not all is as the current record says; 3: could not run.
 */
export function addRenderCommand(program: Command): void {
  program
    .command('render')
    .description('write files of this machine from the record of its node')
    .requiredOption('--config <file>', 'its settings: the controller, the node, templates and files')
    .option('--once', 'correct the files once, and end')
    .option('--noop', 'print which files differ, and change nothing')
    .option('--stop-with-input', 'also stop when standard input ends')
    .addHelpText(
      'after',
      '\nExit code of --once and --noop: 0 the files are as the record says, 1 they are not or the record ' +
        'is an earlier one,\n3 could not run.' +
        '\nSIGTERM or SIGINT stops the service cleanly: it waits for a running command. A second one, a ' +
        'second later, stops it immediately.',
    )
    .action(render);
}

async function render({ config, once, noop, stopWithInput }: Options): Promise<void> {
  const settings = await expecting([SettingsError], () => loadRenderSettings(fromUserDirectory(config)));
  const { tls } = settings;
  await readCredentials(tls, '');
  const log = createLog(settings.log.level);
  await warnOfOpenFiles(log, [{ setting: 'key', path: tls.key, isSecret: true }]);
  const describe = (error: Error): string => describeControllerFailure(error, tls);
  const options = { log, clock: systemClock, describe };
  if (noop) return await printChanges(settings, options);
  const renderer = await expecting([StoreError, LeftoverError], () => Renderer.open(settings, options));
  if (once) return await renderOnce(renderer);
  renderer.start();
  await runUntilSignalled(renderer, log, stopWithInput);
}

/** Keeps no state, confirms nothing, and takes no lock. */
async function printChanges(settings: RenderSettings, { describe }: RendererOptions): Promise<void> {
  const client = new ControllerClient(settings);
  const reading = client.read({ path: `/hiera/${encodeURIComponent(settings.node)}/` }, undefined);
  const record = await reading.catch(describe).finally(() => client.close());
  if (typeof record === 'string') throw new CommandFailure(record);
  const changes = await expecting([TemplateError, ManagedFileError], () => findChanges(settings, record?.body ?? {}));
  for (const { path, run } of changes.keys()) print(`would write ${path}${run === null ? '' : `, and run ${run[0]}`}`);
  if (changes.size > 0) process.exitCode = EXIT_PROBLEMS;
}

async function renderOnce(renderer: Renderer): Promise<void> {
  const { unanswered, failed, isIdle } = await renderer.pass(0);
  await renderer.stop();
  if (isIdle) throw new CommandFailure(`there is no record, not even an earlier one: ${unanswered}`);
  const reasons = [unanswered, failed].filter((reason) => reason !== null);
  for (const reason of reasons) process.stderr.write(`treeline: ${visible(reason)}\n`);
  if (reasons.length > 0) process.exitCode = EXIT_PROBLEMS;
}
