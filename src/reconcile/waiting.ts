// Records what each server waits for. A waiting server waits for one thing at a time, so a change wakes only the
// servers it may concern. In memory only: after a start every server is enqueued once.
import { EVERY_INSTANCE } from '../machine/suspension.ts';
import { isSameWait, type Wait } from '../machine/wait.ts';
import { CapacityLine } from './capacity-line.ts';
import { ProxyOffers } from './proxy-offers.ts';
import type { SlotLines } from './slot-lines.ts';

type Kind = Wait['kind'];
type HasCapacity = (provider: string, isRoutine: boolean) => boolean;

/** A server whose turn for capacity has come. */
interface Granted {
  readonly server: string;
  readonly provider: string;
  readonly isRoutine: boolean;
}

/** The wait of every server that waits, indexed by what it waits for. */
export class Waiting {
  readonly #waits = new Map<string, Wait>();
  /** Number of waits of each kind. */
  readonly #counts = new Map<Kind, number>();
  /** By server: those that depend on it, and those that wait for any change of its row. */
  readonly #dependencies = new Map<string, Set<string>>();
  readonly #changes = new Map<string, Set<string>>();
  readonly #commits = new Map<string, Set<string>>();
  readonly #instances = new Map<string, Set<string>>();
  /** The servers that wait for capacity: routine checks come after all actions. */
  readonly #capacity = { actions: new CapacityLine(), routine: new CapacityLine() };
  /** The servers that wait for a proxy. */
  readonly #offers: ProxyOffers;
  readonly #slots: SlotLines;

  constructor(slots: SlotLines, offers = new ProxyOffers()) {
    this.#slots = slots;
    this.#offers = offers;
  }

  /** Returns the wait of a server; undefined if it does not wait. */
  of(name: string): Wait | undefined {
    return this.#waits.get(name);
  }

  /** Returns how many servers have a wait of that kind. */
  count(kind: Kind): number {
    return this.#counts.get(kind) ?? 0;
  }

  /** Returns the commits whose failed updates servers wait for. */
  commits(): readonly string[] {
    return [...this.#commits.keys()];
  }

  /**
   * Records the only wait of `name`. A server that already waits in the same line keeps its place. Returns true if it
   * is new in that line.
   */
  begin(name: string, wait: Wait): boolean {
    const before = this.#waits.get(name);
    if (before !== undefined && isSameWait(before, wait)) {
      this.#waits.set(name, wait);
      return false;
    }
    this.end(name);
    this.#waits.set(name, wait);
    this.#counts.set(wait.kind, this.count(wait.kind) + 1);
    this.#place(name, wait);
    return true;
  }

  /** Removes the wait of `name`. */
  end(name: string): void {
    const wait = this.#waits.get(name);
    if (wait === undefined) return;
    this.#waits.delete(name);
    this.#counts.set(wait.kind, this.count(wait.kind) - 1);
    this.#leave(name, wait);
  }

  /**
   * Ends the waits for a change of that server's row, and returns their servers. `isUp`: those that depend on it may
   * continue.
   */
  onServer(server: string, isUp: boolean): readonly string[] {
    const changed = this.#endAll(this.#changes.get(server));
    return isUp ? [...changed, ...this.#endAll(this.#dependencies.get(server))] : changed;
  }

  /** Ends the waits of those of `names` whose delete is held up, and returns them. */
  onAwaited(names: readonly string[]): readonly string[] {
    return this.#endAll(names.filter((name) => this.#waits.get(name)?.kind === 'holder'));
  }

  /** Ends the waits for the failed updates of a commit, and returns their servers. */
  onFailures(commit: string): readonly string[] {
    return this.#endAll(this.#commits.get(commit));
  }

  /** Ends the waits that a change of this suspension or hold may concern, and returns their servers. */
  onInstance(name: string): readonly string[] {
    const sets = name === EVERY_INSTANCE ? [...this.#instances.values()] : [this.#instances.get(name) ?? []];
    return sets.flatMap((names) => this.#endAll(names));
  }

  /** Ends the wait of the next server that gets capacity, and returns it; undefined if there is none. */
  onCapacity(hasCapacity: HasCapacity): Granted | undefined {
    const action = this.#capacity.actions.take((provider) => hasCapacity(provider, false));
    const next = action ?? this.#capacity.routine.take((provider) => hasCapacity(provider, true));
    if (next === undefined) return undefined;
    this.end(next.server);
    return { ...next, isRoutine: action === undefined };
  }

  /** Returns true if an action waits whose turn has come. */
  hasActionFor(hasCapacity: HasCapacity): boolean {
    return this.#capacity.actions.hasNext((provider) => hasCapacity(provider, false));
  }

  #endAll(names: Iterable<string> = []): readonly string[] {
    const ended = [...names];
    for (const name of ended) this.end(name);
    return ended;
  }

  #place(name: string, wait: Wait): void {
    if (wait.kind === 'dependency') add(this.#dependencies, wait.server, name);
    else if (endsWithChange(wait)) add(this.#changes, wait.server, name);
    else if (wait.kind === 'failures') add(this.#commits, wait.commit, name);
    else if (wait.kind === 'instance') add(this.#instances, wait.instance, name);
    else if (wait.kind === 'capacity' && wait.tags !== undefined) this.#offers.add(name, wait.tags, wait);
    else if (wait.kind === 'capacity') this.#line(wait).add(name, wait.provider, wait.instance);
    else if (wait.kind === 'slot') this.#slots.add(name, wait.group, wait.isAway);
  }

  #leave(name: string, wait: Wait): void {
    if (wait.kind === 'dependency') remove(this.#dependencies, wait.server, name);
    else if (endsWithChange(wait)) remove(this.#changes, wait.server, name);
    else if (wait.kind === 'failures') remove(this.#commits, wait.commit, name);
    else if (wait.kind === 'instance') remove(this.#instances, wait.instance, name);
    else if (wait.kind === 'capacity' && wait.tags !== undefined) this.#offers.delete(name, wait.tags);
    else if (wait.kind === 'capacity') this.#line(wait).delete(name, wait.provider, wait.instance);
    else if (wait.kind === 'slot') this.#slots.delete(name, wait.group);
  }

  #line({ isRoutine }: Extract<Wait, { readonly kind: 'capacity' }>): CapacityLine {
    return isRoutine ? this.#capacity.routine : this.#capacity.actions;
  }
}

/** Returns true for a wait that any change of the row of its server may end. */
function endsWithChange(
  wait: Wait,
): wait is Extract<Wait, { readonly kind: 'holder' | 'spelling' | 'former' | 'first check' }> {
  return ['holder', 'spelling', 'former', 'first check'].includes(wait.kind);
}

function add(sets: Map<string, Set<string>>, key: string, name: string): void {
  sets.set(key, (sets.get(key) ?? new Set()).add(name));
}

function remove(sets: Map<string, Set<string>>, key: string, name: string): void {
  const names = sets.get(key);
  names?.delete(name);
  if (names?.size === 0) sets.delete(key);
}
