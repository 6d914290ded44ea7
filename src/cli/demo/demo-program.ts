// The programs that the demo runs beside the controller, each as a process of its own with settings of its own, as elsewhere on
// another machine: the proxy of the location lab, and `treeline render` for one of the servers.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { loadProxySettings } from '../../agents/load-proxy-settings.ts';
import { loadRenderSettings } from '../../agents/render/load-render-settings.ts';
import type { Logger } from '../../base/log.ts';
import { SettingsError } from '../../settings/load-settings.ts';
import { expecting } from '../command-failure.ts';
import { changeSettings } from './change-settings.ts';

const PROXY = `# The settings of the demo's proxy, as "treeline proxy --config" reads them. Paths are relative to this file. It looks
# after the servers that no entry of ../treeline.yaml matches and whose record has the ProxyTag "lab".
server: https://localhost:8443
tls: { cert: ../pki/lab-proxy.crt, key: ../pki/lab-proxy.key, ca: ../pki/ca.crt }
directory: state
providers:
  - { name: lab, command: [./local-server], timeoutSeconds: 60 }
`;
const RENDER = `# Settings of "treeline render --config". Paths are relative to this file. It makes a file of the record of one server.
server: https://localhost:8443
ca: ../pki/ca.crt
cert: ../pki/stage-web-1.crt
key: ../pki/stage-web-1.key
node: stage-web-1
files:
  - { template: shop.conf.liquid, path: shop.conf, mode: "0644" }
`;
const TEMPLATE = `log_level = {{ log_level | default: "info" }}
{% for peer in peers %}peer = {{ peer }}
{% endfor %}`;

/** One of them. */
interface DemoProgram {
  readonly command: 'proxy' | 'render';
  /** In the folder of the demo. */
  readonly folder: string;
  /** What is written into it, the settings last. */
  readonly files: readonly (readonly [name: string, text: string])[];
  readonly load: (file: string) => Promise<{ readonly server: string }>;
}

/** The proxy, for the location of the sample whose servers no entry of the demo's settings matches. */
export const LAB_PROXY: DemoProgram = {
  ...{ command: 'proxy', folder: 'lab', files: [['proxy.yaml', PROXY]], load: loadProxySettings },
};

/** What makes a file of the record of a server. */
export const RENDERED_SERVER: DemoProgram = {
  ...{ command: 'render', folder: 'stage-web-1', load: loadRenderSettings },
  files: [
    ['shop.conf.liquid', TEMPLATE],
    ['render.yaml', RENDER],
  ],
};

const RESTART_MS = 2_000;
/** Longer than a proxy waits by itself for what it has claimed, and for its last reports. */
const STOP_MS = 45_000;

/** A program that is started again until it is stopped. */
interface RunningProgram {
  /** Resolves once the process has ended, in the end by force. */
  stop(): Promise<void>;
}

/** Writes the settings of a program. They are what says that a demo has it: older demos do without. */
export async function writeProgram(demo: string, { folder, files }: DemoProgram): Promise<void> {
  await mkdir(join(demo, folder), { recursive: true, mode: 0o700 });
  for (const [name, text] of files) await writeFile(join(demo, folder, name), text);
}

/** Returns true if the demo has a program. */
export function hasProgram(demo: string, program: DemoProgram): boolean {
  return existsSync(settingsOf(demo, program));
}

/** Brings the controller's address in the settings of a program up to date. Throws CommandFailure where they are wrong. */
export async function updateProgram(demo: string, program: DemoProgram, url: string): Promise<void> {
  const file = settingsOf(demo, program);
  const { server } = await expecting([SettingsError], () => program.load(file));
  if (server !== url) await changeSettings(file, (written) => ({ ...written, server: url }));
}

/** Starts a program, and starts it again when it ends. Its log is a file of its folder. */
export async function startProgram(demo: string, program: DemoProgram, log: Logger): Promise<RunningProgram> {
  const stopping = new AbortController();
  let child = await launch(demo, program);
  async function keepRunning(): Promise<void> {
    for (;;) {
      const [code, signal] = await ended(child);
      if (stopping.signal.aborted) return;
      log.warn({ command: program.command, code, signal }, 'a program of the demo has ended; it is started again');
      await sleep(RESTART_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      child = await launch(demo, program);
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
 * Starts the process. A group of its own: Ctrl-C reaches the demo alone, which ends its programs before the controller. Its
 * standard input ends with the demo, however that ends, and so does the program.
 */
async function launch(demo: string, program: DemoProgram): Promise<ChildProcess> {
  const { command, folder } = program;
  const cli = fileURLToPath(new URL('../../cli.js', import.meta.url));
  const log = await open(join(demo, folder, `${command}.log`), 'a', 0o600);
  try {
    return spawn(process.execPath, [cli, command, '--config', settingsOf(demo, program), '--stop-with-input'], {
      cwd: join(demo, folder),
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

function settingsOf(demo: string, { command, folder }: DemoProgram): string {
  return join(demo, folder, `${command}.yaml`);
}
