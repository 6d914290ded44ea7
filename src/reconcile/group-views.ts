// Provides the groups of servers as their members see them: members that are away, and free slots.
import type { Clock } from '../base/clock.ts';
import type { GroupSlots } from '../machine/circles.ts';
import { awayMax, type GroupView, groupOf, hasSlot } from '../machine/rollout.ts';
import type { ServerRow } from '../model/rows.ts';
import type { Ledger } from './ledger.ts';
import type { SlotLines } from './slot-lines.ts';

interface GroupViewsOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly reserved: Pick<SlotLines, 'reservedBesides'>;
}

/** Answers how a server sees its group. */
export class GroupViews {
  readonly #options: GroupViewsOptions;

  constructor(options: GroupViewsOptions) {
    this.#options = options;
  }

  /** Returns the group of a server as that server sees it, including the slots reserved for others. */
  of(server: string, row: ServerRow): GroupView {
    const { ledger, reserved } = this.#options;
    const group = ledger.index.groupViewOf(server, row);
    return { ...group, away: group.away + reserved.reservedBesides(server, groupOf(row)) };
  }

  /**
   * Returns whether a server may go away now, from a time on, or not yet; see {@link hasSlot}. Undefined: it has no
   * row.
   */
  slotOf(name: string): boolean | number | undefined {
    const row = this.#options.ledger.server(name);
    if (row === undefined) return undefined;
    return hasSlot(row, this.of(name, row), { now: this.#options.clock.now(), isBeyond: false });
  }

  /** Returns the members that occupy slots. A group with a failed member waits until that member is retried. */
  slotsOf(group: string, server: string): GroupSlots {
    const { index } = this.#options.ledger;
    const row = this.#options.ledger.server(server);
    const occupants = index.awayOf(group);
    const { hasFailed, size } = row === undefined ? { hasFailed: true, size: 0 } : index.groupViewOf(server, row);
    if (row === undefined || hasFailed) return { occupants, missing: 0 };
    return { occupants, missing: occupants.size - awayMax(row.policy.maxUnavailable, size) + 1 };
  }
}
