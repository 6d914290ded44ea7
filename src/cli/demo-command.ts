// `treeline demo`, also `npm start`: creates everything for a first look in one folder, and runs a controller on it.
import { createWriteStream } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { TlsFilesError } from '../api/tls/tls-files.ts';
import { createLog } from '../base/log.ts';
import { type Controller, startController } from '../compose.ts';
import type { Settings } from '../model/settings.ts';
import type { Reader } from '../service/read/reader.ts';
import { SettingsError } from '../settings/load-settings.ts';
import { lockDirectory } from '../store/lock.ts';
import { StoreError } from '../store/store-error.ts';
import { CommandFailure, expecting } from './command-failure.ts';
import { type DemoCredentials, ensureCredentials } from './demo/credentials.ts';
import { hasProgram, LAB_PROXY, RENDERED_SERVER, startProgram, updateProgram } from './demo/demo-program.ts';
import { instructions } from './demo/instructions.ts';
import { ensureLocalServerProgram, type LocalServers, writeLocalServerProgram } from './demo/local-servers.ts';
import { DEMO_FOLDER, ensureSettings, moveTakenPorts, settingsFileIn } from './demo/settings-file.ts';
import { ensureRepository } from './demo/stacks-repository.ts';
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
  const wanted = await readDemoSettings(folder);
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
  const programs = await Promise.all(programsIn(folder).map((program) => startProgram(folder, program, log)));
  const stop = async (): Promise<void> => {
    // First, so that the controller still gets their reports.
    await Promise.all(programs.map((program) => program.stop()));
    await controller.stop();
    for (const { servers } of sites) await servers.stop();
  };
  const running = runUntilSignalled({ stop }, log);
  const isStopped = await Promise.race([running.then(() => true), watchUntilDone(controller, print)]);
  if (isStopped) return;
  const shown = await Promise.all(sites.map(async (site) => ({ ...site, servers: await site.servers.list() })));
  const places = {
    folder,
    repository,
    log: logFile,
    hasPage: settings.management.dashboard,
    rendered: hasProgram(folder, RENDERED_SERVER) ? join(folder, RENDERED_SERVER.folder, 'shop.conf') : undefined,
    credentials,
    sites: shown,
  };
  print(`\n${await instructions(controller, places, fromUserDirectory('.'))}`);
  await running;
}

function programsIn(demo: string) {
  return [LAB_PROXY, RENDERED_SERVER].filter((program) => hasProgram(demo, program));
}

/** Writes the programs of all places that have servers: that of the controller, and that of the proxy where there is one. */
async function writeSites(demo: string, credentials: DemoCredentials, url: string): Promise<readonly Site[]> {
  const folders = hasProgram(demo, LAB_PROXY) ? [demo, join(demo, LAB_PROXY.folder)] : [demo];
  // Its settings name the program of its servers.
  for (const folder of folders) await ensureLocalServerProgram(folder);
  for (const program of programsIn(demo)) await updateProgram(demo, program, url);
  return await Promise.all(
    folders.map(async (folder) => ({ folder, servers: await writeLocalServerProgram(folder, credentials, url) })),
  );
}

/** Returns the settings. Throws CommandFailure where a demo runs here already. */
async function readDemoSettings(folder: string): Promise<Settings> {
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

const POLL_MS = 200;
/** The sample needs a few seconds; a desired state that a user has filled may need longer, and goes on without being watched. */
const WATCH_MS_MAX = 60_000;

/**
 * Resolves with false when every instance is done or waits for an operator only, or when a minute has passed. Prints
 * nothing if all is up from the beginning.
 */
async function watchUntilDone(controller: Controller, print: (line: string) => void): Promise<false> {
  const told = new Map<string, string>();
  for (let waited = 0; waited < WATCH_MS_MAX; waited += POLL_MS) {
    const ready = controller.ready();
    if (ready === true && tellAll(controller.reader, told, print)) return false;
    await sleep(POLL_MS);
  }
  const ready = controller.ready();
  if (ready !== true) throw new CommandFailure(`the controller does not get ready: ${ready}`);
  return false;
}

/** Prints every status that is new, and returns true where nothing is in progress. */
function tellAll(reader: Reader, told: Map<string, string>, print: (line: string) => void): boolean {
  const statuses = reader.instances().map(({ name }) => [name, reader.status(name)] as const);
  const isOver = statuses.every(([, status]) => status !== 'In progress' && status !== 'Marked for delete');
  if (told.size === 0 && isOver) return true;
  if (told.size === 0) print('Bringing the stacks up:');
  for (const [name, status] of statuses) {
    if (told.get(name) !== status) print(`  ${name}: ${status}`);
    told.set(name, status);
  }
  return isOver;
}

const TRIES_MAX = 3;

/** How a start is prepared, and what it is. */
interface FreePortStart<Prepared, Started> {
  /** Searches for free ports, and tells everything that has to know them. */
  readonly prepare: () => Promise<Prepared>;
  /** Throws an error with the code EADDRINUSE if a port is taken; then nothing of it may be left. */
  readonly start: (prepared: Prepared) => Promise<Started>;
}

/** Returns what was started. Prepares again and tries again where a port was taken meanwhile, at most three times in all. */
export async function startOnFreePorts<Prepared, Started>({
  prepare,
  start,
}: FreePortStart<Prepared, Started>): Promise<Started> {
  for (let count = 1; ; count++) {
    const prepared = await prepare();
    try {
      return await start(prepared);
    } catch (error) {
      const isInUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
      if (!isInUse || count === TRIES_MAX) throw error;
    }
  }
}
