// The controllers of a run: one at a time, with the real parts, that starts, is killed at any moment, and starts again from
// what its store and its local copy still hold.

import type { Agent } from '../../src/agents/agent.ts';
import type { Breathe } from '../../src/base/breathe.ts';
import type { Logger } from '../../src/base/log.ts';
import { type WiredCore, wireCore } from '../../src/compose/core.ts';
import { longestActionMs, RECOVERY, recoverRows } from '../../src/machine/recovery.ts';
import type { ExecutionSettings } from '../../src/model/settings.ts';
import { createProviderRegistry } from '../../src/providers/provider-registry.ts';
import type { Trigger } from '../../src/repository/source.ts';
import { createPollTimer } from '../../src/repository/triggers.ts';
import { openStore } from '../../src/store/lowdb-store.ts';
import type { Store } from '../../src/store/store.ts';
import type { Changes, Loses } from './actions.ts';
import { siteOfRow } from './build-sites.ts';
import { drawn } from './chance.ts';
import { ORDER } from './people.ts';
import { type Life, never, type Scheduler } from './scheduler.ts';
import { clockOf } from './simulated-clock.ts';
import type { Image } from './simulated-disk.ts';
import type { MeaningOf } from './simulated-git.ts';
import { POLL_MS } from './simulated-settings.ts';
import type { World } from './world.ts';

/** How long after a failed start the next one comes. */
const START_AGAIN_MS = 60_000;

interface SimulatedControllerOptions {
  readonly seed: number;
  readonly execution: ExecutionSettings;
  readonly meaningOf: MeaningOf;
}

export class SimulatedController {
  /** Undefined while none runs, and until its store is read. */
  core: WiredCore | undefined;
  /** The interface of the running controller for proxies. */
  agent: Agent | undefined;
  /** When its whole directory was lost, in simulated time. */
  readonly lostAt: number[] = [];
  readonly #world: World;
  readonly #options: SimulatedControllerOptions;
  readonly #breatheOf: (life: Life) => Breathe;
  #life: Life = { isOver: true };
  #lives = 0;
  #hint: () => void = () => undefined;
  /** The commits in the local copy of the repository. */
  #here = new Set<string>();
  /** The rows that the last controller's store showed when it died. */
  #image: ReadonlyMap<string, string> | undefined;
  #wasDirty = false;
  #backup: Image | undefined;
  /** What of the store was lost before the next start. */
  #lost: Exclude<Loses, 'nothing' | 'copy'> | undefined;

  constructor(world: World, options: SimulatedControllerOptions) {
    this.#world = world;
    this.#options = options;
    this.#breatheOf = simulatedPauses(world.scheduler, options.seed);
  }

  /** Starts a controller, unless one runs. It is there after its store was read. */
  start(): void {
    if (!this.#life.isOver) return;
    const world = this.#world;
    const life: Life = { isOver: false };
    this.#life = life;
    this.#lives += 1;
    world.tell('controller', () => `starts (${this.#lives})`);
    void this.#open(life).catch((error: unknown) => {
      if (life.isOver) return;
      life.isOver = true;
      world.tell('controller', () => `could not start: ${String(error)}`);
      if (!world.disk.isFull) world.fail('the controller comes up', String(error));
      world.scheduler.after(START_AGAIN_MS, null, () => this.start());
    });
  }

  /** Kills the controller at once, and starts another after a while. */
  crash(loses: Loses, downMs: number, changes: Changes = {}): void {
    if (this.#life.isOver) return;
    const world = this.#world;
    world.tell('controller', () => `is killed${loses === 'nothing' ? '' : `; lost: ${loses}`}`);
    // A restored backup that no controller has opened yet is not what the rows were.
    this.#image = this.#lost === undefined ? world.rows.image() : undefined;
    this.#wasDirty = world.disk.isDirty;
    this.#life.isOver = true;
    this.core = undefined;
    this.agent = undefined;
    world.disk.cut();
    for (const site of world.sites) site.abandon(this.#life);
    if (loses === 'copy' || loses === 'store') this.#here = new Set();
    if (loses === 'store') this.lostAt.push(world.scheduler.now);
    if (loses === 'store' || loses === 'rows') this.#loseStore(loses);
    if (loses === 'since backup' && this.#backup !== undefined) {
      this.#loseStore(loses);
      world.disk.putBack(this.#backup);
    }
    this.#change(changes);
    world.scheduler.after(downMs, null, () => this.start());
  }

  /** Makes a backup of the store, if a controller has opened it. */
  backUp(): void {
    if (this.core === undefined) return;
    this.#backup = this.#world.disk.image();
    this.#world.tell('people', () => 'back up');
  }

  #change({ place, kind }: Changes): void {
    const { git, tell, site } = this.#world;
    if (place !== undefined) git.place = { ...git.place, ...place };
    if (kind !== undefined) site.call(this.#world, kind.site).changeKind(kind.ends);
    if (place !== undefined || kind !== undefined)
      tell.call(this.#world, 'people', () => `change the settings: ${JSON.stringify({ place, kind })}`);
  }

  /** Asks the controller for a poll, as a webhook does. */
  hint(): void {
    this.#hint();
  }

  /** Ends it with the run. */
  close(): void {
    this.#life.isOver = true;
  }

  async #open(life: Life): Promise<void> {
    const { scheduler, wall, rows, sites, proxies, git, disk, calls } = this.#world;
    for (const site of sites) site.restarted();
    const clock = clockOf(scheduler, wall, life);
    const lock = { check: () => undefined, [Symbol.dispose]: () => undefined };
    const breathe = this.#breatheOf(life);
    const opened = await openStore('/store', { adapter: disk.adapter(life), lock, breathe });
    const lostRows = this.#lost === 'rows' ? 'the store is empty, and its directory is not' : undefined;
    if (this.#lost === 'since backup') {
      this.#noteGone(opened);
      const runsMs = longestActionMs(this.#options.execution);
      await opened.commit(recoverRows(opened, { reason: 'the store was restored', now: wall.now(), runsMs }));
      calls.restored(opened);
    }
    this.#lost = undefined;
    const store = rows.watched(opened);
    this.#compareImages();
    const { seed, execution, meaningOf } = this.#options;
    const hinted: Trigger = {
      start: (poll) => {
        this.#hint = poll;
      },
      stop: async () => undefined,
    };
    const core = wireCore({
      store,
      lostRows,
      clock,
      breathe,
      execution,
      opened: new AsyncDisposableStack(),
      log: logOf(this.#world),
      source: git.source(life, this.#here),
      registry: createProviderRegistry(
        execution.providers,
        ({ name }) => this.#world.site(name).provider(life),
        proxies.length > 0 ? execution.proxied : undefined,
      ),
      publisher: git.publisher(life, this.#here, meaningOf),
      triggers: [createPollTimer(POLL_MS, clock), hinted],
      random: () => drawn(seed, `random ${calls.count}`),
      writes: 'commit',
    });
    await core.started;
    this.core = core;
    this.agent = core.agent;
    core.follower.start();
    endRecoveries(this.#world, core, life);
  }

  /** Fails where a row that was shown is not there after a crash, unless the very commit under way changed it. */
  #compareImages(): void {
    const before = this.#image;
    this.#image = undefined;
    if (before === undefined || this.#wasDirty) return;
    const after = this.#world.rows.image();
    for (const [row, text] of before) {
      if (after.get(row) !== text)
        this.#world.fail('nothing acknowledged is lost over a crash', `${row} is not as it was`);
    }
  }

  /** Notes the servers that a restored store takes for made, and that are gone: deleted since the backup, mostly. */
  #noteGone(opened: Pick<Store, 'list'>): void {
    const { sites, goneUnasked } = this.#world;
    for (const [name, row] of opened.list('server')) {
      // What a recorded action has done is found by a check, as after a crash.
      if (row.applied === null || row.action !== null) continue;
      const site = sites.find(({ options }) => options.name === siteOfRow(row));
      if (site?.find(name) === undefined) goneUnasked.add(name);
    }
  }

  #loseStore(lost: Exclude<Loses, 'nothing' | 'copy'>): void {
    const { disk, followed, calls, orphans, goneUnasked, sites } = this.#world;
    this.#lost = lost;
    disk.wipe();
    this.#image = undefined;
    followed.forget();
    goneUnasked.clear();
    // Where something shows the controller before, what it has begun is waited for.
    for (const name of calls.forget({ isWaitedFor: lost !== 'store' })) orphans.add(name);
    for (const site of sites) for (const { name } of site.servers) orphans.add(name);
  }
}

const RESUME_MS = 60_000;
/** Places to which somebody moves the repository on purpose. */
const MOVED_DIRECTORY = 'platform';
const MOVED_URL = 'simulated, by another protocol';

/** Somebody looks from time to time, and resumes as soon as that is not refused. */
function endRecoveries(world: World, core: WiredCore, life: Life): void {
  world.scheduler.after(RESUME_MS, life, () => {
    endRecoveries(world, core, life);
    const row = core.ledger.read('recovery', RECOVERY);
    if (row === undefined || Date.parse(row.notBefore) > world.wall.now()) return;
    const held = core.operator.held().find(({ kind }) => kind === 'history');
    if (row.cause === 'repository' && held !== undefined) {
      const { directory, url } = world.git.place;
      const isMeant = directory === MOVED_DIRECTORY || url === MOVED_URL;
      if (isMeant) core.operator.acceptHistory(ORDER, held.digest.slice('history-'.length)).catch(() => undefined);
      return;
    }
    world.tell('people', () => `resume after a recovery: ${row.reason}`);
    core.operator.endRecovery(ORDER, { recovery: row.id, force: false }).catch(() => undefined);
  });
}

/** Returns a log that fails the run where a controller or a proxy meets what it calls impossible. */
export function logOf(world: World): Logger {
  const ignore = (): void => undefined;
  const listen = (facts: { readonly err?: unknown }): void => {
    const words = facts.err instanceof Error ? facts.err.message : '';
    const isOwn =
      words.startsWith('invariant broken') || facts.err instanceof TypeError || facts.err instanceof RangeError;
    if (isOwn) world.fail('the controller never meets what it calls impossible', words);
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

/** The most calls until a pause: as many as some derivations make. */
const CALLS_MAX = 60;
const PAUSE_MS_MAX = 1_500;

/**
 * Returns a function that returns the `breathe` of a controller, until its life is over. It pauses in the middle of derivations and
 * activations, and other events happen meanwhile: in a real one that takes thousands of servers.
 */
function simulatedPauses(scheduler: Scheduler, seed: number): (life: Life) => Breathe {
  let draws = 0;
  const draw = (below: number): number => Math.floor(drawn(seed, `slice ${draws++}`) * below);
  return (life) => {
    let left = draw(CALLS_MAX);
    return async () => {
      left -= 1;
      if (left >= 0) return;
      left = draw(CALLS_MAX);
      await scheduler.pause(draw(PAUSE_MS_MAX), life);
      if (life.isOver) await never();
    };
  };
}
