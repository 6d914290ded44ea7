// A controller and two proxies whose provider programs keep servers as files, all three killed again and again at random moments
// while commits make, change and remove servers. In the end the wanted servers exist, and no others; the log of the programs shows
// that no server was made twice and that no two calls for one server overlapped.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { Chance } from '../simulation/chance.ts';
import { ROOT } from './command-line.ts';
import type { FileChanges } from './git-repository.ts';
import { createHttpsClient } from './https-client.ts';
import { callFaults, markedServers } from './marked-calls.ts';
import { registerProxy } from './registered-proxy.ts';
import { type Relay, startRelay } from './relay.ts';
import { ServingProcess } from './serving-process.ts';
import { createSiteIn, type Site } from './site-on-disk.ts';
import { statusesOf } from './statuses.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export interface KillOptions {
  readonly kills: number;
  /** Chooses victims, moments and commits; processes run as they run. */
  readonly seed: number;
  /** Instances of each of the two sites. */
  readonly instances: number;
  /** The least and the most servers of an instance. */
  readonly servers: readonly [number, number];
  /** How long a change of a server takes. */
  readonly callSeconds: number;
  /** How long a call may take. The servers of a proxy wait that long for a call that was lost with the controller. */
  readonly timeoutSeconds: number;
  /** The longest time between two kills. */
  readonly pauseMsMax: number;
}

/** Few servers, which are made fast: most kills come in the middle of a call, a commit or a start. */
export const SMALL_RUN: Omit<KillOptions, 'kills' | 'seed'> = {
  instances: 2,
  servers: [2, 8],
  callSeconds: 0.4,
  timeoutSeconds: 15,
  pauseMsMax: 400,
};

const PROGRAM = join(ROOT, 'test/support/programs/marking-server.sh');
const PROXIES = ['north', 'south'] as const;
/** The servers of `near` are the controller's, those of `far` the proxies'. */
const SITES = ['near', 'far'] as const;
type SiteName = (typeof SITES)[number];
/** Servers go all the time; no commit waits for an approval. */
const APPROVED = 'Churn\n\nTreeline-Approve-Deletes: 10000';
const SETTLE_MS_MAX = 240_000;
const COMMITS_PER_KILL = 0.5;
/** Between two lines of progress. */
const KILLS_A_LINE = 100;

/** Kills the processes `kills` times, lets everything settle, and checks what exists and what was done. */
export async function killProcesses(options: KillOptions): Promise<void> {
  process.stderr.write(`FAULTS_SEED=${options.seed}\n`);
  const run = await startRun(options);
  for (let kill = 1; kill <= options.kills; kill++) {
    await sleep(options.pauseMsMax * run.chance.next());
    if (run.chance.is(COMMITS_PER_KILL)) await run.churn();
    await run.killOne();
    if (kill % KILLS_A_LINE === 0) process.stderr.write(`${kill} of ${options.kills} kills\n`);
  }
  await run.settle();
  await run.stop();
  run.check();
}

async function startRun(options: KillOptions): Promise<Run> {
  const folder = temporaryDirectory();
  const wanted = firstWanted(options);
  for (const site of SITES) {
    for (const each of ['servers', 'locks']) mkdirSync(join(folder, site, each), { recursive: true });
  }
  const site = await createSiteIn(join(folder, 'site'), {
    files: filesOf(wanted),
    repository: ', pollSeconds: 1',
    execution: executionOf(entryOf(join(folder, 'near'), options), options),
    provider: 'local',
  });
  const controller = new ServingProcess(site.config);
  const relay = await startRelay(await controller.port());
  const entry = entryOf(join(folder, 'far'), options);
  const configs: string[] = [];
  for (const name of PROXIES)
    configs.push(await registerProxy(name, { site, port: relay.port, concurrency: 50, tags: [], entry }));
  return new Run({ site, relay, folder, configs, options }, controller, wanted);
}

function executionOf(entry: string, { timeoutSeconds }: KillOptions): string {
  return `  concurrency: 60
  graceSeconds: 2
  deleteBudget: { percent: 100, least: 10000, most: 10000 }
  retry: { attempts: 20, firstSeconds: 1, maxSeconds: 2, failedSeconds: 2 }
  proxied: { timeoutSeconds: ${timeoutSeconds} }
  providers:
    - { match: { properties: { site: near } }, provider: exec, ${entry} }`;
}

/** Returns the keys of a provider entry, in flow style. */
function entryOf(directory: string, { callSeconds, timeoutSeconds }: KillOptions): string {
  const environment = { REPLICA: 'any', SECONDS_OF_CALL: String(callSeconds), PATH: process.env.PATH };
  const limits = `timeoutSeconds: ${timeoutSeconds}, concurrency: 50`;
  return `name: local, command: ${JSON.stringify([PROGRAM, directory])}, environment: ${JSON.stringify(environment)}, ${limits}`;
}

interface RunParts {
  readonly site: Site;
  readonly relay: Relay;
  readonly folder: string;
  /** The settings of the proxies. */
  readonly configs: readonly string[];
  readonly options: KillOptions;
}

class Run {
  readonly chance: Chance;
  readonly #parts: RunParts;
  #controller: ServingProcess;
  readonly #proxies: ServingProcess[];
  #wanted: Wanted;
  #commits = 0;

  constructor(parts: RunParts, controller: ServingProcess, wanted: Wanted) {
    this.chance = new Chance(parts.options.seed);
    this.#parts = parts;
    this.#controller = controller;
    this.#proxies = parts.configs.map((config) => new ServingProcess(config, 'proxy'));
    this.#wanted = wanted;
  }

  /** Commits another wish. */
  async churn(): Promise<void> {
    const kind = CHANGES[this.#commits++ % CHANGES.length] ?? 'size';
    this.#wanted = churned(this.#wanted, kind, { ...this.#parts.options, chance: this.chance });
    await this.#parts.site.repository.commit(filesOf(this.#wanted), { message: APPROVED });
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
      expect(markedServers(directory)).toEqual(serversOf(this.#wanted, site));
      expect(callFaults(directory)).toEqual([]);
      const locks = readdirSync(join(directory, 'locks')).map((name) => join(directory, 'locks', name));
      expect(locks.filter((lock) => spawnSync('flock', ['--nonblock', lock, 'true']).status !== 0)).toEqual([]);
    }
  }
}

/** The servers that the commits ask for. */
interface Wanted {
  readonly release: number;
  /** Servers by instance. */
  readonly counts: Readonly<Record<string, number>>;
}

function instancesOf({ instances }: KillOptions): readonly string[] {
  return SITES.flatMap((site) => Array.from({ length: instances }, (_, index) => `${site}-${index + 1}`));
}

function firstWanted(options: KillOptions): Wanted {
  const [least, most] = options.servers;
  const counts = instancesOf(options).map((name) => [name, Math.ceil((least + most) / 2)]);
  return { release: 1, counts: Object.fromEntries(counts) };
}

type Change = 'release' | 'removal' | 'size';
/** What the commits change, in turn, so that a short run has each kind too. */
const CHANGES: readonly Change[] = ['size', 'release', 'size', 'removal', 'size'];

/** Returns the next wish: another release of all, another size of an instance, or an instance that goes or comes back. */
function churned(
  { release, counts }: Wanted,
  change: Change,
  { chance, ...options }: KillOptions & { readonly chance: Chance },
): Wanted {
  if (change === 'release') return { release: release + 1, counts };
  const names = instancesOf(options);
  const name = names[chance.below(names.length)] ?? '';
  const { [name]: present, ...others } = counts;
  if (change === 'removal' && present !== undefined) return { release, counts: others };
  const [least, most] = options.servers;
  return { release, counts: { ...others, [name]: least + chance.below(most - least + 1) } };
}

const INSTANCES_MAX = 20;

/** Returns every file; those of instances that are not wanted are removed. */
function filesOf({ release, counts }: Wanted): FileChanges {
  const all = SITES.flatMap((site) => Array.from({ length: INSTANCES_MAX }, (_, index) => `${site}-${index + 1}`));
  const instances = all.map((name) => {
    const parameters = `{ count: "${counts[name]}", site: ${name.split('-')[0]} }`;
    const text = counts[name] === undefined ? null : `stackTemplate: web\nparameters: ${parameters}\n`;
    return [`stacks/instances/${name}.yaml`, text];
  });
  return {
    'tree.yaml': 'name: global\ntype: common\n',
    'stacks/templates/web.yaml': `parameters: { count: "", site: "" }
resources:
  web:
    type: Platform::ResourceGroup
    properties:
      count: "<<count>>"
      max_unavailable: "50%"
      resource_def: { properties: { release: "${release}", site: "<<site>>" } }
`,
    ...Object.fromEntries(instances),
  };
}

/** Returns the release of every server of a site that should run, by its name. */
function serversOf({ release, counts }: Wanted, site: SiteName): Readonly<Record<string, string>> {
  const names = Object.entries(counts)
    .filter(([instance]) => instance.startsWith(`${site}-`))
    .flatMap(([instance, count]) => Array.from({ length: count }, (_, index) => `${instance}-web-${index + 1}`));
  return Object.fromEntries(names.map((name) => [name, String(release)]));
}
