// Ends waits: watches written rows and ended calls, and wakes exactly the servers that may continue. Also distributes
// shared limits among waiting servers: slots of groups and capacity of providers.

import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Capacity } from '../execute/capacity.ts';
import { isOrderWait } from '../machine/circles.ts';
import { isAtRest } from '../machine/drift.ts';
import { groupOf } from '../machine/rollout.ts';
import { type Wait, waitReason } from '../machine/wait.ts';
import type { Change, ServerRow } from '../model/rows.ts';
import { CircleWatch, type WaitExemption } from './circle-watch.ts';
import { awaitedSpellings, isUp, updatesAreHeld } from './decision-context.ts';
import { GroupViews } from './group-views.ts';
import type { Ledger } from './ledger.ts';
import type { ProxyOffers } from './proxy-offers.ts';
import { SlotLines } from './slot-lines.ts';
import { Waiting } from './waiting.ts';

interface WakeUpsOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Logger;
  readonly capacity: Pick<Capacity, 'hasCapacity' | 'reserve' | 'release'>;
  /** Enqueues a server. */
  readonly wake: (server: string) => void;
  /** The servers that wait for a proxy. */
  readonly offers?: ProxyOffers;
}

/** Keeps the waits of servers, and ends them. */
export class WakeUps {
  readonly groups: GroupViews;
  readonly #options: WakeUpsOptions;
  readonly #slots: SlotLines;
  readonly #waiting: Waiting;
  readonly #circles: CircleWatch;
  /**
   * Servers with a reservation whose next pass has not begun. A reservation made during a pass is for the pass after
   * it: if this pass released it at its end, two servers could pass it to each other for ever.
   */
  readonly #given = new Set<string>();

  constructor(options: WakeUpsOptions) {
    const { clock, log, ledger } = options;
    const wake = (server: string): void => this.#wake(server);
    this.#options = options;
    this.#slots = new SlotLines({ clock, wake, slotOf: (name) => this.groups.slotOf(name) });
    this.groups = new GroupViews({ ledger, clock, reserved: this.#slots });
    this.#waiting = new Waiting(this.#slots, options.offers);
    this.#circles = new CircleWatch({
      ...{ clock, log, wake, rowOf: (server) => ledger.server(server) },
      graph: {
        waitOf: (server) => this.#waiting.of(server),
        slotsOf: (group, server) => this.groups.slotsOf(group, server),
      },
      // Dependencies alone form no circle: admission refuses a commit with circular dependencies.
      mayBeCircles: () => this.#waiting.count('holder') + this.#waiting.count('slot') > 0,
    });
    ledger.watch((change) => this.#onChange(change));
  }

  /** Returns the wait of a server; undefined if it does not wait. */
  waitOf(server: string): Wait | undefined {
    return this.#waiting.of(server);
  }

  /** Returns true if the time for which a server waits in its group has come, so that it is about to be woken. */
  isDue(server: string): boolean {
    const wait = this.#waiting.of(server);
    return wait?.kind === 'slot' && this.#slots.isDue(wait.group);
  }

  /** Returns the permission of a server to go first although its wait is not over; undefined if it has none. */
  exemptionOf(server: string, row: ServerRow): WaitExemption | undefined {
    return this.#circles.exemptionOf(server, row);
  }

  /** Notes that a pass over a server begins: it may use its reservation. */
  passing(server: string): void {
    this.#given.delete(server);
  }

  /** Records the wait that a pass has decided for a server with the row `row`; undefined: it does not wait. */
  begin(server: string, row: ServerRow | null, wait: Wait | undefined): void {
    if (wait?.kind !== 'capacity') this.#circles.endExemption(server);
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

  /** Notes that a pass over a server has ended: an unused reservation goes to the next server. */
  passed(server: string): void {
    const wait = this.#waiting.of(server);
    if (!this.#given.has(server)) this.#release(server, wait);
    if (wait?.kind === 'slot') this.#wakeGroup(wait.group);
    this.#giveCapacity();
  }

  /**
   * Returns true if the next call of a server may take capacity of that provider now. A routine check takes none that an
   * action waits for, also where it was reserved for the check before.
   */
  hasCapacity(server: string, provider: string, isRoutine: boolean): boolean {
    const { capacity } = this.#options;
    if (!capacity.hasCapacity(provider, { server, isRoutine })) return false;
    return !isRoutine || !this.#waiting.hasActionFor((other) => capacity.hasCapacity(other, { without: server }));
  }

  /** Gives a waiting server capacity for its next call, and wakes it. */
  grant(server: string, provider: string, isRoutine = false): void {
    this.#waiting.end(server);
    this.#options.capacity.reserve(server, provider, isRoutine);
    this.#given.add(server);
    this.#options.wake(server);
  }

  /** Notes that a call for a server has ended, or was not started. */
  called(server: string): void {
    const row = this.#options.ledger.server(server);
    if (row !== undefined) this.#wakeGroup(groupOf(row));
    this.#giveCapacity();
  }

  /** Ends all wake-ups. */
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
    this.#wakeAll(this.#waiting.onAwaited(awaitedSpellings(name, after, this.#options.ledger)));
    const [from, to] = [before && groupOf(before), after && groupOf(after)];
    if (from !== undefined) this.#wakeGroup(from);
    if (to !== undefined && to !== from) this.#wakeGroup(to);
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
    const next = () => this.#waiting.onCapacity((provider, isRoutine) => capacity.hasCapacity(provider, { isRoutine }));
    for (let found = next(); found !== undefined; found = next())
      this.grant(found.server, found.provider, found.isRoutine);
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

/** Returns true if the action of a server occupies a slot of its group. */
function needsSlot(row: ServerRow): boolean {
  const { wanted, applied, dirty } = row;
  return wanted !== null && applied !== null && !dirty && !isAtRest(row);
}
