// The process of one replica, from its start to its end: the real lease, roles, store over PostgreSQL and standby follower, built as
// src/compose.ts and src/compose/ do, without listeners.
import { type ShownStore, showStore, startCore, type WiredCore } from '../../src/compose/core.ts';
import { type BuiltRole, Roles } from '../../src/compose/roles.ts';
import { StandbyFollower, showAllWritten } from '../../src/follow/standby-follower.ts';
import type { Provider } from '../../src/providers/provider.ts';
import type { LowdbStore } from '../../src/store/lowdb-store.ts';
import { Lease } from '../../src/store/postgres/lease.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-adapter.ts';
import type { ReplicaTime } from './replica-time.ts';
import type { Life } from './scheduler.ts';
import { clockOfReplica, type Process } from './simulated-clock.ts';
import { logOf, partsOfCore, type SimulatedControllerOptions, triggerOf } from './simulated-controller.ts';
import type { Link, SimulatedDatabase } from './simulated-database.ts';
import { simulatedPauses } from './simulated-pauses.ts';
import type { SimulatedSite } from './simulated-site.ts';
import type { World } from './world.ts';

/** How long a lease lasts. */
export const LEASE_MS = 10_000;
/** How long calls may go on when a leader stops. */
const STOP_CALLS_MS = 30_000;

/** What all replicas share. */
export interface SharedParts {
  readonly world: World;
  readonly database: SimulatedDatabase;
  readonly time: ReplicaTime;
  readonly options: SimulatedControllerOptions;
}

interface ReplicaOptions extends SharedParts {
  readonly name: string;
  /** The commits in its local copy of the repository. */
  readonly here: Set<string>;
  readonly isCut: boolean;
  readonly onSaved: () => void;
}

export class ReplicaProcess implements Process, Link {
  readonly life: Life = { isOver: false };
  asleepMs = 0;
  /** When it woke last, or will. */
  awakeAt = 0;
  fencing = 0;
  isCut: boolean;
  /** What happens to it in its next transaction, and at which step. */
  fault: { readonly in: string; readonly strike: () => void } | undefined;
  /** Undefined while it opens the store. */
  lease: Lease | undefined;
  store: LowdbStore | undefined;
  shown: ShownStore | undefined;
  /** What it does at present. */
  role: 'leader' | 'standby' | undefined;
  #core: WiredCore | undefined;
  #standby: StandbyFollower | undefined;
  #roles: Roles<BuiltRole> | undefined;
  readonly #options: ReplicaOptions;
  #hint: () => void = () => undefined;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.isCut = options.isCut;
  }

  get isPaused(): boolean {
    return (this.life.pausedUntil ?? 0) > this.#options.world.scheduler.now;
  }

  /** The core while it leads, as far as it knows. */
  get core(): WiredCore | undefined {
    return this.role === 'leader' ? this.#core : undefined;
  }

  /** The core while anything of it works: also while it stops, and answers nobody any more. */
  get working(): WiredCore | undefined {
    return this.#core;
  }

  /** Opens the store, and stands by. */
  async open(): Promise<void> {
    const { world, database, time, options, name, onSaved } = this.#options;
    const [clock, log] = [clockOfReplica(world, world.scheduler, this), logOf(world)];
    const breathe = simulatedPauses(world.scheduler, options.seed)(this.life);
    const url = { url: 'postgres://treeline@simulated/treeline', connect: database.connect(this) };
    const lease = new Lease(url, {
      ...{ name, leaseSeconds: LEASE_MS / 1000, clock: clockOfReplica(world, time, this), log },
      onTaken: () => void this.#roles?.switchTo('leader'),
      onLost: (reason) => {
        world.tell(name, () => `leads no more: ${reason}`);
        return this.#roles?.switchTo('standby');
      },
    });
    const store = await openPostgresStore(url, { log, clock, breathe, lease, onSaved });
    const isNewest = (): boolean => this.fencing === database.tables.fencing;
    this.shown = showStore(world.rows.watched(store, isNewest), breathe);
    this.store = store;
    this.lease = lease;
    const make = { leader: () => this.#leadOrRest(lease), standby: () => this.#standBy() };
    this.#roles = await Roles.begin<BuiltRole>({ make, show: (role) => this.#show(role), clock, log }, 'standby');
    lease.start();
  }

  /** Ends in order. */
  async stop(): Promise<void> {
    await this.#roles?.stop();
    await this.lease?.close();
  }

  onStep(step: string): void {
    const { fault } = this;
    if (fault?.in !== step) return;
    this.fault = undefined;
    fault.strike();
  }

  /** Another replica has committed. */
  wake(): void {
    if (!this.isCut) this.#options.world.scheduler.after(20, this.life, () => this.#standby?.wake());
  }

  /** As a webhook does. */
  hint(): void {
    this.#hint();
  }

  #show(role: BuiltRole | undefined): void {
    this.role = undefined;
    if (role === undefined) return;
    this.role = this.#standby === undefined ? 'leader' : 'standby';
    this.#core?.follower.start();
  }

  #followed() {
    const { world, time, options, here } = this.#options;
    const { store, shown } = this;
    if (store === undefined || shown === undefined) throw new Error('the store is not open');
    return {
      ...{ ...shown, refresh: () => store.refresh(), source: world.git.source(this.life, here), log: logOf(world) },
      clock: clockOfReplica(world, time, this),
      breathe: simulatedPauses(world.scheduler, options.seed)(this.life),
    };
  }

  async #standBy(): Promise<BuiltRole> {
    const follower = new StandbyFollower(this.#followed());
    follower.start();
    this.#standby = follower;
    return {
      stop: async () => {
        this.#standby = undefined;
        await follower.stop();
      },
    };
  }

  /** As in src/compose.ts: who cannot lead leaves it to others. */
  async #leadOrRest(lease: Lease): Promise<BuiltRole> {
    try {
      return await this.#lead(lease);
    } catch (error) {
      void this.#roles?.switchTo('standby');
      void lease.backOff();
      throw error;
    }
  }

  async #lead(lease: Lease): Promise<BuiltRole> {
    const { world, database, options, name, here } = this.#options;
    const followed = this.#followed();
    await showAllWritten(followed, lease.leaderlessMs);
    const { store, shown, fencing } = this;
    if (store === undefined || shown === undefined || lease.fencing !== fencing) throw new Error('it leads no more');
    world.disturb();
    world.tell(name, () => `leads with the fencing number ${fencing}`);
    const isNewest = database.tables.fencing === fencing;
    if (isNewest && store.revision !== database.tables.revision)
      world.fail('a new leader begins with everything that is written', `${name} shows the commit ${store.revision}`);
    if (isNewest) world.restores.opened(store);
    await using opened = new AsyncDisposableStack();
    opened.defer(() => {
      shown.ledger.forgetWatchers();
      shown.current.forgetWatchers();
    });
    const leads = (): boolean => lease.fencing === fencing;
    const parts = partsOfCore(world, options, {
      ...{ leads, store: world.rows.watched(store, () => fencing === database.tables.fencing), shown, opened },
      ...{ life: this.life, clock: clockOfReplica(world, world.scheduler, this), breathe: followed.breathe },
      source: world.git.source(this.life, here),
      here,
      trigger: triggerOf((poll) => {
        this.#hint = poll;
      }),
      provide: (site) => this.#provide(site, fencing),
    });
    const core = await startCore(parts, STOP_CALLS_MS);
    this.#core = core;
    const running = opened.move();
    running.defer(
      async () => void (await Promise.all([core.stopWaiting(), leads() ? undefined : core.reconciler.stop(0)])),
    );
    return {
      stop: async () => {
        await running.disposeAsync();
        this.#core = undefined;
      },
    };
  }

  /** Returns a site as this leader calls it: who hangs or sleeps hears of no answer before it goes on. */
  #provide(site: SimulatedSite, fencing: number): Provider {
    const { world, database, name } = this.#options;
    const provider = site.provider(this.life);
    const heard = async (): Promise<void> => {
      if (this.isPaused) await world.scheduler.pause(0, this.life);
    };
    return {
      ...provider,
      perform: async (call, signal) => {
        if (database.tables.fencing !== fencing) {
          const facts = `${name} begins ${call.operation} ${call.resource} with ${fencing}, and ${database.tables.fencing} leads`;
          world.fail('no call begins under a former fencing number', facts);
        }
        try {
          return await provider.perform(call, signal);
        } finally {
          await heard();
        }
      },
    };
  }
}
