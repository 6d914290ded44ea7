// Writes the demo's treeline.yaml once, and finds the demo of a folder by it, so that commands can use it without options.
// Once it is written, the file belongs to the user.
import { existsSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { isMap } from '../../model/json.ts';
import type { Settings } from '../../model/settings.ts';
import { loadSettings, SettingsError } from '../../settings/load-settings.ts';
import { CommandFailure } from '../command-failure.ts';
import { filesOf } from '../credential-files.ts';
import { changeSettings } from './change-settings.ts';
import { LAB_PROXY, RENDERED_SERVER, writeProgram } from './demo-program.ts';
import { canRunLocalServers } from './local-servers.ts';

const LOCAL = `  # Servers are processes of this machine. Those of the location lab match no entry below, so they are left to the proxy
  # whose settings are lab/proxy.yaml.
  proxied: { timeoutSeconds: 60, checkSeconds: 10, drift: heal }
  providers:
    # ./local-server, which the demo writes, runs the program that makes servers.
${localEntry('frankfurt')}${localEntry('amsterdam')}`;
const SIMULATED = `  providers:
    # Nothing real is made: servers are simulated, and remembered in state/simulated-demo.sqlite.
    - { name: demo, provider: simulated, options: { createMs: 400, updateMs: 300, deleteMs: 200 } }
`;

const TEXT = `# The demo's settings, as "treeline serve --config" reads them. Paths are relative to this file.
id: demo
api:
  host: 127.0.0.1
  port: 8443
  # A proxy reads what belongs to servers with its tags, unless its client file says otherwise.
  proxyReads: site
  tls: { key: pki/server.key, cert: pki/server.crt, clientCa: pki/ca.crt }
management: { host: 127.0.0.1, port: 9080, dashboard: true }
repository:
  url: stacks.git
  branch: main
  pollSeconds: 30
store: { kind: lowdb, directory: state }
execution:
`;

/** A port of the settings that another program has, and the one that stands in the file instead from now on. */
interface MovedPort {
  readonly listener: 'api' | 'management';
  readonly from: number;
  readonly to: number;
}

/** Returns where the demo's settings are. */
export function settingsFileIn(folder: string): string {
  return join(folder, 'treeline.yaml');
}

/** Returns the demo's settings; their file is written where it is missing. Throws SettingsError where it is wrong. */
export async function ensureSettings(folder: string): Promise<Settings> {
  const file = settingsFileIn(folder);
  if (!existsSync(file)) {
    const isLocal = canRunLocalServers();
    // First: a demo whose start was interrupted between the two has the file that is written last, or writes both again.
    if (isLocal) await writeProgram(folder, LAB_PROXY);
    await writeProgram(folder, RENDERED_SERVER);
    await writeFile(file, TEXT + (isLocal ? LOCAL : SIMULATED));
  }
  return await loadSettings(file);
}

function localEntry(location: string): string {
  return `    - name: ${location}
      match: { properties: { location: ${location} } }
      provider: exec
      command: [./local-server]
      timeoutSeconds: 60
      checkSeconds: 10
      drift: heal
`;
}

/**
 * Replaces ports that other programs have by free ones, in the file, so that the next start uses them again. Returns which.
 * Throws CommandFailure where the file is written in a way that cannot be edited.
 */
export async function moveTakenPorts(folder: string, settings: Settings): Promise<readonly MovedPort[]> {
  const moved: MovedPort[] = [];
  for (const listener of ['api', 'management'] as const) {
    const { host, port } = settings[listener];
    if (await isFree(host, port)) continue;
    moved.push({ listener, from: port, to: await freePort(host) });
  }
  if (moved.length > 0) await writePorts(settingsFileIn(folder), moved);
  return moved;
}

async function writePorts(file: string, moved: readonly MovedPort[]): Promise<void> {
  await changeSettings(file, (written) => {
    const sections = moved.map(({ listener, to }) => {
      const section = written[listener];
      return [listener, { ...(isMap(section) ? section : {}), port: to }];
    });
    return { ...written, ...Object.fromEntries(sections) };
  });
}

async function isFree(host: string, port: number): Promise<boolean> {
  return (await tryPort(host, port)) !== undefined;
}

async function freePort(host: string): Promise<number> {
  const port = await tryPort(host, 0);
  if (port === undefined) throw new CommandFailure(`no free port was found on ${host}`);
  return port;
}

/** Listens for a moment. Returns the port, or undefined where another program has it. */
async function tryPort(host: string, port: number): Promise<number | undefined> {
  const probe = createServer();
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  probe.once('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EADDRINUSE') resolve(undefined);
    else reject(error);
  });
  probe.listen(port, host, () => {
    const address = probe.address();
    probe.close(() => resolve(typeof address === 'object' ? address?.port : undefined));
  });
  return await promise;
}

/** The folder in which `treeline demo` keeps everything, unless told otherwise. */
export const DEMO_FOLDER = '.treeline';

/** The address of the demo, and the files of its client. */
interface Demo {
  readonly server: string;
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

/**
 * Returns how to connect, as its administrator, to the demo of `folder` or of the nearest folder above that has one;
 * undefined if there is none. Above, only a demo of this user counts.
 */
export async function findDemo(folder: string): Promise<Demo | undefined> {
  for (let at = folder; ; at = dirname(at)) {
    const isTrusted = at === folder || isOwn(join(at, DEMO_FOLDER));
    const demo = isTrusted ? await demoIn(at) : undefined;
    if (demo !== undefined || at === dirname(at)) return demo;
  }
}

function isOwn(path: string): boolean {
  return existsSync(path) && statSync(path).uid === process.getuid?.();
}

async function demoIn(folder: string): Promise<Demo | undefined> {
  const demo = join(folder, DEMO_FOLDER);
  const { cert, key } = filesOf(join(demo, 'pki'), 'administrator');
  const ca = filesOf(join(demo, 'pki'), 'ca').cert;
  const port = existsSync(cert) ? await portOfDemo(settingsFileIn(demo)) : undefined;
  return port === undefined ? undefined : { server: `https://localhost:${port}`, cert, key, ca };
}

/** Settings that the user has made wrong are the demo's to report. */
async function portOfDemo(file: string): Promise<number | undefined> {
  try {
    return (await loadSettings(file)).api.port;
  } catch (error) {
    if (error instanceof SettingsError) return undefined;
    throw error;
  }
}
