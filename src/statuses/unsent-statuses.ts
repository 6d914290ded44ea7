// Tells what the forge has to be told, and when: what should be shown beside what was accepted last.
import type { Clock } from '../base/clock.ts';
import { Pace } from './pace.ts';
import { SentStatuses } from './sent-statuses.ts';
import { type FactSources, StatusFactsReader } from './status-facts.ts';
import { type WantedStatus, wantedStatuses } from './wanted-statuses.ts';

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
    this.#sent.note(status, clock.now());
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
