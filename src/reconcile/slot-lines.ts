// Queues the members of groups that wait for a rollout slot. Wakes as many as there are free slots. A slot stays
// reserved for the woken member until its pass ends, or until it has the capacity that it waits for.
import type { Clock } from '../base/clock.ts';
import { NameLine } from './name-line.ts';

interface Line {
  /** Members that serve, and wait for a slot. */
  readonly fresh: NameLine;
  /** Members that are away already, and wait until no member is failed. They need no slot. */
  readonly away: Set<string>;
  /** The timer for the end of a rest, due at `time` by the monotonic clock. */
  rest: { readonly time: number; readonly cancel: () => void } | undefined;
}

interface SlotLinesOptions {
  readonly clock: Clock;
  /** Returns whether a member may go away now, or from when on; undefined if it has no row any more. */
  readonly slotOf: (name: string) => boolean | number | undefined;
  readonly wake: (name: string) => void;
}

/** The members that wait for a slot, by group, and the reserved slots. */
export class SlotLines {
  readonly #options: SlotLinesOptions;
  readonly #lines = new Map<string, Line>();
  /** The group in which a slot is reserved, by member. */
  readonly #reservations = new Map<string, string>();
  readonly #reservedOf = new Map<string, Set<string>>();

  constructor(options: SlotLinesOptions) {
    this.#options = options;
  }

  /** Appends a member to its group's line. */
  add(name: string, group: string, isAway: boolean): void {
    const line = this.#lines.get(group) ?? { fresh: new NameLine(), away: new Set(), rest: undefined };
    this.#lines.set(group, line);
    if (isAway) line.away.add(name);
    else line.fresh.add(name);
  }

  /** Removes a member. */
  delete(name: string, group: string): void {
    const line = this.#lines.get(group);
    line?.fresh.delete(name);
    line?.away.delete(name);
    if (line !== undefined) this.#dropEmpty(group, line);
  }

  /** Reserves a slot of a group. */
  reserve(name: string, group: string): void {
    this.release(name);
    this.#reservations.set(name, group);
    this.#reservedOf.set(group, (this.#reservedOf.get(group) ?? new Set()).add(name));
  }

  /** Releases the slot of a member; returns the group that it was in. */
  release(name: string): string | undefined {
    const group = this.#reservations.get(name);
    if (group === undefined) return undefined;
    this.#reservations.delete(name);
    const names = this.#reservedOf.get(group);
    names?.delete(name);
    if (names?.size === 0) this.#reservedOf.delete(group);
    return group;
  }

  /** Returns how many slots of a group are reserved for members other than `name`. */
  reservedBesides(name: string, group: string): number {
    const names = this.#reservedOf.get(group);
    return names === undefined ? 0 : names.size - (names.has(name) ? 1 : 0);
  }

  /** Wakes the members of a group that get a slot. Returns the first one that still waits. */
  wake(group: string): string | undefined {
    const line = this.#lines.get(group);
    if (line === undefined) return undefined;
    line.rest?.cancel();
    line.rest = undefined;
    this.#wakeAway(line);
    const first = this.#wakeFresh(group, line);
    this.#dropEmpty(group, line);
    return first;
  }

  /** Returns true if the rest of a group is over, so that its members are about to be woken. */
  isDue(group: string): boolean {
    const time = this.#lines.get(group)?.rest?.time ?? Number.POSITIVE_INFINITY;
    return time <= this.#options.clock.monotonic();
  }

  /** Cancels the timers of all rests. */
  stop(): void {
    for (const { rest } of this.#lines.values()) rest?.cancel();
    this.#lines.clear();
  }

  #wakeAway({ away }: Line): void {
    for (const name of away) {
      if (this.#options.slotOf(name) === false) return;
      away.delete(name);
      this.#options.wake(name);
    }
  }

  #wakeFresh(group: string, line: Line): string | undefined {
    const { clock, slotOf, wake } = this.#options;
    for (let name = line.fresh.first(); name !== undefined; name = line.fresh.first()) {
      const slot = slotOf(name);
      if (slot === false) return name;
      if (typeof slot === 'number') {
        const ms = slot - clock.now();
        line.rest = { time: clock.monotonic() + ms, cancel: clock.after(ms, () => this.wake(group)) };
        return name;
      }
      line.fresh.delete(name);
      if (slot === true) this.reserve(name, group);
      wake(name);
    }
    return undefined;
  }

  #dropEmpty(group: string, line: Line): void {
    if (line.fresh.size > 0 || line.away.size > 0) return;
    line.rest?.cancel();
    this.#lines.delete(group);
  }
}
