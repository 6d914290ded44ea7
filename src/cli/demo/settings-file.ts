// Copies the demo's settings from contrib/demo once, and uses them to find the demo of a folder, so that commands need
// no options. The copies belong to the user.
import { existsSync, statSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import type { ProxyTlsFiles } from '../../agents/load-proxy-settings.ts';
import { listenOn } from '../../base/listen.ts';
import { productPath } from '../../base/product-files.ts';
import { loadSettings, SettingsError } from '../../settings/load-settings.ts';
import { filesOf } from '../credential-files.ts';
import { canRunLocalServers } from './local-servers.ts';

/** The folder in which `treeline demo` keeps everything by default. */
export const DEMO_FOLDER = '.treeline';

/** The ports of the REST API and of the page. */
export interface DemoPorts {
  readonly api: number;
  readonly management: number;
}

/** The ports in the files of contrib/demo. */
const WRITTEN: DemoPorts = { api: 8443, management: 9080 };
const TEMPLATE = 'stage-web-1/shop.conf.liquid';
/** The files that contain a port, below the folder of the demo. */
const WITH_PORTS = ['lab/proxy.yaml', 'stage-web-1/render.yaml', 'treeline.yaml'];

/** Returns the path of the demo's settings. */
export function settingsFileIn(folder: string): string {
  return join(folder, 'treeline.yaml');
}

/** Returns the ports for a new demo: the usual ones, or free ones if other programs use those. */
export async function choosePorts(): Promise<DemoPorts> {
  return { api: await freePort(WRITTEN.api), management: await freePort(WRITTEN.management) };
}

async function freePort(port: number): Promise<number> {
  const probe = createServer();
  try {
    return (await listenOn(probe, { host: '127.0.0.1', port })).port;
  } catch (error) {
    if (port === 0) throw error;
    return await freePort(0);
  } finally {
    probe.close();
  }
}

/**
 * Copies the settings into the folder of a new demo. Copies the controller's last, so that an interrupted copy is
 * repeated.
 */
export async function copySettings(folder: string, ports: DemoPorts): Promise<void> {
  const isLocal = canRunLocalServers();
  for (const name of [TEMPLATE, ...WITH_PORTS]) {
    if (name.startsWith('lab/') && !isLocal) continue;
    const source = name === 'treeline.yaml' && !isLocal ? 'treeline-simulated.yaml' : name;
    const text = await readFile(productPath('contrib/demo', source), 'utf8');
    await mkdir(dirname(join(folder, name)), { recursive: true, mode: 0o700 });
    await writeFile(join(folder, name), withPorts(text, WRITTEN, ports));
  }
}

/** Replaces the ports in the settings of a demo. */
export async function changePorts(folder: string, from: DemoPorts, to: DemoPorts): Promise<void> {
  for (const file of WITH_PORTS.map((name) => join(folder, name)).filter((path) => existsSync(path))) {
    await writeFile(file, withPorts(await readFile(file, 'utf8'), from, to));
  }
}

function withPorts(text: string, from: DemoPorts, to: DemoPorts): string {
  return text.replace(/\b\d{1,5}\b/g, (number) => {
    if (number === String(from.api)) return String(to.api);
    return number === String(from.management) ? String(to.management) : number;
  });
}

/** The address of the demo, and the files of its client. */
interface Demo extends ProxyTlsFiles {
  readonly server: string;
}

/**
 * Resolves with the connection, as administrator, to the demo of `folder` or of the nearest folder above with a demo;
 * undefined if there is none. In folders above, only a demo of this user counts.
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
  const port = existsSync(connectionOf(demo, 0).cert) ? await portOfDemo(settingsFileIn(demo)) : undefined;
  return port === undefined ? undefined : connectionOf(demo, port);
}

/** Returns the connection, as administrator, to the demo in `folder`. */
export function connectionOf(folder: string, port: number): Demo {
  const pki = join(folder, 'pki');
  const { cert, key } = filesOf(pki, 'administrator');
  return { server: `https://localhost:${port}`, cert, key, ca: filesOf(pki, 'ca').cert };
}

/** Returns undefined for invalid settings, which the demo reports. */
async function portOfDemo(file: string): Promise<number | undefined> {
  try {
    return (await loadSettings(file)).api.port;
  } catch (error) {
    if (error instanceof SettingsError) return undefined;
    throw error;
  }
}
