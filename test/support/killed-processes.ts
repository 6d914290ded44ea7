// A controller and two proxies whose provider programs keep servers as files, all three killed again and again at random moments
// while commits make, change and remove servers. In the end the wanted servers exist, and no others; the log of the programs shows
// that no server was made twice and that no two calls for one server overlapped.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { Chance } from '../simulation/chance.ts';
import { filesOf, serversOf, type Wanted } from './churned-repository.ts';
import { createHttpsClient } from './https-client.ts';
import { callFaults, markedServers, markingEntry } from './marking-server.ts';
import { registerProxy } from './registered-proxy.ts';
import { type Relay, startRelay } from './relay.ts';
import { ServingProcess } from './serving-process.ts';
import { createSiteIn, type Site } from './site-on-disk.ts';
import { statusesOf } from './statuses.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** Few servers, which are made fast: most kills come in the middle of a call, a commit or a start. */
const CALL_SECONDS = 0.4;
/** Instances of each of the two sites. */
const INSTANCES = 2;
/** The least and the most web servers of an instance. */
const SERVERS = [2, 8] as const;
/** The servers of a proxy wait that long for a call that was lost with the controller. */
const TIMEOUT_SECONDS = 15;
/** The longest time between two kills. */
const PAUSE_MS_MAX = 400;
const PROXIES = ['north', 'south'] as const;
/** The servers of `near` are the controller's, those of `far` the proxies'. */
const SITES = ['near', 'far'] as const;
/** Servers go all the time; no commit waits for an approval. */
const APPROVED = 'Churn\n\nTreeline-Approve-Deletes: 10000';
const SETTLE_MS_MAX = 240_000;
const COMMITS_PER_KILL = 0.5;
/** Between two lines of progress. */
const KILLS_A_LINE = 100;

/**
 * Kills the processes `kills` times, lets everything settle, and checks what exists and what was done. The seed chooses victims, moments
 * and commits; processes run as they run.
 */
export async function killProcesses(kills: number, seed: number): Promise<void> {
  process.stderr.write(`FAULTS_SEED=${seed}\n`);
  const run = await startRun(new Chance(seed));
  for (let kill = 1; kill <= kills; kill++) {
    await sleep(PAUSE_MS_MAX * run.chance.next());
    if (run.chance.is(COMMITS_PER_KILL)) await run.churn();
    await run.killOne();
    if (kill % KILLS_A_LINE === 0) process.stderr.write(`${kill} of ${kills} kills\n`);
  }
  await run.settle();
  await run.stop();
  run.check();
}

async function startRun(chance: Chance): Promise<Run> {
  const folder = temporaryDirectory();
  const wanted = firstWanted();
  const site = await createSiteIn(join(folder, 'site'), {
    files: filesOf(wanted, NAMES),
    repository: ', pollSeconds: 1',
    execution: executionOf(entryOf(join(folder, 'near'))),
    provider: 'files',
  });
  const controller = new ServingProcess(site.config);
  const relay = await startRelay(await controller.port());
  const entry = entryOf(join(folder, 'far'));
  const configs: string[] = [];
  for (const name of PROXIES)
    configs.push(await registerProxy(name, { site, port: relay.port, concurrency: 50, tags: [], entry }));
  return new Run({ site, relay, folder, configs, chance }, controller, wanted);
}

function executionOf(entry: string): string {
  return `  concurrency: 60
  graceSeconds: 2
  deleteBudget: { percent: 100, least: 10000, most: 10000 }
  retry: { attempts: 20, firstSeconds: 1, maxSeconds: 2, failedSeconds: 2 }
  proxied: { timeoutSeconds: ${TIMEOUT_SECONDS} }
  providers:
    - { match: { properties: { site: near } }, provider: exec, ${entry} }`;
}

function entryOf(directory: string): string {
  return `${markingEntry(directory, { seconds: CALL_SECONDS })}, timeoutSeconds: ${TIMEOUT_SECONDS}, concurrency: 50`;
}

interface RunParts {
  readonly site: Site;
  readonly relay: Relay;
  readonly folder: string;
  /** The settings of the proxies. */
  readonly configs: readonly string[];
  readonly chance: Chance;
}

class Run {
  readonly chance: Chance;
  readonly #parts: RunParts;
  #controller: ServingProcess;
  readonly #proxies: ServingProcess[];
  #wanted: Wanted;
  #commits = 0;

  constructor(parts: RunParts, controller: ServingProcess, wanted: Wanted) {
    this.chance = parts.chance;
    this.#parts = parts;
    this.#controller = controller;
    this.#proxies = parts.configs.map((config) => new ServingProcess(config, 'proxy'));
    this.#wanted = wanted;
  }

  /** Commits another wish. */
  async churn(): Promise<void> {
    const kind = CHANGES[this.#commits++ % CHANGES.length] ?? 'size';
    this.#wanted = churned(this.#wanted, kind, this.chance);
    await this.#parts.site.repository.commit(filesOf(this.#wanted, NAMES), { message: APPROVED });
  }

  /** Kills the controller or a proxy, and starts it again, unaided. */
  async killOne(): Promise<void> {
    const { site, relay, configs } = this.#parts;
    const which = this.chance.below(configs.length + 1);
    const config = configs[which];
    if (config !== undefined) {
      await this.#proxies[which]?.end('SIGKILL');
      this.#proxies[which] = new ServingProcess(config, 'proxy');
      return;
    }
    await this.#controller.end('SIGKILL');
    expect(this.#controller.stderr).toBe('');
    this.#controller = new ServingProcess(site.config);
    relay.target = await this.#controller.port();
  }

  /** Waits until nothing is left to do. */
  async settle(): Promise<void> {
    const { site } = this.#parts;
    const port = await this.#controller.port();
    const client = createHttpsClient({ port, ca: site.ca }, site.administrator);
    const newest = await site.repository.head();
    const done = Object.keys(this.#wanted.counts).map((name) => `${name}: Done`);
    await expect
      .poll(() => statusesOf(client), { timeout: SETTLE_MS_MAX, interval: 500 })
      .toEqual({ commit: newest, statuses: done.sort() });
  }

  async stop(): Promise<void> {
    for (const each of [this.#controller, ...this.#proxies]) {
      expect(await each.end('SIGTERM')).toBe(0);
      expect(each.stderr).toBe('');
    }
  }

  /** Checks what exists, what the log says, and that no program still runs. */
  check(): void {
    for (const site of SITES) {
      const directory = join(this.#parts.folder, site);
      const wanted = Object.entries(serversOf(this.#wanted)).filter(([name]) => name.startsWith(`${site}-`));
      expect(markedServers(directory)).toEqual(Object.fromEntries(wanted));
      expect(callFaults(directory)).toEqual([]);
      const locks = readdirSync(join(directory, 'locks')).map((name) => join(directory, 'locks', name));
      expect(locks.filter((lock) => spawnSync('flock', ['--nonblock', lock, 'true']).status !== 0)).toEqual([]);
    }
  }
}

const NAMES = SITES.flatMap((site) => Array.from({ length: INSTANCES }, (_, index) => `${site}-${index + 1}`));

function firstWanted(): Wanted {
  const [least, most] = SERVERS;
  return { release: 1, counts: Object.fromEntries(NAMES.map((name) => [name, Math.ceil((least + most) / 2)])) };
}

type Change = 'release' | 'removal' | 'size';
/** What the commits change, in turn, so that a short run has each kind too. */
const CHANGES: readonly Change[] = ['size', 'release', 'size', 'removal', 'size'];

/** Returns the next wish: another release of all, another size of an instance, or an instance that goes or comes back. */
function churned({ release, counts }: Wanted, change: Change, chance: Chance): Wanted {
  if (change === 'release') return { release: release + 1, counts };
  const name = NAMES[chance.below(NAMES.length)] ?? '';
  const { [name]: present, ...others } = counts;
  if (change === 'removal' && present !== undefined) return { release, counts: others };
  const [least, most] = SERVERS;
  return { release, counts: { ...others, [name]: least + chance.below(most - least + 1) } };
}
