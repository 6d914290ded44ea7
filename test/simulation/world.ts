// One run's world: everything that is simulated, the controllers that live and die in it, and the watchers; and the steps
// in which its time passes.
import type { WiredCore } from '../../src/compose/core.ts';
import { Asked } from './asked.ts';
import { buildSites, proxiesOf } from './build-sites.ts';
import { Followed } from './followed.ts';
import { Pushes } from './pushes.ts';
import { quiet, Scheduler } from './scheduler.ts';
import type { Script } from './script.ts';
import { WallTime } from './simulated-clock.ts';
import { SimulatedController } from './simulated-controller.ts';
import { SimulatedDisk } from './simulated-disk.ts';
import { SimulatedGit } from './simulated-git.ts';
import { SimulatedProxy } from './simulated-proxy.ts';
import { executionOf, policyIn } from './simulated-settings.ts';
import type { SimulatedSite, SiteMood, SiteServer } from './simulated-site.ts';
import { CallWatch } from './watch-calls.ts';
import { watchClaims } from './watch-claims.ts';
import { DriftWatch } from './watch-drift.ts';
import { ProxyWatch } from './watch-proxies.ts';
import { RowWatch } from './watch-rows.ts';

/** A promise that did not hold, and the facts that show it. */
export interface Violation {
  readonly promise: string;
  readonly facts: string;
}

/** So many events in one go mean that the run does not come to rest. */
const EVENTS_MAX = 30_000;

export class World {
  readonly scheduler = new Scheduler();
  readonly wall = new WallTime(this.scheduler);
  readonly git: SimulatedGit;
  readonly disk: SimulatedDisk;
  readonly sites: readonly SimulatedSite[];
  readonly proxies: readonly SimulatedProxy[];
  readonly controller: SimulatedController;
  readonly pushes: Pushes;
  readonly followed: Followed;
  readonly calls: CallWatch;
  readonly drift: DriftWatch;
  readonly rows: RowWatch;
  readonly claims = new ProxyWatch(this);
  /** Names of servers whose delete or replacement an operator approved, until they are gone. */
  readonly approved = new Set<string>();
  /** When each digest was approved last, by the clock on the wall. */
  readonly answeredApprovals = new Map<string, number>();
  /** Names of servers that an operator asked to adopt. */
  readonly adopted = new Set<string>();
  readonly asked = new Asked(this.scheduler);
  /** When the store was lost the last time; those that were there by then are strangers' as far as anybody knows. */
  readonly orphans = new Set<string>();
  /** Servers that are gone by nothing that the store knows of, until they are there again or their row is forgotten. */
  readonly goneUnasked = new Set<string>();
  /** One line an event: time, actor, event. Undefined unless somebody wants to read it. */
  readonly story: string[] | undefined;
  violation: Violation | undefined;
  /** How many servers the controller's own sweep may have woken. */
  #excusedWakes = 0;

  constructor(seed: number, script: Omit<Script, 'actions'>, isTold: boolean) {
    const execution = executionOf(script);
    this.story = isTold ? [] : undefined;
    this.followed = new Followed(this, () => this.#followsNew());
    this.drift = new DriftWatch(this, this.followed, (name) => policyIn(execution, name));
    this.calls = new CallWatch(this, this.followed, this.drift);
    this.rows = new RowWatch(this, {
      drift: this.drift,
      onRetained: (server) => this.#noteRetained(server),
      onMoved: (server) => this.orphans.add(server),
      isApproved: (incarnation) => this.calls.deletes.approvedDeletes.has(incarnation),
      forgetApproval: (server, incarnation) => this.calls.deletes.forgetApproval(server, incarnation),
    });
    this.git = new SimulatedGit(this.scheduler, this.wall, seed);
    this.disk = new SimulatedDisk(this.scheduler, seed);
    this.pushes = new Pushes(this, seed);
    this.git.onPushed = (commit) => this.pushes.written(commit);
    const meaningOf = (message: string) => this.pushes.meaningOf(message);
    const options = { seed, execution, meaningOf };
    this.controller = new SimulatedController(this, options);
    this.sites = buildSites(script, { scheduler: this.scheduler, seed, watch: this.calls });
    this.proxies = proxiesOf(this.sites, seed).map((options) => new SimulatedProxy(this, options));
    for (const proxy of this.proxies) proxy.start();
  }

  /** The controller that runs; undefined between two lives. */
  get core(): WiredCore | undefined {
    return this.controller.core;
  }

  tell(who: string, what: () => string): void {
    this.story?.push(`${timeOf(this.scheduler.now)}  ${who.padEnd(10)}  ${what()}`);
  }

  /** Notes the first promise that does not hold. */
  fail(promise: string, facts: string): void {
    this.violation ??= { promise, facts };
    this.tell('BROKEN', () => `${promise}: ${facts}`);
  }

  /** Returns a site by its name. */
  site(name: string): SimulatedSite {
    const site = this.sites.find(({ options }) => options.name === name);
    if (site === undefined) throw new Error(`there is no site ${name}`);
    return site;
  }

  setSite(name: string, mood: SiteMood): void {
    if (this.site(name).mood === mood) return;
    this.site(name).mood = mood;
    this.tell(name, () => `is ${mood} from now on`);
  }

  /** Lets everything happen until then, or until a promise is broken. */
  async run(until: number): Promise<void> {
    const eventsMax = this.scheduler.count + EVENTS_MAX;
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
    // After a step of the clock the times of the rows are wrong until that can be saved.
    if (this.disk.isFull && this.wall.setAt > Number.NEGATIVE_INFINITY) this.#excusedWakes = missed;
    // A pause between servers ends at a stored time: when the clock jumps over it, only the next resync sees that.
    if (this.wall.forwardMs > 0) this.#excusedWakes = missed;
    if (missed > this.#excusedWakes) this.fail('no wake-up is lost', `the controller's own sweep woke ${missed}`);
  }

  /** Lets happen at once what follows from what somebody just did. */
  async settleTurn(): Promise<void> {
    await quiet();
    this.poll();
  }

  /** Notes that a server is gone though nobody was asked. */
  vanished(server: SiteServer): void {
    this.goneUnasked.add(server.name);
    this.calls.vanished(server);
  }

  #followsNew(): void {
    this.pushes.followed(this.followed);
    watchClaims(this, this.followed);
  }

  /** Nobody knows it any more: who wants its name later finds a stranger's. */
  #noteRetained(server: string): void {
    if (!this.asked.retained.has(server) && !this.asked.retaining.has(server)) return;
    if (this.sites.some((site) => site.find(server) !== undefined)) this.orphans.add(server);
  }
}

/** `1:02:03.004` since the run began. */
function timeOf(ms: number): string {
  const seconds = (ms / 1000) % 60;
  const minutes = Math.floor(ms / 60_000) % 60;
  const hours = Math.floor(ms / 3_600_000);
  return `${hours}:${String(minutes).padStart(2, '0')}:${seconds.toFixed(3).padStart(6, '0')}`.padStart(13);
}
