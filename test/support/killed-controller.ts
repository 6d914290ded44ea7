// A real controller on a real repository, killed again and again at random moments while commits come and servers are
// built, changed and removed. After every kill its files are held against everything that it has told.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';
import { storePath } from '../../src/store/store-file.ts';
import { expectAcknowledged, lastServers, type Seen, successfulCreates } from './acknowledged.ts';
import { churned, FIRST, filesOf, LASTING, serversOf } from './churned-repository.ts';
import { createHttpsClient, type HttpsClient, keepAlive } from './https-client.ts';
import { ServingProcess } from './serving-process.ts';
import { simulatedRows } from './simulated-rows.ts';
import { createSite, type Site } from './site.ts';
import { statusesOf } from './statuses.ts';
import { type History, keepHistory, readHistory } from './store-history.ts';

/** A start lasts longer, so that a kill within this time comes before all is open. */
const START_MS = 900;
const WORK_MS = 350;
/** One of so many starts finds a torn record, and one is killed before all is open. In turn, so that a short run has both. */
const TORN_EACH = 3;
const STARTING_EACH = 5;
/** Servers go all the time; nothing is to wait for a person. */
const APPROVED = 'Churn\n\nTreeline-Approve-Deletes: 1000';
const SETTLE_MS_MAX = 60_000;
/** A page in SQLite's log of writes, with its head. */
const PAGE_BYTES = 4096 + 24;

/** Kills a controller `kills` times, and checks it after every time and in the end. */
export async function killAgainAndAgain(kills: number): Promise<void> {
  const site = await createSite(filesOf(FIRST));
  await keepHistory(site.state);
  const run = new Run(site);
  for (let kill = 0; kill < kills; kill++) {
    await run.untilKilled({ isTorn: kill % TORN_EACH === 1, isStarting: kill % STARTING_EACH === 2 });
  }
  await run.untilDone();
}

/** How a life of the controller begins and ends. */
interface Life {
  /** Its log of writes ends in a part of a commit. */
  readonly isTorn: boolean;
  /** It is killed while it starts. */
  readonly isStarting: boolean;
}

class Run {
  readonly #site: Site;
  #wanted = FIRST;
  #history: History = { records: [], versions: [] };
  /** `<server>.<action id>` of every action that has ever changed a server. */
  readonly #effects = new Set<string>();

  constructor(site: Site) {
    this.#site = site;
  }

  /** One life of the controller: it starts unaided, works, and is killed. */
  async untilKilled({ isTorn, isStarting }: Life): Promise<void> {
    if (isTorn) this.#tearTail();
    const controller = new ServingProcess(this.#site.config);
    if (isStarting) {
      await sleep(START_MS * Math.random());
      await controller.end('SIGKILL');
      await this.#check(controller.lines);
      return;
    }
    const client = this.#clientOf(await controller.port());
    const over = new AbortController();
    const work = [this.#churn(over.signal), this.#watch(client, over.signal)] as const;
    await sleep(WORK_MS * Math.random());
    over.abort();
    await controller.end('SIGKILL');
    const [, seen] = await Promise.all(work);
    expect(controller.stderr).toBe('');
    await this.#check(controller.lines, seen);
  }

  /** Lets the controller run until nothing is left to do, and holds what is there against what is wanted. */
  async untilDone(): Promise<void> {
    const controller = new ServingProcess(this.#site.config);
    const client = this.#clientOf(await controller.port());
    const newest = await this.#site.repository.head();
    const done = Object.keys(this.#wanted.counts).map((name) => `${name}: Done`);
    await expect
      .poll(() => statusesOf(client), { timeout: SETTLE_MS_MAX, interval: 100 })
      .toEqual({ commit: newest, statuses: done.sort() });
    expect(await controller.end('SIGTERM')).toBe(0);
    await this.#check(controller.lines);
    const rows = lastServers(this.#history);
    expect([...rows.keys()].sort()).toEqual(Object.keys(serversOf(this.#wanted)));
    for (const row of rows.values()) expect(row).toMatchObject({ state: 'done', action: null, dirty: false });
    expect(serversIn(this.#site)).toEqual(serversOf(this.#wanted));
  }

  #clientOf(port: number): HttpsClient {
    return createHttpsClient({ port, ca: this.#site.ca }, this.#site.administrator);
  }

  async #churn(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      const wanted = churned(this.#wanted, Math.random);
      await this.#site.repository.commit(filesOf(wanted), { message: APPROVED });
      this.#wanted = wanted;
      await sleep(80 * Math.random());
    }
  }

  /** Asks until the controller is gone, and returns the last answer. */
  async #watch(client: HttpsClient, over: AbortSignal): Promise<Seen | undefined> {
    const agent = keepAlive();
    let seen: Seen | undefined;
    while (!over.aborted) {
      const reply = await client.request(`/stacks/instances/${LASTING}/status/full`, { agent }).catch(() => undefined);
      if (reply?.status === 200) seen = seenIn(reply.headers['x-treeline-commit'], reply.body as StatusFull);
      await sleep(20);
    }
    agent.destroy();
    return seen;
  }

  /** What a power cut may leave of a record that was being written. */
  #tearTail(): void {
    const log = `${storePath(this.#site.state)}-wal`;
    if (!existsSync(log)) return;
    const last = readFileSync(log).subarray(-PAGE_BYTES);
    appendFileSync(log, last.subarray(0, Math.random() * (last.length - 1)));
  }

  async #check(lines: readonly JsonMap[], seen?: Seen): Promise<void> {
    const before = this.#history;
    this.#history = readHistory(this.#site.state);
    const commits = (await this.#site.repository.git('rev-list', '--reverse', 'main')).split('\n');
    expectAcknowledged({ lines, seen }, { before, now: this.#history, commits });
    for (const { actions } of simulatedRows(this.#site.servers))
      for (const action of actions) this.#effects.add(action);
    // A create of a server that was there has no effect of its own: such a one was made twice.
    for (const action of successfulCreates(this.#history)) expect(this.#effects).toContain(action);
  }
}

type StatusFull = Readonly<Record<string, Readonly<Record<string, { readonly state: string }>>>>;

function seenIn(commit: unknown, groups: StatusFull): Seen {
  const servers = Object.values(groups).flatMap((group) => Object.entries(group));
  return { commit: String(commit), states: Object.fromEntries(servers.map(([name, { state }]) => [name, state])) };
}

/** Returns the release of every server that exists, by its name. */
function serversIn(site: Site): Readonly<Record<string, string | undefined>> {
  const made = simulatedRows(site.servers).filter(({ properties }) => properties !== null);
  return Object.fromEntries(made.map(({ name, properties }) => [name, properties?.release]));
}
