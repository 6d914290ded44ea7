// Three real replicas on a real PostgreSQL under load: killed, stopped, cut off and restarted again and again. FAULTS and FAULTS_SEED choose
// how many faults and which; ROLLING_SECONDS how long replicas are restarted one after the other.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { drawn } from '../simulation/chance.ts';
import { actionsIn, callFaults, markedServers } from '../support/marking-server.ts';
import { type PostgresServer, startPostgresServer } from '../support/postgres-server.ts';
import { ReplicaLoad } from '../support/replica-load.ts';
import {
  expectFenced,
  LEASE_MS,
  type ReplicaProcess,
  type ReplicatedSite,
  startReplicas,
} from '../support/replica-process.ts';
import { statusesOf } from '../support/statuses.ts';

const FAULTS = Number(process.env.FAULTS ?? 300);
const SEED = Number(process.env.FAULTS_SEED ?? Math.floor(Math.random() * 2 ** 31));
const ROLLING_SECONDS = Number(process.env.ROLLING_SECONDS ?? 300);
const NAMES = ['a', 'b', 'c'];
const SETTLED = { timeout: 240_000, interval: 500 };
const START_MS_MAX = 120_000;
const PAUSE_MS_MAX = 2_500;
/** The next fault comes while this one lasts. */
const OVERLAPS = 0.25;

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgresServer(['max_connections=200']);
}, START_MS_MAX);
afterAll(() => server.remove(), START_MS_MAX);

type Kind = 'kill' | 'stop' | 'cut' | 'restart the database' | 'crash the database';
/** Each as often as it stands here. */
const KINDS: readonly Kind[] = [
  'kill',
  'kill',
  'kill',
  'stop',
  'stop',
  'stop',
  'cut',
  'cut',
  'cut',
  'restart the database',
  'crash the database',
];

it(`${FAULTS} faults of replicas and database: nothing twice, nothing lost, one leads`, {
  timeout: 5_400_000,
}, async () => {
  say(`FAULTS_SEED=${SEED}`);
  const replicated = await startReplicas(server, NAMES);
  const load = new ReplicaLoad(replicated, { seed: SEED });
  const busy = new Map<unknown, Promise<void>>();
  for (let number = 1; number <= FAULTS; number++) {
    const random = (key: string): number => drawn(SEED, `${key} ${number}`);
    const fault = KINDS[Math.floor(random('kind') * KINDS.length)] ?? 'kill';
    const leader = await leaderOf(replicated);
    const free = replicated.replicas.filter((replica) => !busy.has(replica));
    const ofLeader = leader !== undefined && !busy.has(leader) && random('of leader') < 0.5;
    const replica = ofLeader ? leader : free[Math.floor(random('replica') * free.length)];
    const victim = fault.endsWith('database') ? server : replica;
    if (victim !== undefined && !busy.has(victim)) {
      const ms = LEASE_MS * (1 + 2 * random('length'));
      say(
        `${number} of ${FAULTS}: ${fault} ${victim === server ? '' : `${replica?.name} `}(${leader?.name ?? 'nobody'} leads)`,
      );
      busy.set(
        victim,
        play(fault, { replica, ms }).finally(() => busy.delete(victim)),
      );
    }
    if (random('overlap') >= OVERLAPS || busy.size > 1) await Promise.all(busy.values());
    await sleep(random('pause') * PAUSE_MS_MAX);
  }
  await Promise.all(busy.values());
  await load.stop();
  await settle(replicated);
  await check(replicated, load);
});

it(`rolling restarts for ${ROLLING_SECONDS} s fail less than one of 1,000 requests`, {
  timeout: 1_800_000,
}, async () => {
  say(`FAULTS_SEED=${SEED}`);
  const replicated = await startReplicas(server, NAMES, 10_000);
  const load = new ReplicaLoad(replicated, { seed: SEED, isRetrying: true });
  const end = performance.now() + ROLLING_SECONDS * 1_000;
  for (let turn = 0; performance.now() < end; turn++) {
    const replica = replicated.replicas[turn % NAMES.length];
    await Promise.all([replica?.restart('SIGTERM'), sleep(5_000)]);
  }
  await load.stop();
  await settle(replicated);
  const { asked, failed } = await check(replicated, load);
  expect(failed / asked).toBeLessThan(0.001);
});

/** Has a fault happen, and resolves once its cause is over. */
async function play(
  kind: Kind,
  { replica, ms }: { readonly replica: ReplicaProcess | undefined; readonly ms: number },
): Promise<void> {
  if (kind === 'kill') await replica?.restart('SIGKILL');
  if (kind === 'stop') await replica?.stop(3 * LEASE_MS);
  if (kind === 'cut') await replica?.cut(ms);
  if (!kind.endsWith('database')) return;
  await (kind === 'crash the database' ? server.crash() : server.stop());
  await sleep(ms / 4);
  await server.start();
}

/** Resolves once all replicas show that nothing is left to do. */
async function settle({ site, replicas }: ReplicatedSite): Promise<void> {
  const commit = await site.repository.head();
  for (const { name, request } of replicas.map((replica) => ({
    name: replica.name,
    request: replica.request.bind(replica),
  }))) {
    const state = async (): Promise<unknown> => {
      const { commit: shown, statuses } = await statusesOf({ request });
      return [name, shown, statuses.filter((each) => !each.endsWith(': Done'))];
    };
    await expect.poll(state, SETTLED).toEqual([name, commit, []]);
  }
}

async function check(replicated: ReplicatedSite, load: ReplicaLoad) {
  const { provided, replicas, site } = replicated;
  const summary = await load.check();
  const fencings = await expectFenced(replicated);
  say(JSON.stringify({ ...summary, fencings, actions: actionsIn(provided).length }));
  expect.soft(callFaults(provided)).toEqual([]);
  expect.soft(markedServers(provided)).toEqual(await wantedServers(site));
  for (const replica of replicas) await replica.end('SIGTERM');
  for (const { name, errors } of replicas) if (errors.length > 0) say(`${name}: ${JSON.stringify(countEach(errors))}`);
  return summary;
}

/** Returns the release of each server that the newest commit asks for, by its name. */
async function wantedServers({ repository }: ReplicatedSite['site']): Promise<Readonly<Record<string, string>>> {
  const files = (await repository.git('ls-tree', '--name-only', 'main', 'stacks/instances/'))
    .split('\n')
    .filter(Boolean);
  const servers: [name: string, release: string][] = [];
  for (const file of files) {
    const { parameters } = parse(await repository.git('show', `main:${file}`));
    const instance = file.replace(/^.*\/|\.yaml$/g, '');
    for (let index = 1; index <= Number(parameters.count); index++) {
      servers.push([`${instance}-web-${index}`, String(parameters.release)]);
    }
  }
  return Object.fromEntries(servers.sort());
}

async function leaderOf({ replicas }: ReplicatedSite): Promise<ReplicaProcess | undefined> {
  const statuses = await Promise.all(replicas.map((replica) => replica.health('/leaderz')));
  return replicas.find((_replica, index) => statuses[index]?.status === 200);
}

function countEach(texts: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries([...Map.groupBy(texts, (text) => text)].map(([text, all]) => [text, all.length]));
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
