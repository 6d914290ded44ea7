// `treeline demo`, also `npm start`: creates a complete example in one folder, and runs a controller on it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { TlsFilesError } from '../api/tls/tls-files.ts';
import { createLog, type Logger } from '../base/log.ts';
import { productPath } from '../base/product-files.ts';
import { type Controller, startController } from '../compose.ts';
import type { Settings } from '../model/settings.ts';
import { GitError } from '../repository/run-git.ts';
import type { Reader } from '../service/read/reader.ts';
import { loadSettings, SettingsError } from '../settings/load-settings.ts';
import { lockDirectory } from '../store/lock.ts';
import { codeOf, StoreError } from '../store/store-error.ts';
import { CommandFailure, describeSystemError, expecting } from './command-failure.ts';
import { type DemoCredentials, ensureCredentials } from './demo/credentials.ts';
import { canRunLocalServers, runLocalServers, writeLocalServerProgram } from './demo/local-servers.ts';
import {
  changePorts,
  choosePorts,
  connectionOf,
  copySettings,
  DEMO_FOLDER,
  settingsFileIn,
} from './demo/settings-file.ts';
import { ensureRepository } from './demo/stacks-repository.ts';
import { print, shellWord, wholeNumber } from './output.ts';
import { runUntilSignalled } from './run-until-signalled.ts';
import { fromUserDirectory } from './user-directory.ts';

const RUNS_ALREADY = 'The demo runs here already: use it, or stop it with Ctrl-C; --dir starts another one elsewhere.';
const PORT_MAX = 65_534;

interface DemoOptions {
  readonly dir: string;
  readonly port?: number;
}

/** Adds the command. Exit code 0: stopped cleanly; 3: could not run. */
export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description('run a controller on a sample repository, to try it')
    .option('--dir <directory>', 'the folder of the demo', DEMO_FOLDER)
    .option('--port <port>', 'the port of the REST API; the page gets the next one', wholeNumber(1, PORT_MAX))
    .addHelpText(
      'after',
      '\nCtrl-C stops the demo and its servers, which are processes of this machine. The next start ' +
        'continues.\nNothing outside the directory is touched.',
    )
    .action(async ({ dir, port }: DemoOptions) => {
      if (dir === '') throw new CommandFailure('--dir is empty: name a folder, or leave it out');
      await runDemo(fromUserDirectory(dir), port);
    });
}

async function runDemo(folder: string, port: number | undefined): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await requireStopped(join(folder, 'state'));
  const credentials = await ensureCredentials(join(folder, 'pki'), Date.now());
  await expecting([GitError], () => ensureRepository(join(folder, 'stacks.git'), credentials.clients));
  const settings = await prepareSettings(folder, credentials, port);
  const sites = await writeSites(folder, credentials, settings.api.port);
  const log = createLog(settings.log.level, createWriteStream(join(folder, 'treeline.log')));
  // Stops in reverse order, so that the controller still gets the reports of the programs.
  await using started = new AsyncDisposableStack();
  for (const site of sites) {
    started.defer(() => runLocalServers(site, 'stop'));
    await runLocalServers(site, 'start');
  }
  const controller = await startOnPorts(settings, log);
  started.defer(() => controller.stop());
  const programs = await startPrograms(folder, log);
  started.defer(async () => void (await Promise.all(programs.map((program) => program.stop()))));
  const running = runUntilSignalled({ stop: () => started.disposeAsync() }, log);
  const isStopped = await Promise.race([running.then(() => true), waitUntilSettled(controller)]);
  if (isStopped) return;
  print(instructions(settings, folder, fromUserDirectory('.')));
  await running;
}

/** Throws CommandFailure if a demo runs in this folder. */
async function requireStopped(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await expecting([StoreError], async () => lockDirectory(directory, RUNS_ALREADY)[Symbol.dispose]());
}

/** Resolves with the settings, which the first start copies. `port` replaces the ports in them. */
async function prepareSettings(
  folder: string,
  credentials: DemoCredentials,
  port: number | undefined,
): Promise<Settings> {
  const file = settingsFileIn(folder);
  if (!existsSync(file)) {
    const ports = await choosePorts();
    // Before the settings, because these name the programs.
    await writeSites(folder, credentials, ports.api);
    await copySettings(folder, ports);
  }
  const settings = await expecting([SettingsError], () => loadSettings(file));
  if (port === undefined) return settings;
  const ports = { api: settings.api.port, management: settings.management.port };
  await changePorts(folder, ports, { api: port, management: port + 1 });
  return await expecting([SettingsError], () => loadSettings(file));
}

/** Writes the provider programs, for the controller and for the proxy; none if servers are simulated. */
async function writeSites(folder: string, credentials: DemoCredentials, port: number): Promise<readonly string[]> {
  if (!canRunLocalServers()) return [];
  const lab = join(folder, LAB);
  await mkdir(lab, { recursive: true, mode: 0o700 });
  const url = `https://localhost:${port}`;
  return await Promise.all([folder, lab].map((one) => writeLocalServerProgram(one, credentials, url)));
}

async function startOnPorts(settings: Settings, log: Logger): Promise<Controller> {
  try {
    return await expecting([StoreError, TlsFilesError], () => startController(settings, { log }));
  } catch (error) {
    if (codeOf(error) !== 'EADDRINUSE') throw error;
    const command = `treeline demo --port ${settings.api.port + 1000}`;
    throw new CommandFailure(`${describeSystemError(error)}, as "${command}" does`, { cause: error });
  }
}

const POLL_MS = 200;
/** The sample needs a few seconds. A larger desired state of a user may need longer, and continues afterwards. */
const SETTLE_MS_MAX = 60_000;

/** Resolves with false when no instance is in progress, or when a minute has passed. */
async function waitUntilSettled(controller: Controller): Promise<false> {
  print('Bringing the stacks up …');
  for (let waited = 0; waited < SETTLE_MS_MAX; waited += POLL_MS) {
    if (controller.ready() === true && isSettled(controller.reader())) return false;
    // `ref: false`, so that this wait does not keep the process alive after Ctrl-C.
    await sleep(POLL_MS, undefined, { ref: false });
  }
  const ready = controller.ready();
  if (ready !== true) throw new CommandFailure(`the controller does not become ready: ${ready}`);
  return false;
}

function isSettled(reader: Reader): boolean {
  const statuses = reader.instances().map(({ name }) => reader.status(name));
  return statuses.every((status) => status !== 'In progress' && status !== 'Marked for delete');
}

/** The command for the user: neither a clone nor a package that npx runs has `treeline` in the PATH. */
const INSTALLED = process.env.npm_command === 'exec' ? 'npx treeline' : 'treeline';
const COMMAND = extname(import.meta.filename) === '.ts' ? 'npm run -s treeline --' : INSTALLED;
/** The files of the demo, because its folder may contain other files too. */
const OWN_FILES = 'pki, stacks.git, state, lab, stage-web-1, local-server* and treeline.*';

/**
 * Returns the instructions for a running demo. Their commands work in the folder `from`, in which the user started
 * it.
 */
function instructions({ api, management }: Settings, folder: string, from: string): string {
  const shown = (path: string): string => shellWord(shortest(from, join(folder, path)));
  const page = `http://${management.host}:${management.port}`;
  return [
    'Treeline is running.',
    `  REST API    https://localhost:${api.port} (mutual TLS)`,
    `  page        ${page}/ui/`,
    `  health      ${page}/readyz`,
    `  repository  ${shown('stacks.git')}`,
    `  log         ${shown('treeline.log')}`,
    ...(existsSync(join(folder, LAB))
      ? [`  servers     ${program(folder, from)} list`, `  of a proxy  ${program(join(folder, LAB), from)} list`]
      : []),
    `  a file      ${shown(RENDERED_FILE)}, by treeline render`,
    '',
    'In a second terminal, in this folder:',
    ...(folder === join(from, DEMO_FOLDER) ? [] : variables(folder, api.port)),
    `  ${COMMAND} status`,
    `  git clone ${shown('stacks.git')} my-stacks`,
    'Then change a file in my-stacks, commit and push, and ask for the status again.',
    'Commands to paste: "Quick start" in the README:',
    `  ${shortest(from, productPath('README.md'))}`,
    'Ctrl-C stops the demo; the next start continues from here.',
    `To start over, remove ${folder === from ? OWN_FILES : shellWord(shortest(from, folder))}.`,
  ].join('\n');
}

/** Returns the lines with which commands find a demo outside the default folder. */
function variables(folder: string, port: number): readonly string[] {
  const options = Object.entries(connectionOf(folder, port));
  return options.map(([name, value]) => `  export TREELINE_${name.toUpperCase()}=${shellWord(value)}`);
}

/** Returns the provider program of a folder for a shell: a path with a slash. */
function program(folder: string, from: string): string {
  const path = shortest(from, join(folder, 'local-server'));
  return shellWord(path.includes('/') ? path : `./${path}`);
}

function shortest(from: string, target: string): string {
  const path = relative(from, target);
  return path.startsWith('..') ? target : path || '.';
}

// The demo's programs in addition to the controller, each as its own process: the proxy of the location lab, and
// `treeline render` for one of the servers.

/** The folder of the proxy, and of its servers. */
const LAB = 'lab';
/** The file that the demo renders from the record of a server. */
const RENDERED_FILE = join('stage-web-1', 'shop.conf');

const PROGRAMS = [
  { command: 'proxy', folder: LAB },
  { command: 'render', folder: 'stage-web-1' },
] as const;
/** Longer than a stopping proxy waits for its actions and last reports. */
const STOP_MS = 45_000;

/** A process of the demo. */
interface RunningProgram {
  /** Resolves when the process has ended; kills it after a time limit. */
  stop(): Promise<void>;
}

/** Starts the programs with settings in the folder of a demo. The log of each is a file in its folder. */
async function startPrograms(demo: string, log: Logger): Promise<readonly RunningProgram[]> {
  const present = PROGRAMS.filter(({ command, folder }) => existsSync(join(demo, folder, `${command}.yaml`)));
  return await Promise.all(present.map(({ command, folder }) => startProgram(command, join(demo, folder), log)));
}

/**
 * Starts a program in its own process group, so that Ctrl-C reaches only the demo, which stops its programs before the
 * controller. The standard input of the program ends with the demo, even if the demo is killed, and so ends the
 * program.
 */
async function startProgram(command: string, folder: string, log: Logger): Promise<RunningProgram> {
  const cli = fileURLToPath(new URL('../cli.js', import.meta.url));
  const output = await open(join(folder, `${command}.log`), 'a', 0o600);
  const settings = join(folder, `${command}.yaml`);
  const child = spawn(process.execPath, [cli, command, '--config', settings, '--stop-with-input'], {
    cwd: folder,
    detached: true,
    stdio: ['pipe', output.fd, output.fd],
  });
  await output.close();
  let isStopping = false;
  const ended = once(child, 'exit').then(([code, signal]) => {
    if (!isStopping) log.error({ command, code, signal }, 'a program of the demo has ended: restart the demo');
  });
  return {
    async stop() {
      isStopping = true;
      child.kill('SIGTERM');
      const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await ended;
      clearTimeout(force);
    },
  };
}
