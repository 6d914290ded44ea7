// Ten commits within five seconds while servers are rolled out by a real program: the rollout ends with the last commit,
// and no action of an earlier one starts once a later one is followed.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { InstanceEvent } from '../../src/model/instance-event.ts';
import type { JsonMap } from '../../src/model/json.ts';
import { ROOT } from '../support/command-line.ts';
import { type RunningController, runController } from '../support/running-controller.ts';
import { createSiteIn } from '../support/site-on-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const PROGRAM = join(ROOT, 'test/support/programs/logged-servers.js');
const COMMITS = 10;
const COMMIT_MS = 500;
const ACTION_MS = 700;
const SERVERS = 6;
const LONG = { timeout: 60_000, interval: 50 };

/** The release of every commit. */
type Releases = ReadonlyMap<unknown, number>;

function templateOf(release: number): string {
  return `resources:
  web:
    type: Platform::ResourceGroup
    properties:
      count: "${SERVERS}"
      max_unavailable: "2"
      resource_def: { properties: { name: "web-<<index>>", release: "${release}" } }
`;
}

interface LoggedCall {
  readonly moment: string;
  readonly server: string;
  readonly release: number;
}

function callsIn(servers: string): readonly LoggedCall[] {
  const file = join(servers, 'calls');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  return lines.map((line) => {
    const [moment = '', , server = '', , , release] = line.split(' ');
    return { moment, server, release: Number(release) };
  });
}

it('ten commits in five seconds end with the last one, and start nothing outdated', async () => {
  const servers = temporaryDirectory();
  writeFileSync(join(servers, 'ms'), String(ACTION_MS));
  const environment = JSON.stringify({ SERVERS: servers, SITE: 'here', PATH: process.env.PATH });
  const site = await createSiteIn(temporaryDirectory(), {
    files: {
      'tree.yaml': 'name: global\ntype: common\n',
      'stacks/templates/web.yaml': templateOf(0),
      'stacks/instances/shop.yaml': 'stackTemplate: web\n',
    },
    repository: ', pollSeconds: 1',
    execution: `  providers: [{ name: files, provider: exec, command: [${process.execPath}, ${PROGRAM}], environment: ${environment} }]`,
    provider: 'files',
  });
  const running = await runController(site);
  const first = await site.repository.head();
  const releases = new Map<unknown, number>([[first, 0]]);
  await running.untilDone(first, 'shop');

  for (let release = 1; release <= COMMITS; release++) {
    releases.set(await site.repository.commit({ 'stacks/templates/web.yaml': templateOf(release) }), release);
    await sleep(COMMIT_MS);
  }
  const newest = await site.repository.head();
  const status = async () => ({
    commit: (await running.get('/stacks/instances')).headers['x-treeline-commit'],
    status: await running.status('shop'),
  });
  await expect.poll(status, LONG).toEqual({ commit: newest, status: 'Done' });

  const calls = callsIn(servers).filter(({ moment }) => moment === 'begin');
  const begun = await begunActions(running, releases);
  expect(releasesByServer(calls)).toEqual(releasesByServer(begun));
  for (const course of releasesByServer(calls).values()) expect(course.at(-1)).toBe(COMMITS);
  expect(outdated(begun, running.lines, releases)).toEqual([]);
  // Most of the commits in between were skipped.
  expect(calls.length).toBeLessThan((COMMITS * SERVERS) / 2);
});

interface BegunAction {
  readonly server: string;
  readonly release: number | undefined;
  /** Milliseconds since 1970. */
  readonly time: number;
}

/** Returns the actions that the events of the instance tell of, in their order. */
async function begunActions(running: RunningController, releases: Releases): Promise<readonly BegunAction[]> {
  const { body } = await running.get('/stacks/instances/shop/events?limit=1000');
  const { events } = body as { readonly events: readonly InstanceEvent[] };
  return events
    .filter(({ reason }) => /^(create|update) begins/.test(reason))
    .map(({ resource, commit, time }) => ({
      server: String(resource),
      release: releases.get(commit),
      time: Date.parse(time),
    }));
}

/** Returns the actions that were decided after a commit with a later release was followed. */
function outdated(
  begun: readonly BegunAction[],
  lines: readonly JsonMap[],
  releases: Releases,
): readonly BegunAction[] {
  const followed = lines
    .filter(({ msg }) => msg === 'commit followed')
    .map(({ commit, time }) => ({ release: releases.get(commit) ?? 0, time: Date.parse(String(time)) }));
  expect(followed.length).toBeGreaterThan(COMMITS / 2);
  return begun.filter(({ release = -1, time }) => followed.some((one) => one.release > release && one.time < time));
}

function releasesByServer(
  actions: readonly { readonly server: string; readonly release: number | undefined }[],
): ReadonlyMap<string, readonly (number | undefined)[]> {
  const byServer = new Map<string, (number | undefined)[]>();
  for (const { server, release } of actions) byServer.set(server, [...(byServer.get(server) ?? []), release]);
  return byServer;
}
