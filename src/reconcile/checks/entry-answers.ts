// Tracks which provider entries are silent: none of their last calls had a definite answer. So a dead site is one
// cause, not one for each of its servers. In memory of the process that calls: after a start, the first calls show it
// again.
import type { Clock } from '../../base/clock.ts';
import { toRfc3339 } from '../../base/wording.ts';
import type { Answer } from '../../model/call-result.ts';
import { PROXIED } from '../../model/names.ts';
import type { CallInFlight } from '../calls/capacity.ts';

/** A silent provider entry. */
export interface SilentEntry {
  readonly entry: string;
  /** When the first call without an answer began; RFC 3339, with milliseconds. */
  readonly since: string;
  /** The servers of these calls. */
  readonly servers: ReadonlySet<string>;
  /** How the last call ended. */
  readonly reason: string;
}

interface Unanswered extends SilentEntry {
  readonly begun: number;
  readonly count: number;
  readonly servers: Set<string>;
}

/** An entry is silent after this many calls without an answer, over this time. */
const CALLS_LEAST = 3;
const SILENT_MS = 60_000;

/** Tracks how the calls of provider entries end. Ignores calls of proxies. */
export class EntryAnswers {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** The calls of each entry since its last answer. */
  readonly #unanswered = new Map<string, Unanswered>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Records how a call has ended. `because`: the reason if `answer` is undefined. */
  ended(
    server: string,
    call: CallInFlight,
    { answer, because }: { readonly answer: Answer | undefined; readonly because: string | undefined },
  ): void {
    const { provider, claimed, isRoutine } = call;
    // A routine check is ended without an answer if an action needs its slot.
    if (provider === PROXIED || (answer === undefined && isRoutine)) return;
    if (answer !== undefined && answer.outcome !== 'retryable' && answer.outcome !== 'lost') {
      this.#unanswered.delete(provider);
      return;
    }
    const known = this.#unanswered.get(provider);
    const reason = answer?.message ?? because ?? 'it ended without an answer';
    const servers = (known?.servers ?? new Set()).add(server);
    const first = known ?? { entry: provider, since: toRfc3339(claimed.wall), begun: claimed.monotonic, count: 0 };
    this.#unanswered.set(provider, { ...first, count: first.count + 1, reason, servers });
  }

  /**
   * Returns the unanswered calls of an entry, even if it does not count as silent yet; undefined if the last call had
   * an answer.
   */
  unansweredOf(entry: string): SilentEntry | undefined {
    return this.#unanswered.get(entry);
  }

  /** Returns the silent entries. */
  silent(): readonly SilentEntry[] {
    const now = this.#clock.monotonic();
    return [...this.#unanswered.values()].filter(
      ({ begun, count }) => count >= CALLS_LEAST && now - begun >= SILENT_MS,
    );
  }
}
