// Sends commit statuses to a forge. Nothing waits for it, and its failures affect nothing else. docs/install.md,
// commit statuses.
import type { DesiredState, RefusedCommit } from '../desired/desired-state.ts';
import type { Stall } from '../machine/chain.ts';
import { isIdle } from '../machine/drift.ts';
import { isWaiting } from '../machine/needs.ts';
import { effectiveState } from '../machine/reasons.ts';
import type { Change, ServerRow } from '../model/rows.ts';
import type { State } from '../model/state.ts';
import type { Outage } from '../service/answers.ts';
import { LevelLoop, type Message } from './level-loop.ts';
import type { Attempt } from './post-once.ts';
import { type RowStore, SavedRows } from './saved-rows.ts';
import type { SendStatus } from './send-status.ts';
import { type Progress, type WantedStatus, wantedStatuses } from './wanted-statuses.ts';

interface StatusReporterOptions extends Pick<ConstructorParameters<typeof LevelLoop>[0], 'clock' | 'log' | 'random'> {
  readonly current: {
    get(): DesiredState | undefined;
    readonly refused: RefusedCommit | undefined;
    watch(watcher: () => void): void;
  };
  readonly ledger: RowStore & { readonly isFollowing: boolean; watch(watcher: (change: Change) => void): void };
  /** Returns the stall of each of these waiting servers; undefined if one can continue. See machine/stall.ts. */
  readonly stallsOf: (servers: readonly string[]) => readonly Stall[] | undefined;
  /** The forge, the project and the name of the controller. Statuses that were sent elsewhere do not count. */
  readonly sentTo: string;
  /** False if the forge refuses a new description of a status that is in progress. */
  readonly takesProgress: boolean;
  readonly send: SendStatus;
}

type StatusMessage = WantedStatus & Message;

/** The interval of changes of only the description: GitHub accepts 1,000 statuses for one commit and name. */
const DETAILS_MS = 600_000;
/** With more servers, the stall is not computed, because the computation must be quick. */
const STALL_SERVERS_MAX = 10_000;

/** A running reporter. */
export class StatusReporter {
  readonly #options: StatusReporterOptions;
  readonly #sent: SavedRows<'commitStatus'>;
  readonly #loop: LevelLoop<StatusMessage>;
  /** The time of the last accepted status, by the monotonic clock. */
  #acceptedAt = 0;

  constructor(options: StatusReporterOptions) {
    this.#options = options;
    const { ledger, current, clock, log, random, send } = options;
    this.#sent = new SavedRows(ledger, 'commitStatus');
    this.#loop = new LevelLoop({
      to: 'forge',
      everyMs: DETAILS_MS,
      clock,
      log,
      random,
      send,
      differing: () => this.#differing(),
      note: (status, attempt) => this.#note(status, attempt),
      save: () => this.#sent.save(),
    });
    ledger.watch(({ kind }) => {
      if (kind === 'server' || kind === 'held') this.#loop.wake();
    });
    current.watch(() => this.#loop.wake());
  }

  /** Why the forge does not accept a status; undefined if it accepted all of them. */
  get failure(): Outage | undefined {
    return this.#loop.failure;
  }

  /** Sends what is due, within some seconds. The rest is sent after the next start. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  #differing(): readonly StatusMessage[] {
    const { current, ledger, sentTo } = this.#options;
    const desired = current.get();
    if (desired === undefined) return [];
    for (const [commit, row] of this.#sent.rows) if (row.sentTo !== sentTo) this.#sent.set(commit, null);
    const held = [...ledger.list('held').values()];
    const { wanted, over } = wantedStatuses({
      desired,
      refused: current.refused,
      sent: this.#sent.rows,
      ...this.#progressOf(desired.commit),
      held: { servers: held.reduce((sum, { servers }) => sum + servers.length, 0), instances: held.length },
    });
    for (const commit of over) this.#sent.set(commit, null);
    return wanted.filter((status) => this.#differs(status)).map(messageOf);
  }

  /** Returns the progress of the servers whose last change is by this commit. */
  #progressOf(commit: string): { readonly progress: Progress; readonly stall: Stall | undefined } {
    const { ledger, stallsOf } = this.#options;
    const rows = [...ledger.list('server')].filter(([, row]) => row.commit === commit);
    const open = rows.filter(([, row]) => !isIdle(row));
    const states = open.map(([, row]) => shownState(row));
    const [failed, blocked] = [count(states, 'failed'), count(states, 'blocked')];
    const isShort = open.length > 0 && open.length <= STALL_SERVERS_MAX;
    const mayStall = isShort && states.every(isWaiting) && !ledger.isFollowing;
    const stalls = mayStall ? stallsOf(open.map(([name]) => name)) : undefined;
    const stall = stalls?.includes('failed') ? 'failed' : stalls?.[0];
    return { progress: { done: rows.length - open.length, open: open.length, failed, blocked }, stall };
  }

  #differs({ commit, context, state, description }: WantedStatus): boolean {
    const last = this.#sent.rows.get(commit)?.[context];
    if (last?.state !== state) return true;
    if (state === 'success' || (state === 'in progress' && !this.#options.takesProgress)) return false;
    const isDue = this.#options.clock.monotonic() >= this.#acceptedAt + DETAILS_MS;
    return isDue && last.description !== description;
  }

  #note({ commit, context, state, description }: StatusMessage, { isAccepted }: Attempt): void {
    if (!isAccepted) return;
    const row = this.#sent.rows.get(commit) ?? { validate: null, apply: null, sentTo: this.#options.sentTo };
    this.#sent.set(commit, { ...row, [context]: { state, description } });
    this.#acceptedAt = this.#options.clock.monotonic();
  }
}

/** A server that failed once counts as failed until it succeeds, so that retries do not change the status. */
function shownState(row: ServerRow): State {
  const state = effectiveState(row);
  return row.gaveUp && state !== 'blocked' ? 'failed' : state;
}

function count(states: readonly State[], state: State): number {
  return states.filter((each) => each === state).length;
}

function messageOf(status: WantedStatus): StatusMessage {
  const { commit, context, state } = status;
  return { ...status, key: `${commit} ${context} ${state}`, about: { commit, context, state } };
}
