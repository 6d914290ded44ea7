// Runs Prometheus and its promtool where the machine has them: Debian's package `prometheus`.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { freePort } from './free-port.ts';
import { temporaryDirectory } from './temporary-directory.ts';

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

interface Prometheus {
  /** Returns what a path of its API answers as data. */
  ask(path: string): Promise<unknown>;
}

/**
 * Starts a Prometheus that scrapes a target as the job treeline each second, with the alerts of a file, which wait for nothing: neither for
 * their `for`, nor for limits of minutes. It ends with the test.
 */
export async function startPrometheus(target: string, rules: string): Promise<Prometheus> {
  const folder = temporaryDirectory();
  const [config, alerts, port] = [join(folder, 'prometheus.yml'), join(folder, 'rules.yml'), await freePort()];
  const hastened = readFileSync(rules, 'utf8').replace(/for: \w+$/gm, 'for: 0s');
  writeFileSync(alerts, hastened.replace(/ > \d{3,}'$/gm, " > 1'"));
  writeFileSync(
    config,
    `global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
rule_files: [rules.yml]
scrape_configs: [{ job_name: treeline, static_configs: [{ targets: ["${target}"] }] }]
`,
  );
  const address = `127.0.0.1:${port}`;
  const options = [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, 'data')}`];
  const program = spawn('prometheus', [...options, `--web.listen-address=${address}`], { stdio: 'ignore' });
  onTestFinished(async () => {
    program.kill('SIGKILL');
    if (program.exitCode === null && program.signalCode === null) await once(program, 'exit');
  });
  const isReady = async (): Promise<boolean> => {
    const answer = await fetch(`http://${address}/-/ready`).catch(() => undefined);
    return answer?.status === 200;
  };
  await expect.poll(isReady, { timeout: 30_000, interval: 50 }).toBe(true);
  return {
    async ask(path) {
      const answer = await fetch(`http://${address}/api/v1/${path}`);
      return ((await answer.json()) as { readonly data: unknown }).data;
    },
  };
}
