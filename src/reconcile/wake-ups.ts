// Everything that ends a wait: it watches the rows that are written and the calls that end, and wakes exactly those who
// may go on. Also what has to be shared among those who wait: slots of groups and capacity of providers.

import type { Clock } from '../clock.ts';
import type { Capacity } from '../execute/capacity.ts';
import type { Logger } from '../log.ts';
import { isOrderWait } from '../machine/circles.ts';
import { groupOf } from '../machine/rollout.ts';
import { type Wait, waitReason } from '../machine/wait.ts';
import type { Change, ServerRow } from '../model/rows.ts';
import { CircleWatch, type Leave } from './circle-watch.ts';
import { isUp, updatesAreHeld } from './decision-context.ts';
import { GroupViews } from './group-views.ts';
import type { Ledger } from './ledger.ts';
import { SlotLines } from './slot-lines.ts';
import { Waiting } from './waiting.ts';

export interface WakeUpsOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Logger;
  readonly capacity: Pick<Capacity, 'hasCapacity' | 'reserve' | 'release'>;
  /** Asks for a look at a server. */
  readonly wake: (server: string) => void;
}

export class WakeUps {
  readonly groups: GroupViews;
  readonly #options: WakeUpsOptions;
  readonly #slots: SlotLines;
  readonly #waiting: Waiting;
  readonly #circles: CircleWatch;
  /**
   * Servers for which something was reserved and whose next pass has not begun. What was given while a pass is under way
   * is for the pass that follows: given back at the end of this one, two servers could hand it to each other for ever.
   */
  readonly #given = new Set<string>();

  constructor(options: WakeUpsOptions) {
    const { clock, log, ledger } = options;
    const wake = (server: string): void => this.#wake(server);
    this.#options = options;
    this.#slots = new SlotLines({ clock, wake, slotOf: (name) => this.groups.slotOf(name) });
    this.groups = new GroupViews({ ledger, clock, reserved: this.#slots });
    this.#waiting = new Waiting(this.#slots);
    this.#circles = new CircleWatch({
      ...{ clock, log, wake, rowOf: (server) => ledger.server(server) },
      graph: {
        waitOf: (server) => this.#waiting.of(server),
        slotsOf: (group, server) => this.groups.slotsOf(group, server),
      },
      // Dependencies alone form none: no commit is followed whose dependencies do.
      mayBeCircles: () => this.#waiting.count('holder') + this.#waiting.count('slot') > 0,
    });
    ledger.watch((change) => this.#onChange(change));
  }

  /** Returns what a server waits for; undefined where it does not wait. */
  waitOf(server: string): Wait | undefined {
    return this.#waiting.of(server);
  }

  /** Returns whether the time for which a server waits in its group has come, so that it is about to be woken. */
  isDue(server: string): boolean {
    const wait = this.#waiting.of(server);
    return wait?.kind === 'slot' && this.#slots.isDue(wait.group);
  }

  /** Returns why a server goes first although its wait is not over; undefined where it does not. */
  leaveOf(server: string, row: ServerRow): Leave | undefined {
    return this.#circles.leaveOf(server, row);
  }

  /** A pass over a server begins: it may use what is reserved for it. */
  passing(server: string): void {
    this.#given.delete(server);
  }

  /** A pass has decided that a server, whose row is `row` then, waits for this; undefined: it does not wait. */
  begin(server: string, row: ServerRow | null, wait: Wait | undefined): void {
    if (wait?.kind !== 'capacity') this.#circles.endLeave(server);
    if (row !== null && wait?.kind === 'capacity' && needsSlot(row)) this.#slots.reserve(server, groupOf(row));
    if (wait === undefined) {
      this.#waiting.end(server);
      return;
    }
    const isNew = this.#waiting.begin(server, wait);
    if (isOrderWait(wait)) this.#circles.note(server);
    const { log } = this.#options;
    if (isNew && log.isLevelEnabled('debug')) log.debug({ server, wait: waitReason(wait) }, 'waits');
  }

  /** A pass over a server is through: what was reserved for it and is not used goes to the next. */
  passed(server: string): void {
    const wait = this.#waiting.of(server);
    if (!this.#given.has(server)) this.#release(server, wait);
    if (wait?.kind === 'slot') this.#wakeGroup(wait.group);
    this.#giveCapacity();
  }

  /** A call for a server has ended, or does not follow. */
  called(server: string): void {
    const row = this.#options.ledger.server(server);
    if (row !== undefined) this.#wakeGroup(groupOf(row));
    this.#giveCapacity();
  }

  /** The clock was set: wakes those of groups that rest whose time has come. */
  wakeTimed(): void {
    for (const group of this.#slots.resting()) this.#wakeGroup(group);
  }

  /** Wakes nobody any more. */
  stop(): void {
    this.#circles.stop();
    this.#slots.stop();
  }

  #release(server: string, wait: Wait | undefined): void {
    this.#options.capacity.release(server);
    const group = wait?.kind === 'capacity' ? undefined : this.#slots.release(server);
    if (group !== undefined) this.#wakeGroup(group);
  }

  #onChange(change: Change): void {
    if (change.kind === 'server') this.#onServer(change);
    else if (change.kind === 'held' || change.kind === 'suspension')
      this.#wakeAll(this.#waiting.onInstance(change.name));
    else if (change.kind === 'rollout' || change.kind === 'approval') this.#wakeReleasedCommits();
  }

  #onServer({ name, expected: before, value }: Extract<Change, { kind: 'server' }>): void {
    const after = value ?? undefined;
    this.#wakeAll(this.#waiting.onServer(name, isUp(after)));
    const groups = new Set([before, after].flatMap((row) => (row === undefined ? [] : [groupOf(row)])));
    for (const group of groups) this.#wakeGroup(group);
    if (before?.gaveUp) this.#wakeReleasedCommits();
  }

  #wakeReleasedCommits(): void {
    for (const commit of this.#waiting.commits()) {
      if (!updatesAreHeld(commit, this.#options.ledger)) this.#wakeAll(this.#waiting.onFailures(commit));
    }
  }

  #wakeGroup(group: string): void {
    const first = this.#slots.wake(group);
    if (first !== undefined) this.#circles.note(first);
  }

  #giveCapacity(): void {
    const { capacity } = this.#options;
    const hasCapacity = (provider: string): boolean => capacity.hasCapacity(provider);
    for (
      let next = this.#waiting.onCapacity(hasCapacity);
      next !== undefined;
      next = this.#waiting.onCapacity(hasCapacity)
    ) {
      capacity.reserve(next.server, next.provider);
      this.#given.add(next.server);
      this.#options.wake(next.server);
    }
  }

  #wakeAll(servers: readonly string[]): void {
    for (const server of servers) this.#options.wake(server);
  }

  #wake(server: string): void {
    this.#given.add(server);
    this.#waiting.end(server);
    this.#options.wake(server);
  }
}

/** Its action takes a slot of its group. */
function needsSlot({ wanted, applied, dirty }: ServerRow): boolean {
  return wanted !== null && applied !== null && !dirty;
}
