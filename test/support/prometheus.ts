// Runs Prometheus' promtool if the machine has it: Debian's package `prometheus`.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const FOLDERS = (process.env.PATH ?? '').split(':');

/** Whether both are there. */
export const HAS_PROMETHEUS = ['promtool', 'prometheus'].every((name) =>
  FOLDERS.some((folder) => existsSync(`${folder}/${name}`)),
);
/** The end of the title of what needs it: why that is skipped; empty where it is not. */
export const NO_PROMETHEUS = HAS_PROMETHEUS
  ? ''
  : ' (skipped: promtool is not installed here; Debian: apt-get install prometheus)';

/** Returns what promtool says, with its exit code. */
export function promtool(
  args: readonly string[],
  input = '',
): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8', timeout: 60_000 });
  return { status, output: stdout + stderr };
}
