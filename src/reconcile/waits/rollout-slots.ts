// Distributes the rollout slots of groups. Wakes as many of the members that wait for one as there are free slots. A slot
// stays reserved for the woken member until its pass ends, or until it has the capacity that it waits for.
import type { Clock } from '../../base/clock.ts';
import type { GroupSlots } from '../../machine/circles.ts';
import { awayMax, type GroupView, groupOf, hasSlot } from '../../machine/rollout.ts';
import type { ServerRow } from '../../model/rows.ts';
import type { Ledger } from '../ledger.ts';
import { NameQueues } from './name-queue.ts';
import type { WaitIndex } from './wait-index.ts';

/** The end of the rest of a group, by the monotonic clock. */
interface Rest {
  readonly time: number;
  readonly cancel: () => void;
}

interface RolloutSlotsOptions {
  readonly ledger: Pick<Ledger, 'server' | 'index'>;
  readonly clock: Clock;
  readonly waits: Pick<WaitIndex, 'first'>;
  /** Ends the wait of a server, and enqueues it. */
  readonly wake: (server: string) => void;
}

/** The slots of all groups. */
export class RolloutSlots {
  readonly #options: RolloutSlotsOptions;
  /** By group whose next member has to wait until the group has rested. */
  readonly #rests = new Map<string, Rest>();
  /** The group in which a slot is reserved, by member; and these members, by group. */
  readonly #reservations = new Map<string, string>();
  readonly #reserved = new NameQueues();

  constructor(options: RolloutSlotsOptions) {
    this.#options = options;
  }

  /** Returns the group of a server as that server sees it, including the slots reserved for others. */
  groupViewOf(server: string, row: ServerRow): GroupView {
    const group = groupOf(row);
    const view = this.#options.ledger.index.groupViewOf(server, row);
    const own = this.#reservations.get(server) === group ? 1 : 0;
    return { ...view, away: view.away + this.#reserved.count(group) - own };
  }

  /** Returns the members that occupy slots. A group with a failed member waits until that member is retried. */
  countSlots(group: string, server: string): GroupSlots {
    const { index } = this.#options.ledger;
    const row = this.#options.ledger.server(server);
    const occupants = index.awayOf(group);
    const { hasFailed, size } = row === undefined ? { hasFailed: true, size: 0 } : index.groupViewOf(server, row);
    if (row === undefined || hasFailed) return { occupants, missing: 0 };
    return { occupants, missing: occupants.size - awayMax(row.policy.maxUnavailable, size) + 1 };
  }

  /** Reserves a slot of a group. */
  reserve(server: string, group: string): void {
    this.release(server);
    this.#reservations.set(server, group);
    this.#reserved.add(group, server);
  }

  /** Releases the slot of a member; returns the group that it was in. */
  release(server: string): string | undefined {
    const group = this.#reservations.get(server);
    if (group === undefined) return undefined;
    this.#reservations.delete(server);
    this.#reserved.delete(group, server);
    return group;
  }

  /** Wakes the members of a group that may go on. Returns the first one that still waits for a slot. */
  wake(group: string): string | undefined {
    this.#rests.get(group)?.cancel();
    this.#rests.delete(group);
    const { waits, wake } = this.#options;
    for (
      let away = waits.first('failed member', group);
      away !== undefined;
      away = waits.first('failed member', group)
    ) {
      if (this.#slotFor(away) === false) break;
      wake(away);
    }
    return this.#wakeForSlots(group);
  }

  /** Returns true if the rest of a group is over, so that its members are about to be woken. */
  isRestOver(group: string): boolean {
    const time = this.#rests.get(group)?.time ?? Number.POSITIVE_INFINITY;
    return time <= this.#options.clock.monotonic();
  }

  /** Cancels the timers of all rests. */
  stop(): void {
    for (const { cancel } of this.#rests.values()) cancel();
    this.#rests.clear();
  }

  #wakeForSlots(group: string): string | undefined {
    const { clock, waits, wake } = this.#options;
    for (let server = waits.first('slot', group); server !== undefined; server = waits.first('slot', group)) {
      const slot = this.#slotFor(server);
      if (slot === false) return server;
      if (typeof slot === 'number') {
        const ms = slot - clock.now();
        const cancel = clock.after(ms, () => this.wake(group));
        this.#rests.set(group, { time: clock.monotonic() + ms, cancel });
        return server;
      }
      if (slot === true) this.reserve(server, group);
      wake(server);
    }
    return undefined;
  }

  /** Returns whether a member may go away now, or from when on; see {@link hasSlot}. Undefined if it has no row any more. */
  #slotFor(server: string): boolean | number | undefined {
    const { ledger, clock } = this.#options;
    const row = ledger.server(server);
    return row && hasSlot(row, this.groupViewOf(server, row), { now: clock.now(), isBeyond: false });
  }
}
