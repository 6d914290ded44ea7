// The replicas of a run in place of the one controller: they share a database, are killed, stopped, paused and cut off from it, and one of
// them leads. What a controller is asked goes to the leader.

import type { Agent } from '../../src/agents/agent.ts';
import type { WiredCore } from '../../src/compose/core.ts';
import { isOfRows } from '../../src/follow/restore.ts';
import type { Changes, Deed, Loses } from './actions.ts';
import { ReplicaTime } from './replica-time.ts';
import type { SimulatedControllerOptions } from './simulated-controller.ts';
import { SimulatedDatabase } from './simulated-database.ts';
import { LEASE_MS, ReplicaProcess } from './simulated-replica.ts';
import type { World } from './world.ts';

/** How long a start that failed is not tried again. */
const START_AGAIN_MS = 2_000;
/** Longer than that a stop does not take: it becomes a kill. */
const STOP_MS = 60_000;

/** A machine, with the process on it. */
interface Machine {
  readonly name: string;
  process: ReplicaProcess | undefined;
  /** The commits in the local copy of the repository. */
  here: Set<string>;
  /** Until when it is cut off from the database. */
  cutUntil: number;
  /** What was noted of its rows and desired state last. */
  noted: string;
}

type Fault = Extract<Deed, { readonly kind: 'replica' }>;

export class SimulatedReplicas {
  readonly lostAt: readonly number[] = [];
  readonly #world: World;
  readonly #options: SimulatedControllerOptions;
  readonly #time: ReplicaTime;
  readonly #database: SimulatedDatabase;
  readonly #machines: readonly Machine[];

  constructor(world: World, options: SimulatedControllerOptions, count: number) {
    this.#world = world;
    this.#options = options;
    const { scheduler, disk } = world;
    this.#time = new ReplicaTime(scheduler, () => this.#isSettled());
    this.#database = new SimulatedDatabase({ scheduler, time: this.#time, seed: options.seed, disk });
    this.#database.onSaved = (by) => {
      const { fencing } = this.#database.tables;
      if (by.fencing !== fencing)
        world.fail('no commit comes from a former leader', `one of ${by.fencing}, and ${fencing} leads`);
    };
    this.#machines = Array.from({ length: count }, (_, at) => ({
      ...{ name: `replica ${at + 1}`, process: undefined, here: new Set<string>(), cutUntil: 0, noted: '' },
    }));
  }

  /** That of the leader with the greatest fencing number; none while its process does not run. */
  get core(): WiredCore | undefined {
    const leader = this.#leader?.process;
    return leader?.isPaused === true ? undefined : leader?.core;
  }

  /** That of the leader, also while it stops. */
  get working(): WiredCore | undefined {
    const leader = this.#working?.process;
    // One that hung, and wakes where nobody else is there, shows what was in force before the lead that it missed.
    const isOver = leader?.fencing !== this.#database.tables.fencing;
    return isOver || leader?.isPaused === true ? undefined : leader?.working;
  }

  get agent(): Agent | undefined {
    return this.core?.agent;
  }

  isHere(commit: string): boolean {
    return this.#working?.here.has(commit) === true;
  }

  /** Starts those that do not run. */
  start(): void {
    for (const machine of this.#machines) this.#start(machine);
  }

  /** Kills the leader. The database is never lost. */
  crash(loses: Loses, downMs: number, _changes: Changes = {}): void {
    const machine = this.#leader ?? this.#machines.find(({ process }) => process !== undefined);
    if (machine !== undefined) this.#kill(machine, downMs, loses === 'copy');
  }

  /** What one controller could be put back to several cannot. */
  backUp(): void {
    this.#world.tell('people', () => 'make no backup of the database');
  }

  hint(): void {
    if (this.core !== undefined) this.#leader?.process?.hint();
  }

  /** Something happens to the leader or to a standby. */
  strike({ which, does, ms, in: step }: Fault): void {
    const leader = this.#leader;
    const others = this.#machines.filter((machine) => machine !== leader && machine.process !== undefined);
    const machine = which === 'leader' ? leader : others[0];
    if (machine?.process === undefined) return;
    // That its lease is renewed is a transaction too.
    this.#time.move();
    const strike = (): void => this.#strike(machine, does, ms);
    if (step === undefined) strike();
    else machine.process.fault = { in: step, strike };
  }

  #strike(machine: Machine, does: Fault['does'], ms: number): void {
    if (does === 'kill') this.#kill(machine, ms, false);
    else if (does === 'stop') this.#stop(machine, ms);
    else if (does === 'cut') this.#cut(machine, ms);
    else this.#pause(machine, ms, does === 'sleep');
  }

  /** Has leases run on for a while: the clock on the wall is set, by which they may be over. */
  watchLeases(): void {
    this.#time.move();
  }

  /** One sleeps, or its last lease from before that may not be over yet by what its machine counts. */
  get isAnyAsleep(): boolean {
    const { now } = this.#world.scheduler;
    return this.#machines.some(({ process }) => process !== undefined && now - process.awakeAt < LEASE_MS);
  }

  /** Sets the clock of the database. */
  stepDatabase(ms: number): void {
    this.#time.move();
    this.#database.step(ms);
    this.#world.tell('database', () => `its clock is set by ${ms / 1000} s`);
  }

  /** Nothing lasts longer than its fault. */
  mend(): void {
    this.#time.move();
    for (const machine of this.#machines) {
      machine.cutUntil = 0;
      if (machine.process !== undefined) machine.process.isCut = false;
      this.#start(machine);
    }
  }

  /** Looks at what standbys show, after an event: one moment that a leader has activated. */
  watch(): void {
    for (const machine of this.#machines) {
      const { shown, store, role, isPaused } = machine.process ?? {};
      if (shown === undefined || store === undefined || role !== 'standby' || isPaused) continue;
      const { ledger, current } = shown;
      const desired = current.get();
      const noted = `${store.revision} ${current.version} ${desired?.commit}`;
      if (noted === machine.noted) continue;
      machine.noted = noted;
      if (desired !== undefined && !isOfRows(desired, ledger)) {
        const facts = `${machine.name} shows ${desired.commit}, and rows of ${ledger.read('head', 'head')?.commit}`;
        this.#world.fail('a standby shows rows and desired state of one moment', facts);
      }
      if (store.revision > this.#database.tables.revision)
        this.#world.fail('a standby shows what is written', `${machine.name} is at the commit ${store.revision}`);
    }
  }

  /** Once everything is at rest: one leads, and all show the same. */
  judge(): void {
    const commit = this.core?.current.get()?.commit;
    const head = this.core?.ledger.read('head', 'head')?.commit;
    for (const { name, process, here } of this.#machines) {
      const [shown, revision] = [process?.shown?.current.get()?.commit, process?.store?.revision];
      const facts = `${name} is ${process?.role ?? 'nothing'} and shows ${shown} at ${revision}`;
      const isLeader = process?.core !== undefined && process.core === this.core;
      if (isLeader !== (process?.role === 'leader')) this.#world.fail('one replica leads', facts);
      // After the branch was set back, one whose copy lacks the followed commit gets it from nowhere, whether the leader has it or not.
      const { git } = this.#world;
      if (head !== undefined && !here.has(head) && !git.historyOf(git.head).has(head)) continue;
      // One that has it goes on showing it beside a leader that lacks it and shows nothing.
      const isLost = head !== undefined && commit === undefined && !this.isHere(head);
      if (shown !== (isLost ? head : commit) || revision !== this.#database.tables.revision)
        this.#world.fail('every replica shows the newest', `${facts}; ${commit} is in force`);
    }
  }

  close(): void {
    for (const { process } of this.#machines) if (process !== undefined) process.life.isOver = true;
  }

  get #leader(): Machine | undefined {
    return this.#newest(({ core }) => core !== undefined);
  }

  get #working(): Machine | undefined {
    return this.#newest(({ working }) => working !== undefined);
  }

  /** Returns the machine with the highest fencing number among those whose process is such a one. */
  #newest(isOne: (process: ReplicaProcess) => boolean): Machine | undefined {
    let newest: Machine | undefined;
    for (const machine of this.#machines) {
      if (machine.process === undefined || !isOne(machine.process)) continue;
      if (machine.process.fencing > (newest?.process?.fencing ?? 0)) newest = machine;
    }
    return newest;
  }

  /** One leads, and all run and reach the database. */
  #isSettled(): boolean {
    const roles = this.#machines.map(({ process }) => process?.role);
    const isWell = ({ process }: Machine): boolean => process?.isPaused === false && !process.isCut;
    return (
      this.#machines.every(isWell) && !roles.includes(undefined) && roles.filter((it) => it === 'leader').length === 1
    );
  }

  #start(machine: Machine): void {
    if (machine.process !== undefined) return;
    const { name, here } = machine;
    const world = this.#world;
    this.#happens(machine, 'starts');
    const process = new ReplicaProcess({
      ...{ world, database: this.#database, time: this.#time, options: this.#options, name, here },
      isCut: machine.cutUntil > world.scheduler.now,
      onSaved: () => {
        for (const { process: other } of this.#machines) if (other !== process) other?.wake();
      },
    });
    machine.process = process;
    void process.open().catch((error: unknown) => {
      if (process.life.isOver) return;
      this.#happens(machine, `could not start: ${String(error)}`);
      this.#end(machine, START_AGAIN_MS);
    });
  }

  #kill(machine: Machine, downMs: number, losesCopy: boolean): void {
    this.#happens(machine, losesCopy ? 'is killed; lost: copy' : 'is killed', downMs);
    if (losesCopy) machine.here = new Set();
    this.#end(machine, downMs);
  }

  /** In order, unless that takes too long. */
  #stop(machine: Machine, downMs: number): void {
    const { process } = machine;
    if (process === undefined || process.isPaused) return;
    this.#happens(machine, 'stops', STOP_MS);
    const end = (): void => {
      if (process.life.isOver) return;
      this.#happens(machine, 'has stopped', downMs);
      this.#end(machine, downMs);
    };
    this.#world.scheduler.after(STOP_MS, null, end);
    void process.stop().then(end);
  }

  /** Its process is stopped by a signal, or sleeps with its machine. */
  #pause(machine: Machine, ms: number, isAsleep: boolean): void {
    const { process } = machine;
    if (process === undefined || process.isPaused) return;
    const { scheduler, wall } = this.#world;
    const sleeps = isAsleep && scheduler.now - wall.setAt > LEASE_MS;
    this.#happens(machine, `${sleeps ? 'sleeps' : 'hangs'} for ${ms / 1000} s`, ms);
    process.life.pausedUntil = scheduler.now + ms;
    if (!sleeps) return;
    process.asleepMs += ms;
    process.awakeAt = scheduler.now + ms;
  }

  #cut(machine: Machine, ms: number): void {
    const { scheduler } = this.#world;
    this.#happens(machine, `is cut off from the database for ${ms / 1000} s`, ms);
    machine.cutUntil = scheduler.now + ms;
    if (machine.process !== undefined) machine.process.isCut = true;
    scheduler.after(ms, null, () => {
      if (machine.process !== undefined && machine.cutUntil <= scheduler.now) machine.process.isCut = false;
    });
  }

  #end(machine: Machine, downMs: number): void {
    const { process } = machine;
    if (process === undefined) return;
    machine.process = undefined;
    process.life.isOver = true;
    this.#database.drop(process.life);
    for (const site of this.#world.sites) site.abandon(process.life);
    this.#world.scheduler.after(downMs, null, () => this.#start(machine));
  }

  #happens({ name }: Machine, words: string, ms = 0): void {
    this.#time.move(ms);
    this.#world.disturb();
    this.#world.tell(name, () => words);
  }
}
