// Tells what the forge has to be told, and when: what should be shown beside what was accepted last. What was
// accepted is remembered in memory and in the store, so that a restart sends nothing twice.
import type { Clock } from '../base/clock.ts';
import { momentOf } from '../base/wording.ts';
import type { DesiredState, RefusedCommit } from '../desired/desired-state.ts';
import type { Stall } from '../machine/chain.ts';
import { isWaiting } from '../machine/needs.ts';
import type { Change, CommitStatus, CommitStatusRow } from '../model/rows.ts';
import type { Store } from '../store/store.ts';
import { CommitProgress, type Progress } from './commit-progress.ts';
import { Pace } from './pace.ts';
import { type StatusFacts, type WantedStatus, wantedStatuses } from './wanted-statuses.ts';

/** The facts, and what the forge takes. */
export interface UnsentOptions extends FactSources {
  /** The forge, the project and the name of the controller. What was sent elsewhere does not count. */
  readonly sentTo: string;
  /** False: the forge refuses another description of a status that is in progress. */
  readonly takesProgress: boolean;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
}

/** The statuses that the forge does not show yet. */
export class UnsentStatuses {
  readonly #options: UnsentOptions;
  readonly #facts: StatusFactsReader;
  readonly #sent: SentStatuses;
  readonly #pace: Pace;

  /** Calls `changed` after each change that a status may follow from. */
  constructor(options: UnsentOptions, changed: () => void) {
    this.#options = options;
    this.#sent = new SentStatuses(options.ledger, options.sentTo);
    this.#pace = new Pace(options.random);
    this.#facts = new StatusFactsReader(options, changed);
  }

  /** Returns what the forge has to be told, and forgets what is over. */
  list(): readonly WantedStatus[] {
    const now = this.#options.clock.now();
    this.#sent.correct(now);
    const facts = this.#facts.read(this.#sent.rows, now);
    if (facts === undefined) return [];
    const { wanted, over } = wantedStatuses(facts);
    for (const commit of over) this.#sent.forget(commit);
    this.#pace.forgetOthers(wanted);
    return wanted.filter((status) => this.#isNews(status));
  }

  /** Returns when a status may be sent, by the monotonic clock; see Pace. */
  dueAt(status: WantedStatus): number {
    return this.#pace.dueAt(status, this.#sent.last(status));
  }

  /** Notes that the forge accepted a status. */
  accepted(status: WantedStatus): void {
    const { clock } = this.#options;
    this.#pace.accepted(status, this.#sent.last(status), clock.monotonic());
    this.#sent.remember(status, clock.now());
  }

  /** Notes that the forge refused a status. Returns true if it is given up now. */
  refused(status: WantedStatus): boolean {
    return this.#pace.refused(status, this.#options.clock.monotonic());
  }

  /** Resolves once the store has what was accepted. Where that fails, the next call tries again. */
  save(): Promise<void> {
    return this.#sent.save();
  }

  #isNews(wanted: WantedStatus): boolean {
    const last = this.#sent.last(wanted);
    if (last?.state !== wanted.state) return true;
    if (wanted.state === 'success' || (wanted.state === 'in progress' && !this.#options.takesProgress)) return false;
    return last.description !== wanted.description;
  }
}

/** The desired state and the rows, and how they tell of changes. */
interface FactSources {
  readonly current: {
    get(): DesiredState | undefined;
    readonly refused: RefusedCommit | undefined;
    watch(watcher: () => void): void;
  };
  readonly ledger: StatusStore & { readonly isFollowing: boolean; watch(watcher: (change: Change) => void): void };
  /** Returns the stall of each of these waiting servers, or undefined if one can continue; see machine/chain.ts. */
  readonly stallsOf: (servers: readonly string[]) => readonly Stall[] | undefined;
}

/** With more servers, it is not looked for why they wait: the answer must be quick. */
const STALL_SERVERS_MAX = 10_000;

/** Follows the facts. */
export class StatusFactsReader {
  readonly #sources: FactSources;
  readonly #progress = new CommitProgress();
  readonly #changed: () => void;

  /** Calls `changed` after each change that a status may follow from. */
  constructor(sources: FactSources, changed: () => void) {
    this.#sources = sources;
    this.#changed = changed;
    const { ledger, current } = sources;
    for (const [name, row] of ledger.list('server')) this.#progress.follow(name, undefined, row);
    ledger.watch(({ kind, name, expected, value }) => {
      if (kind === 'server') this.#progress.follow(name, expected, value ?? undefined);
      if (kind === 'server' || kind === 'held') changed();
    });
    current.watch(changed);
  }

  /**
   * Returns the facts at `now`, milliseconds since 1970; undefined while no desired state is active, and while the servers of
   * a commit are not all counted: then it is a change that they are.
   */
  read(sent: StatusFacts['sent'], now: number): StatusFacts | undefined {
    const { current, ledger } = this.#sources;
    const desired = current.get();
    if (desired === undefined) return undefined;
    if (ledger.isFollowing) {
      this.#changed();
      return undefined;
    }
    const held = [...ledger.list('held').values()];
    this.#progress.forgetOthers(new Set([desired.commit, ...sent.keys()]));
    return {
      ...{ desired, refused: current.refused, sent, now },
      held: { servers: held.reduce((sum, { servers }) => sum + servers.length, 0), instances: held.length },
      progressOf: (commit) => this.#progress.of(commit),
      stallOf: (progress) => this.#stallOf(progress),
    };
  }

  #stallOf({ open }: Progress): Stall | undefined {
    if (open.size === 0 || open.size > STALL_SERVERS_MAX) return undefined;
    for (const state of open.values()) if (!isWaiting(state)) return undefined;
    const stalls = this.#sources.stallsOf([...open.keys()]);
    return stalls?.includes('failed') ? 'failed' : stalls?.[0];
  }
}

/** The rows of the store, and the way to change them. */
interface StatusStore extends Pick<Store, 'read' | 'list'> {
  /** See Store.commit. */
  commit(changes: readonly Change[]): Promise<void>;
}

/** The statuses that were accepted last, by commit. */
class SentStatuses {
  readonly #store: StatusStore;
  readonly #sentTo: string;
  readonly #rows = new Map<string, CommitStatusRow>();
  /** Commits whose row in the store is not as it is here. */
  readonly #unsaved = new Set<string>();

  /** What was sent to another place is forgotten. */
  constructor(store: StatusStore, sentTo: string) {
    this.#store = store;
    this.#sentTo = sentTo;
    for (const [commit, row] of store.list('commitStatus')) {
      if (row.sentTo === sentTo) this.#rows.set(commit, row);
      else this.#unsaved.add(commit);
    }
  }

  get rows(): ReadonlyMap<string, CommitStatusRow> {
    return this.#rows;
  }

  /** Returns what was accepted last; null if nothing was. */
  last({ commit, context }: Pick<WantedStatus, 'commit' | 'context'>): CommitStatus | null {
    return this.#rows.get(commit)?.[context] ?? null;
  }

  /** Notes an accepted status. `now`: milliseconds since 1970. */
  remember({ commit, context, state, description }: WantedStatus, now: number): void {
    const row = this.#rows.get(commit) ?? { validate: null, apply: null, since: momentOf(now), sentTo: this.#sentTo };
    this.#rows.set(commit, { ...row, [context]: { state, description } });
    this.#unsaved.add(commit);
  }

  /** A time that lies after `now` becomes `now`: the clock was set back. */
  correct(now: number): void {
    for (const [commit, row] of this.#rows) {
      if (Date.parse(row.since) <= now) continue;
      this.#rows.set(commit, { ...row, since: momentOf(now) });
      this.#unsaved.add(commit);
    }
  }

  /** Forgets a commit. */
  forget(commit: string): void {
    if (this.#rows.delete(commit)) this.#unsaved.add(commit);
  }

  /** Resolves once the store has all of it. Where that fails, the next call tries again. */
  async save(): Promise<void> {
    const names = [...this.#unsaved];
    const changes = names.flatMap((name): Change[] => {
      const expected = this.#store.read('commitStatus', name);
      const value = this.#rows.get(name) ?? null;
      return expected === undefined && value === null ? [] : [{ kind: 'commitStatus', name, value, expected }];
    });
    if (changes.length > 0) await this.#store.commit(changes);
    for (const name of names) this.#unsaved.delete(name);
  }
}
