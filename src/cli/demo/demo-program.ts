// The programs that the demo runs in addition to the controller, each as a process of its own: the proxy of the
// location lab, and `treeline render` for one of the servers.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from '../../base/log.ts';

/** The folder of the proxy, and of its servers. */
export const LAB = 'lab';
/** The file that the demo keeps up to date with the record of a server. */
export const RENDERED_FILE = join('stage-web-1', 'shop.conf');

const PROGRAMS = [
  { command: 'proxy', folder: LAB },
  { command: 'render', folder: 'stage-web-1' },
] as const;
/** Longer than a proxy waits for its actions, and for its last reports. */
const STOP_MS = 45_000;

/** A process of the demo. */
interface RunningProgram {
  /** Resolves once the process has ended, in the end by force. */
  stop(): Promise<void>;
}

/** Starts the programs that have settings in the folder of a demo. The log of each is a file of its folder. */
export async function startPrograms(demo: string, log: Logger): Promise<readonly RunningProgram[]> {
  const present = PROGRAMS.filter(({ command, folder }) => existsSync(join(demo, folder, `${command}.yaml`)));
  return await Promise.all(present.map(({ command, folder }) => start(command, join(demo, folder), log)));
}

/**
 * The process is a group of its own: Ctrl-C reaches only the demo, which ends its programs before the controller. The
 * standard input of the process ends with the demo, however that ends, and so does the program.
 */
async function start(command: string, folder: string, log: Logger): Promise<RunningProgram> {
  const cli = fileURLToPath(new URL('../../cli.js', import.meta.url));
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
