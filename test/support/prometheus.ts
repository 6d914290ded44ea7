// Runs Prometheus and its promtool where the machine has them: Debian's package `prometheus`.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const FOLDERS = (process.env.PATH ?? '').split(':');

/** Whether both are there, and why tests are skipped where they are not. */
export const HAS_PROMETHEUS = ['promtool', 'prometheus'].every((name) =>
  FOLDERS.some((folder) => existsSync(`${folder}/${name}`)),
);
export const WHY_SKIPPED = 'skipped: promtool is not installed here (Debian: apt-get install prometheus)';

/** Returns what promtool says, with its exit code. */
export function promtool(
  args: readonly string[],
  input = '',
): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8', timeout: 60_000 });
  return { status, output: stdout + stderr };
}
