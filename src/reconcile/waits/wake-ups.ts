// Ends waits: watches written rows and ended calls, and wakes exactly the servers that may continue. Also distributes
// shared limits among waiting servers: slots of groups and capacity of providers.

import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { isOrderWait } from '../../machine/circles.ts';
import { isAtRest } from '../../machine/drift.ts';
import { groupOf } from '../../machine/rollout.ts';
import { EVERY_INSTANCE } from '../../machine/suspension.ts';
import { type Wait, waitReason } from '../../machine/wait.ts';
import type { Change, ServerRow } from '../../model/rows.ts';
import type { Capacity } from '../calls/capacity.ts';
import type { Ledger } from '../ledger.ts';
import { isUp, updatesAreHeld } from '../passes/decision-context.ts';
import { CircleWatch, type WaitExemption } from './circle-watch.ts';
import type { ProxyOffers } from './proxy-offers.ts';
import { RolloutSlots } from './rollout-slots.ts';
import { WaitIndex } from './wait-index.ts';

/** The waits for another server that any change of its row may end. */
const ENDED_BY_CHANGE = ['output', 'holder'] as const;

interface WakeUpsOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Logger;
  readonly capacity: Pick<Capacity, 'hasCapacity' | 'reserve' | 'release'>;
  /** Enqueues a server. */
  readonly wake: (server: string) => void;
}

/** Keeps the waits of servers, and ends them. */
export class WakeUps {
  readonly slots: RolloutSlots;
  readonly #options: WakeUpsOptions;
  readonly #waits = new WaitIndex();
  readonly #circles: CircleWatch;
  /**
   * Servers with a reservation whose next pass has not begun. A reservation made during a pass is for the pass after
   * it: if this pass released it at its end, two servers could pass it to each other for ever.
   */
  readonly #reservedForPass = new Set<string>();

  constructor(options: WakeUpsOptions) {
    const { clock, log, ledger } = options;
    const wake = (server: string): void => this.#wake(server);
    this.#options = options;
    this.slots = new RolloutSlots({ ledger, clock, waits: this.#waits, wake });
    this.#circles = new CircleWatch({
      ...{ clock, log, wake, rowOf: (server) => ledger.server(server) },
      graph: {
        waitOf: (server) => this.#waits.get(server),
        slotsOf: (group, server) => this.slots.countSlots(group, server),
      },
      // Dependencies alone form no circle: admission refuses a commit with circular dependencies.
      mayBeCircles: () => this.#waits.count('holder') + this.#waits.count('slot') > 0,
    });
    ledger.watch((change) => this.#onChange(change));
  }

  /** The servers that wait for a proxy. */
  get offers(): ProxyOffers {
    return this.#waits.offers;
  }

  /** Returns the wait of a server; undefined if it does not wait. */
  waitOf(server: string): Wait | undefined {
    return this.#waits.get(server);
  }

  /** Returns how many servers wait, by the kind of their wait. */
  countWaits(): ReadonlyMap<Wait['kind'], number> {
    return this.#waits.counts();
  }

  /** Returns true if the time for which a server waits in its group has come, so that it is about to be woken. */
  isDue(server: string): boolean {
    const wait = this.#waits.get(server);
    return wait?.kind === 'slot' && this.slots.isRestOver(wait.group);
  }

  /** Returns the permission of a server to go first although its wait is not over; undefined if it has none. */
  exemptionOf(server: string, row: ServerRow): WaitExemption | undefined {
    return this.#circles.exemptionOf(server, row);
  }

  /** Notes that a pass over a server begins: it may use its reservation. */
  passing(server: string): void {
    this.#reservedForPass.delete(server);
  }

  /** Records the wait that a pass has decided for a server with the row `row`; undefined: it does not wait. */
  begin(server: string, row: ServerRow | null, wait: Wait | undefined): void {
    if (wait?.kind !== 'capacity') this.#circles.endExemption(server);
    if (row !== null && wait?.kind === 'capacity' && needsSlot(row)) this.slots.reserve(server, groupOf(row));
    if (wait === undefined) {
      this.#waits.end(server);
      return;
    }
    const isNew = this.#waits.begin(server, wait);
    if (isOrderWait(wait)) this.#circles.searchFrom(server);
    const { log } = this.#options;
    if (isNew && log.isLevelEnabled('debug')) log.debug({ server, wait: waitReason(wait) }, 'waits');
  }

  /** Notes that a pass over a server has ended: an unused reservation goes to the next server. */
  passed(server: string): void {
    const wait = this.#waits.get(server);
    if (!this.#reservedForPass.has(server)) this.#release(server, wait);
    if (wait?.kind === 'slot' || wait?.kind === 'failed member') this.#wakeGroup(wait.group);
    this.#giveCapacity();
  }

  /**
   * Returns true if the next call of a server may take capacity of that provider now. A routine check takes none that an
   * action waits for, also where it was reserved for the check before.
   */
  hasCapacity(server: string, provider: string, isRoutine: boolean): boolean {
    const { capacity } = this.#options;
    if (!capacity.hasCapacity(provider, { server, isRoutine })) return false;
    return !isRoutine || !this.#waits.hasActionFor((other) => capacity.hasCapacity(other, { without: server }));
  }

  /** Gives a waiting server capacity for its next call, and wakes it. */
  grant(server: string, provider: string, isRoutine = false): void {
    this.#waits.end(server);
    this.#options.capacity.reserve(server, provider, isRoutine);
    this.#reservedForPass.add(server);
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
    this.slots.stop();
  }

  #release(server: string, wait: Wait | undefined): void {
    this.#options.capacity.release(server);
    const group = wait?.kind === 'capacity' ? undefined : this.slots.release(server);
    if (group !== undefined) this.#wakeGroup(group);
  }

  #onChange(change: Change): void {
    if (change.kind === 'server') this.#onServer(change);
    else if (change.kind === 'held' || change.kind === 'suspension' || change.kind === 'recovery') {
      const instances =
        change.name === EVERY_INSTANCE || change.kind === 'recovery' ? this.#waits.lines('instance') : [change.name];
      for (const instance of instances) this.#wakeLine('instance', instance);
    } else if (change.kind === 'rollout' || change.kind === 'approval') this.#wakeReleasedCommits();
  }

  #onServer({ name, expected: before, value }: Extract<Change, { kind: 'server' }>): void {
    const after = value ?? undefined;
    for (const kind of ENDED_BY_CHANGE) this.#wakeLine(kind, name);
    if (isUp(after)) this.#wakeLine('dependency', name);
    if (before?.outputs !== after?.outputs) this.#wakeReaders(name);
    const [from, to] = [before && groupOf(before), after && groupOf(after)];
    if (from !== undefined) this.#wakeGroup(from);
    if (to !== undefined && to !== from) this.#wakeGroup(to);
    if (before?.gaveUp) this.#wakeReleasedCommits();
  }

  /** One that is not there yet reads outputs once all that it depends on is up. One that is to be adopted may be there, and not be recorded so yet. */
  #wakeReaders(server: string): void {
    const { ledger, wake } = this.#options;
    for (const name of ledger.index.readersOf(server)) {
      const { applied, adopting, policy } = ledger.server(name) ?? {};
      const isToCome = applied === null && !adopting && !policy?.adopt;
      if (!isToCome || this.#waits.get(name)?.kind !== 'dependency') wake(name);
    }
  }

  #wakeReleasedCommits(): void {
    for (const commit of this.#waits.lines('failures')) {
      if (!updatesAreHeld(commit, this.#options.ledger)) this.#wakeLine('failures', commit);
    }
  }

  #wakeGroup(group: string): void {
    const first = this.slots.wake(group);
    if (first !== undefined) this.#circles.searchFrom(first);
  }

  #giveCapacity(): void {
    const { capacity } = this.#options;
    const next = () =>
      this.#waits.endNextForCapacity((provider, isRoutine) => capacity.hasCapacity(provider, { isRoutine }));
    for (let found = next(); found !== undefined; found = next())
      this.grant(found.server, found.provider, found.isRoutine);
  }

  /** Ends all waits of a line, and enqueues their servers. */
  #wakeLine(kind: Wait['kind'], line: string): void {
    for (const server of this.#waits.endLine(kind, line)) this.#options.wake(server);
  }

  #wake(server: string): void {
    this.#reservedForPass.add(server);
    this.#waits.end(server);
    this.#options.wake(server);
  }
}

/** Returns true if the action of a server occupies a slot of its group. */
function needsSlot(row: ServerRow): boolean {
  const { wanted, applied, dirty } = row;
  return wanted !== null && applied !== null && !dirty && !isAtRest(row);
}
