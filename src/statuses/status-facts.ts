// Gathers the facts that commit statuses follow from, from the desired state and the rows.
import type { DesiredState, RefusedCommit } from '../desired/desired-state.ts';
import { isWaiting, type Stall } from '../machine/stall.ts';
import type { Change } from '../model/rows.ts';
import { CommitProgress, type Progress } from './commit-progress.ts';
import type { StatusStore } from './sent-statuses.ts';
import type { StatusFacts } from './wanted-statuses.ts';

/** The desired state and the rows, and how they tell of changes. */
export interface FactSources {
  readonly current: {
    get(): DesiredState | undefined;
    readonly refused: RefusedCommit | undefined;
    watch(watcher: () => void): void;
  };
  readonly ledger: StatusStore & { readonly isFollowing: boolean; watch(watcher: (change: Change) => void): void };
  /** Returns the stall of each of these waiting servers, or undefined if one can continue; see machine/stall.ts. */
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
