// Runs the proxy of the demo: a `treeline proxy` for the servers of the location lab, as a process of its own, which looks
// after them as it would at a remote site.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { loadProxySettings } from '../../agents/load-proxy-settings.ts';
import type { Logger } from '../../base/log.ts';
import { SettingsError } from '../../settings/load-settings.ts';
import { expecting } from '../command-failure.ts';
import { changeSettings } from './change-settings.ts';
import { ensureLocalServerProgram } from './local-servers.ts';

/** The location of the sample whose servers no entry of the demo's settings matches, and its folder in the demo. */
export const PROXIED_LOCATION = 'lab';

const TEXT = `# The settings of the demo's proxy, as "treeline proxy --config" reads them. Paths are relative to this file. It looks
# after the servers that no entry of ../treeline.yaml matches and whose record has the ProxyTag "lab".
server: https://localhost:8443
tls: { cert: ../pki/lab-proxy.crt, key: ../pki/lab-proxy.key, ca: ../pki/ca.crt }
directory: state
providers:
  - { name: lab, command: [./local-server], timeoutSeconds: 60 }
`;
const RESTART_MS = 2_000;
/** Longer than the proxy waits by itself for what it has claimed, and for its last reports. */
const STOP_MS = 45_000;

/** A proxy that is started again until it is stopped. */
interface RunningProxy {
  /** Resolves once the process has ended, in the end by force. */
  stop(): Promise<void>;
}

/** Returns the folder of the proxy. */
export function proxyFolderIn(demo: string): string {
  return join(demo, PROXIED_LOCATION);
}

/** Writes the settings of the proxy. They are what says that a demo has one: older demos do without. */
export async function writeProxySettings(demo: string): Promise<void> {
  const folder = proxyFolderIn(demo);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(fileIn(folder), TEXT);
}

/** Returns true if the demo has a proxy. */
export function hasProxy(demo: string): boolean {
  return existsSync(fileIn(proxyFolderIn(demo)));
}

/** Brings the controller's address in the proxy's settings up to date. Throws CommandFailure where they are wrong. */
export async function updateProxySettings(demo: string, url: string): Promise<void> {
  const folder = proxyFolderIn(demo);
  await ensureLocalServerProgram(folder);
  const { server } = await expecting([SettingsError], () => loadProxySettings(fileIn(folder)));
  if (server !== url) await changeSettings(fileIn(folder), (written) => ({ ...written, server: url }));
}

/** Starts the proxy, and starts it again when it ends. Its log is a file of its folder. */
export async function startLabProxy(demo: string, log: Logger): Promise<RunningProxy> {
  const folder = proxyFolderIn(demo);
  const stopping = new AbortController();
  let child = await launch(folder);
  async function keepRunning(): Promise<void> {
    for (;;) {
      const [code, signal] = await ended(child);
      if (stopping.signal.aborted) return;
      log.warn({ code, signal }, 'the proxy of the demo has ended; it is started again');
      await sleep(RESTART_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      child = await launch(folder);
    }
  }
  const running = keepRunning();
  return {
    async stop() {
      stopping.abort();
      child.kill('SIGTERM');
      const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await running;
      clearTimeout(force);
    },
  };
}

/**
 * Starts the process. A group of its own: Ctrl-C reaches the demo alone, which ends the proxy before the controller. Its
 * standard input ends with the demo, however that ends, and so does the proxy.
 */
async function launch(folder: string): Promise<ChildProcess> {
  const cli = fileURLToPath(new URL('../../cli.js', import.meta.url));
  const log = await open(join(folder, 'proxy.log'), 'a', 0o600);
  try {
    return spawn(process.execPath, [cli, 'proxy', '--config', fileIn(folder), '--stop-with-input'], {
      cwd: folder,
      detached: true,
      stdio: ['pipe', log.fd, log.fd],
    });
  } finally {
    await log.close();
  }
}

async function ended(child: ChildProcess): Promise<readonly [number | null, NodeJS.Signals | null]> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return [child.exitCode, child.signalCode];
}

function fileIn(folder: string): string {
  return join(folder, 'proxy.yaml');
}
