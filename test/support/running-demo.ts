// `treeline demo` in a process of its own, as somebody starts it in a folder, with what it prints; and a demo of few servers,
// which comes up in a third of the time that the sample takes.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { BUNDLED, plainEnvironment, ROOT } from './command-line.ts';
import { runGit } from './git-repository.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A demo, which does not outlive the running test. */
export class RunningDemo {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  #printed = '';

  /** Starts it in a folder. */
  constructor(folder: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
    this.#child = spawn(process.execPath, [BUNDLED, 'demo', ...args], {
      ...{ cwd: folder, env: { ...plainEnvironment(), ...env } },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#closed = once(this.#child, 'close');
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#printed += text;
    });
    onTestFinished(async () => {
      await this.end('SIGINT');
    });
  }

  /** Resolves with everything printed once that contains a text; by default, how to continue. */
  async printed(text = 'To start over'): Promise<string> {
    while (!this.#printed.includes(text)) {
      if (this.#isOver()) throw new Error(`the demo has ended: ${this.#printed}`);
      await Promise.race([once(this.#child.stdout ?? this.#child, 'data'), this.#closed]);
    }
    return this.#printed;
  }

  /** Ends it as Ctrl-C or a power cut does, and resolves with its exit code; null: a signal ended it. */
  async end(signal: 'SIGINT' | 'SIGKILL'): Promise<number | null> {
    if (!this.#isOver()) this.#child.kill(signal);
    await this.#closed;
    return this.#child.exitCode;
  }

  #isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}

/** The servers of {@link smallDemoFolder}: the first is the controller's, the others the proxy's. */
export const SMALL_DEMO = ['orders-db', 'stage-cache', 'stage-web-1'] as const;

/** Returns a folder in which the demo finds a repository: the sample without most of its servers. */
export async function smallDemoFolder(): Promise<string> {
  const parent = temporaryDirectory();
  const folder = join(parent, 'a folder');
  const work = join(parent, 'work');
  cpSync(join(ROOT, 'sample-repo'), work, { recursive: true });
  leaveFewServers(work, ['worker', 'balancer', 'mailtrap']);
  const staging = join(work, 'stacks/instances/shop/shop-staging.yaml');
  writeFileSync(staging, readFileSync(staging, 'utf8').replace('web_count: "2"', 'web_count: "1"'));
  mkdirSync(join(folder, '.treeline'), { recursive: true });
  const git = (...args: readonly string[]) => runGit(['-C', work, ...args]);
  await git('init', '--quiet', '--initial-branch=main');
  await git('add', '--all');
  await git('commit', '--quiet', '--message', 'A small demo');
  await runGit(['clone', '--quiet', '--bare', work, join(folder, '.treeline/stacks.git')]);
  return folder;
}

/** Takes servers out of a copy of the sample, whose files are all left: all of production, and these resources of staging. */
export function leaveFewServers(sample: string, resources: readonly string[]): void {
  const substract = (name: string, keys: readonly string[]): void => {
    const path = join(sample, 'stacks/instances/shop', name);
    const text = readFileSync(path, 'utf8').replace(/^stackTemplateSubstractions:.*/ms, '');
    const without = keys.map((key) => `${key}: {}`).join(', ');
    writeFileSync(path, `${text}stackTemplateSubstractions:\n  resources: { ${without} }\n`);
  };
  substract('shop-production.yaml', ['cache', 'web', 'worker', 'balancer', 'mailtrap', 'reports']);
  substract('shop-staging.yaml', resources);
}
