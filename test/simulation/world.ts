// One run's world: everything that is simulated, and the controllers that live and die in it.
import { type WiredCore, wireCore } from '../../src/compose/core.ts';
import type { Logger } from '../../src/log.ts';
import { PROXIED } from '../../src/model/names.ts';
import type { DriftPolicy } from '../../src/model/objects.ts';
import { createProviderRegistry } from '../../src/providers/provider-registry.ts';
import type { Agent } from '../../src/service/agent.ts';
import { createAgent } from '../../src/service/create-agent.ts';
import type { Reader } from '../../src/service/reader.ts';
import type { ExecutionSettings, ProviderSettings } from '../../src/settings.ts';
import { createPollTimer } from '../../src/source/poll-timer.ts';
import type { Trigger } from '../../src/source/source.ts';
import { openStore } from '../../src/store/lowdb-store.ts';
import { Asked } from './asked.ts';
import { drawn } from './chance.ts';
import { isGone } from './edit-files.ts';
import type { Facts, Violation } from './facts.ts';
import { Followed } from './followed.ts';
import { type Life, quiet, Scheduler } from './scheduler.ts';
import type { Script } from './script.ts';
import { clockOf, WallTime } from './simulated-clock.ts';
import { SimulatedDisk } from './simulated-disk.ts';
import { type GitCommit, SimulatedGit } from './simulated-git.ts';
import { SimulatedProxy, siteOfEntry } from './simulated-proxy.ts';
import { SimulatedSite, type SiteMood, type SiteServer } from './simulated-site.ts';
import { GLOBAL, LAB, type ModelFile, pathOf, SMALL, serversOf } from './stacks.ts';
import { Story } from './story.ts';
import { INSTANCES, SITES } from './themes/theme.ts';
import { BUDGET, CallWatch } from './watch-calls.ts';
import { watchClaims } from './watch-claims.ts';
import { DriftWatch } from './watch-drift.ts';
import { RowWatch } from './watch-rows.ts';
import { watchWaits } from './watch-waits.ts';

const POLL_MS = 600_000;
/** Comparing clocks every second would be most of what happens. */
export const COMPARE_MS = 60_000;
/** Between two comparisons of how long each server waits. */
const WAITS_MS = 600_000;
/** The machines with a proxy: two of one tag at the east site, and one of another tag. */
const MACHINES = [
  { serial: 'B1', tags: ['east'] },
  { serial: 'B2', tags: ['east'] },
  { serial: 'B3', tags: ['west'] },
];
const RETRY = { attempts: 3, firstSeconds: 2, maxSeconds: 30, failedSeconds: 300 };
/** Returns the settings of execution.  */
function executionOf({ drift }: Pick<Script, 'drift'>): ExecutionSettings {
  return {
    ...{ concurrency: 3, graceSeconds: 10, deleteBudget: { percent: 0, least: BUDGET, most: BUDGET } },
    retry: RETRY,
    providers: SITES.map((name) => entryOf(name, drift?.[name] ?? 'report')),
    proxied: { name: PROXIED, concurrency: 3, retry: RETRY, timeoutSeconds: 60, checkSeconds: 300, drift: 'report' },
  };
}

export class World implements Facts {
  readonly scheduler = new Scheduler();
  readonly wall = new WallTime(this.scheduler);
  readonly git: SimulatedGit;
  readonly disk: SimulatedDisk;
  readonly sites: readonly SimulatedSite[];
  readonly proxies: readonly SimulatedProxy[];
  readonly followed: Followed;
  readonly calls: CallWatch;
  readonly drift: DriftWatch;
  readonly rows: RowWatch;
  readonly approved = new Set<string>();
  readonly answeredApprovals = new Map<string, number>();
  readonly adopted = new Set<string>();
  readonly asked = new Asked(this.scheduler);
  hasLostCopy = false;
  readonly disturbances: number[] = [];
  readonly orphans = new Set<string>();
  readonly story: Story | undefined;
  violation: Violation | undefined;
  core: WiredCore | undefined;
  /** What the controller that runs offers to proxies. */
  agent: Agent | undefined;
  readonly #seed: number;
  readonly #execution: ExecutionSettings;
  #life: Life = { isOver: true };
  #hint: () => void = () => undefined;
  /** What the local copy of the repository holds. */
  #here = new Set<string>();
  readonly #requests = new Map<string, ModelFile | undefined>();
  /** Since when each server waits for its first check. */
  readonly #waits = new Map<string, number>();
  #waitsSeen = 0;
  readonly #vanished = new Set<string>();
  /** A commit came into force, and its rows were not looked at yet. */
  #isNew = false;
  #lives = 0;
  #hints = 0;
  /** What the last controller's store showed when it died. */
  #image: ReadonlyMap<string, string> | undefined;
  #wasDirty = false;

  constructor(seed: number, script: Omit<Script, 'actions'>, isTold: boolean) {
    this.#seed = seed;
    this.#execution = executionOf(script);
    this.story = isTold ? new Story(() => this.scheduler.now) : undefined;
    this.followed = new Followed(this, () => {
      this.#isNew = true;
      this.#noteTrailer();
      watchClaims(this, this.followed);
    });
    const entryPolicy = (name: string): DriftPolicy => policyIn(this.#execution, name);
    this.drift = new DriftWatch(this, this.followed, { entryPolicy });
    this.calls = new CallWatch(this, this.followed, this.drift);
    this.rows = new RowWatch(this, {
      isMade: (server) => this.#isMade(server),
      drift: this.drift,
      onRetained: (server) => this.#noteRetained(server),
      isApproved: (incarnation) => this.calls.approvedDeletes.has(incarnation),
      forgetApproval: (incarnation) => void this.calls.approvedDeletes.delete(incarnation),
    });
    this.git = new SimulatedGit(this.scheduler, this.wall, seed);
    this.git.onPushed = (commit) => {
      this.#approveDeleted(commit);
      this.pushed(`REST: ${commit.words}`, commit.oid);
    };
    this.disk = new SimulatedDisk(this.scheduler, seed);
    const parts = { scheduler: this.scheduler, seed, watch: this.calls };
    const { ignoresCase, outlives, endsWithCall } = script;
    const ending = endsWithCall ? 'with its call' : 'with the controller';
    const lostActionEnds = outlives ? 'after its deadline' : ending;
    const near = SITES.map((name) => {
      const isPretending = name === 'south' && script.pretends === true;
      return new SimulatedSite({ name, ignoresCase, lostActionEnds, isPretending }, parts);
    });
    const east = { name: 'east', ignoresCase: false, lostActionEnds: 'with its call', isRemote: true } as const;
    const site = new SimulatedSite(east, parts);
    this.sites = script.proxies ? [...near, site] : near;
    const machines = script.proxies ? MACHINES : [];
    const entry = { ...entryOf('east', 'report'), match: { kind: null, properties: {} } };
    this.proxies = machines.map(({ serial, tags }) => new SimulatedProxy(this, { serial, tags, seed, site, entry }));
    for (const proxy of this.proxies) proxy.start();
  }

  tell(who: string, what: () => string): void {
    this.story?.tell(who, what());
  }

  /** Notes the first promise that does not hold. */
  fail(promise: string, facts: string): void {
    this.violation ??= { promise, facts };
    this.tell('BROKEN', () => `${promise}: ${facts}`);
  }

  disturb(): void {
    this.disturbances.push(this.scheduler.now);
  }

  /** Returns a site by its name, or by the provider entry of its servers. */
  site(name: string): SimulatedSite {
    const own = siteOfEntry(name);
    const site = this.sites.find(({ options }) => options.name === own);
    if (site === undefined) throw new Error(`there is no site ${name}`);
    return site;
  }

  setSite(name: string, mood: SiteMood): void {
    if (this.site(name).mood === mood) return;
    this.site(name).mood = mood;
    this.tell(name, () => `is ${mood} from now on`);
  }

  /** Starts a controller, unless one runs. It is there after its store was read. */
  start(): void {
    if (!this.#life.isOver) return;
    const life: Life = { isOver: false };
    this.#life = life;
    this.#lives += 1;
    this.disturb();
    this.tell('controller', () => `starts (${this.#lives})`);
    void this.#open(life).catch((error: unknown) => {
      if (life.isOver) return;
      life.isOver = true;
      this.tell('controller', () => `could not start: ${String(error)}`);
      if (!this.disk.isFull) this.fail('the controller comes up', String(error));
      this.scheduler.after(60_000, null, () => this.start());
    });
  }

  /** The controller dies at once, and another starts after a while. */
  crash(loses: 'nothing' | 'copy' | 'store', downMs: number): void {
    if (this.#life.isOver) return;
    this.tell('controller', () => `is killed${loses === 'nothing' ? '' : `; its ${loses} is lost`}`);
    this.#image = this.rows.image();
    this.#wasDirty = this.disk.isDirty;
    this.#life.isOver = true;
    this.core = undefined;
    this.agent = undefined;
    this.disk.cut();
    for (const site of this.sites) site.abandon();
    if (loses === 'copy') {
      this.#here = new Set();
      this.hasLostCopy = true;
    }
    if (loses === 'store') this.#loseStore();
    this.scheduler.after(downMs, null, () => this.start());
  }

  /** Says "look now" to the controller, as a webhook does. */
  hint(): void {
    this.#hint();
  }

  /** Notes what came onto the branch; most pushes are followed by a hint. */
  pushed(words: string, commit: string): void {
    this.disturb();
    this.tell('people', () => `commit ${commit}: ${words}`);
    const { files } = this.git.at(commit);
    for (const path of [GLOBAL, LAB, SMALL]) if (isGone(files, path)) this.rows.goneLayers.add(path);
    this.#hintSoon();
  }

  rewritten(words: string): void {
    this.disturb();
    this.tell('people', () => words);
    this.git.acknowledged.clear();
    this.#hintSoon();
  }

  /** Returns the id of a request whose file means this. */
  request(file: ModelFile | undefined): string {
    const id = `request-${this.#requests.size}`;
    this.#requests.set(id, file);
    return id;
  }

  /** Lets everything happen until then, or until a promise is broken. */
  async run(until: number): Promise<void> {
    const eventsMax = this.scheduler.count + 30_000;
    while (this.violation === undefined && this.scheduler.begin(until)) {
      await quiet();
      this.poll();
      if (this.scheduler.count > eventsMax) this.fail('everything comes to rest', 'there were 30,000 events in a row');
    }
  }

  /** Looks at what is, after an event. */
  poll(): void {
    this.followed.note();
    const missed = this.core?.reconciler.missedWakeUps ?? 0;
    if (missed > 0) this.fail('no wake-up is lost', `the controller's own sweep woke ${missed}`);
    this.rows.step(this.#isNew);
    this.#isNew = false;
    this.#checkWaits();
  }

  /** The run is over: nothing of it goes on. */
  close(): void {
    this.#life.isOver = true;
  }

  /** Lets happen at once what follows from what somebody just did. */
  async settleTurn(): Promise<void> {
    await quiet();
    this.poll();
  }

  isVanished(name: string): boolean {
    return this.#vanished.has(name);
  }

  /** Notes that a server is gone though nobody was asked. */
  vanished(server: SiteServer): void {
    this.#vanished.add(server.name);
    this.calls.vanished(server);
  }

  #checkWaits(): void {
    if (this.scheduler.now < this.#waitsSeen + WAITS_MS) return;
    this.#waitsSeen = this.scheduler.now;
    watchWaits(this, this.#waits);
  }

  #hintSoon(): void {
    const luck = drawn(this.#seed, `hint ${this.#hints++}`);
    if (luck < 0.85) this.scheduler.after(luck ** 5 * 3_000, null, () => this.hint());
  }

  async #open(life: Life): Promise<void> {
    const { scheduler, wall } = this;
    for (const site of this.sites) site.restarted();
    const clock = clockOf(scheduler, wall, life);
    const lock = { check: () => undefined, [Symbol.dispose]: () => undefined };
    const opened = await openStore('/store', lock, { files: this.disk.files(life), compactionBytes: 30_000 });
    const store = this.rows.watched(opened);
    this.#compareImages();
    const registry = createProviderRegistry(
      this.#execution.providers,
      ({ name }) => this.site(name).provider(life),
      this.proxies.length > 0 ? this.#execution.proxied : undefined,
    );
    const source = this.git.source(life, this.#here);
    const publisher = this.git.publisher(life, (message, _path, _text) => this.#meaningOf(message));
    const random = (): number => drawn(this.#seed, `random ${this.calls.count}`);
    const triggers: Trigger[] = [createPollTimer(POLL_MS, clock), this.#hintTrigger()];
    const outside = { store, registry, source, publisher, triggers, clock, random, log: this.log() };
    const core = await wireCore({
      ...outside,
      opened: new AsyncDisposableStack(),
      execution: this.#execution,
      writes: 'commit',
      compareMs: COMPARE_MS,
      yieldToOthers: quiet,
    });
    this.core = core;
    const { proxyWork: work } = core.reconciler;
    const registered: Reader['registered'] = (serial) => core.reader.registered(serial);
    this.agent = work && createAgent({ work, clock, registered });
    core.follower.start();
  }

  #hintTrigger(): Trigger {
    return {
      start: (poll) => {
        this.#hint = poll;
      },
      stop: async () => undefined,
    };
  }

  /** A delete over REST covers what the instance has in the commit before it, also what came after the request. */
  #approveDeleted({ parents, files }: GitCommit): void {
    const [parent] = parents;
    if (parent === undefined) return;
    const before = this.git.at(parent).files;
    for (const instance of INSTANCES) {
      const shape = before.get(pathOf(instance))?.shape;
      if (shape === undefined || files.has(pathOf(instance))) continue;
      for (const server of serversOf(shape)) this.approved.add(server);
    }
  }

  /** Listens for what the controller itself calls impossible. */
  log(): Logger {
    const ignore = (): void => undefined;
    const listen = (facts: { readonly err?: unknown }): void => {
      const words = facts.err instanceof Error ? facts.err.message : '';
      const isOwn =
        words.startsWith('invariant broken') || facts.err instanceof TypeError || facts.err instanceof RangeError;
      if (isOwn) this.fail('the controller never meets what it calls impossible', words);
    };
    const log = {
      error: listen,
      warn: listen,
      info: ignore,
      debug: ignore,
      trace: ignore,
      fatal: listen,
      child: () => log,
      isLevelEnabled: () => false,
    };
    return log as unknown as Logger;
  }

  #meaningOf(message: string): ModelFile | undefined {
    const id = /^Treeline-Request-Id: (.*)$/m.exec(message)?.[1] ?? '';
    return this.#requests.get(id);
  }

  /** What was shown is durable: after a crash it is there, unless the very commit under way changed it. */
  #compareImages(): void {
    const before = this.#image;
    this.#image = undefined;
    if (before === undefined || this.#wasDirty) return;
    const after = this.rows.image();
    for (const [row, text] of before) {
      if (after.get(row) !== text) this.fail('nothing acknowledged is lost over a crash', `${row} is not as it was`);
    }
  }

  #loseStore(): void {
    this.disk.wipe();
    this.#here = new Set();
    this.#image = undefined;
    this.followed.forget();
    for (const name of this.calls.forget()) this.orphans.add(name);
    for (const site of this.sites) for (const { name } of site.servers) this.orphans.add(name);
  }

  /** Nobody knows it any more: who wants its name later finds a stranger's. */
  #noteRetained(server: string): void {
    if (!this.asked.retained.has(server)) return;
    if (this.sites.some((site) => site.find(server) !== undefined)) this.orphans.add(server);
  }

  #isMade(server: string): boolean {
    return (
      this.core?.ledger.server(server)?.applied != null ||
      this.calls.made.has(server) ||
      this.adopted.has(server) ||
      this.sites.some((site) => site.find(server) !== undefined)
    );
  }

  /** A commit may say how many deletes are all right; whatever goes with it is approved, if it is no more than that. */
  #noteTrailer(): void {
    const last = this.followed.last;
    const before = this.followed.all.at(-2);
    if (last === undefined || this.core === undefined) return;
    const old = before === undefined ? new Set() : this.git.historyOf(before.commit);
    const messages = [...this.git.historyOf(last.commit)]
      .filter((one) => !old.has(one))
      .map((one) => this.git.at(one).message);
    const counts = messages.flatMap((message) => Number(/^Treeline-Approve-Deletes: (\d+)$/m.exec(message)?.[1] ?? 0));
    if (Math.max(0, ...counts) === 0) return;
    for (const [name, row] of this.core.ledger.list('server')) {
      if (row.wanted === null || row.replacing) this.approved.add(name);
    }
  }
}

function entryOf(name: string, drift: DriftPolicy): ProviderSettings {
  return {
    ...{ name, match: { kind: null, properties: { site: name } }, implementation: 'simulated' },
    options: { file: '', createMs: 0, updateMs: 0, deleteMs: 0, checkMs: 0, failRate: 0, seed: 1 },
    ...{ timeoutSeconds: 60, checkSeconds: 300, drift, concurrency: 3, retry: RETRY },
  };
}

function policyIn({ providers }: ExecutionSettings, name: string): DriftPolicy {
  return providers.find((entry) => entry.name === name)?.drift ?? 'report';
}
