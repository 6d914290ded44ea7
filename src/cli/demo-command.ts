// `treeline demo`, also `npm start`: creates everything for a first look in one folder, and runs a controller on it.
import { createWriteStream } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { TlsFilesError } from '../api/tls/tls-files.ts';
import { startController } from '../compose.ts';
import { SettingsError } from '../load-settings.ts';
import { createLog } from '../log.ts';
import type { Settings } from '../settings.ts';
import { lockDirectory } from '../store/lock.ts';
import { StoreError } from '../store/store-error.ts';
import { CommandFailure, expecting } from './command-failure.ts';
import { type DemoCredentials, ensureCredentials } from './demo/credentials.ts';
import { DEMO_FOLDER } from './demo/find-demo.ts';
import { instructions } from './demo/instructions.ts';
import { hasProxy, proxyFolderIn, startLabProxy, updateProxySettings } from './demo/lab-proxy.ts';
import { ensureLocalServerProgram, type LocalServers, writeLocalServerProgram } from './demo/local-servers.ts';
import { watchUntilDone } from './demo/progress.ts';
import { ensureSettings, moveTakenPorts, settingsFileIn } from './demo/settings-file.ts';
import { ensureRepository } from './demo/stacks-repository.ts';
import { startOnFreePorts } from './demo/start-on-free-ports.ts';
import { print } from './output.ts';
import { runUntilSignalled } from './run-until-signalled.ts';
import { fromUserDirectory } from './user-directory.ts';

/** A place that has servers, with a program of its own. */
interface Site {
  readonly folder: string;
  readonly servers: LocalServers;
}

const RUNS_ALREADY = 'The demo runs here already: use it, or stop it with Ctrl-C; --dir starts another one elsewhere.';

/** Adds the command. Exit code 0: stopped cleanly; 3: could not run. */
export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description('make certificates and a sample repository, and run a controller on them; a second start goes on')
    .option('--dir <directory>', 'where everything is kept', DEMO_FOLDER)
    .addHelpText(
      'after',
      '\nCtrl-C stops it cleanly, with its servers: processes of this machine. Nothing outside the directory is touched.',
    )
    .action(async ({ dir }: { readonly dir: string }) => {
      if (dir === '') throw new CommandFailure('--dir is empty: name a folder, or leave it out');
      await runDemo(fromUserDirectory(dir));
    });
}

async function runDemo(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await ensureLocalServerProgram(folder);
  const wanted = await settingsOf(folder);
  await closeState(wanted.store.directory);
  const repository = join(folder, 'stacks.git');
  const credentials = await ensureCredentials(join(folder, 'pki'), Date.now());
  await ensureRepository(repository, credentials.clients);
  const logFile = join(folder, 'treeline.log');
  const log = createLog(wanted.log.level, createWriteStream(logFile));
  let settings = wanted;
  // As late as possible: another program may take a port that is free now.
  const { controller, sites } = await startOnFreePorts({
    prepare: async () => {
      settings = await withFreePorts(folder, settings);
      return writeSites(folder, credentials, `https://localhost:${settings.api.port}`);
    },
    start: async (places) => {
      for (const { servers } of places) await servers.start();
      const started = await expecting([StoreError, TlsFilesError], () => startController(settings, { log }));
      return { controller: started, sites: places };
    },
  });
  const proxy = hasProxy(folder) ? await startLabProxy(folder, log) : undefined;
  const stop = async (): Promise<void> => {
    // First, so that the controller still gets its reports.
    await proxy?.stop();
    await controller.stop();
    for (const { servers } of sites) await servers.stop();
  };
  const running = runUntilSignalled({ stop }, log);
  await Promise.race([running, watchUntilDone(controller, print)]);
  const shown = await Promise.all(sites.map(async (site) => ({ ...site, servers: await site.servers.list() })));
  const places = { folder, repository, log: logFile, credentials, sites: shown };
  print(`\n${await instructions(controller, places, fromUserDirectory('.'))}`);
  await running;
}

/** Writes the programs of all places that have servers: that of the controller, and that of the proxy where there is one. */
async function writeSites(demo: string, credentials: DemoCredentials, url: string): Promise<readonly Site[]> {
  const folders = hasProxy(demo) ? [demo, proxyFolderIn(demo)] : [demo];
  if (hasProxy(demo)) await updateProxySettings(demo, url);
  return await Promise.all(
    folders.map(async (folder) => ({ folder, servers: await writeLocalServerProgram(folder, credentials, url) })),
  );
}

/** Returns the settings. Throws CommandFailure where a demo runs here already. */
async function settingsOf(folder: string): Promise<Settings> {
  const settings = await expecting([SettingsError], () => ensureSettings(folder));
  const { directory } = settings.store;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await expecting([StoreError], async () => lockDirectory(directory, RUNS_ALREADY)[Symbol.dispose]());
  return settings;
}

/** Returns the settings with ports that are free, and says which ports were not. */
async function withFreePorts(folder: string, settings: Settings): Promise<Settings> {
  const moved = await moveTakenPorts(folder, settings);
  for (const { listener, from, to } of moved) {
    print(
      `Port ${from} is taken by another program: ${listener}.port is ${to} from now on, in ${settingsFileIn(folder)}`,
    );
  }
  return moved.length === 0 ? settings : await expecting([SettingsError], () => ensureSettings(folder));
}

/** The demo made this directory itself, perhaps in a version that left it open to others. */
async function closeState(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await chmod(directory, 0o700);
}
